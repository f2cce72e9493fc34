//! Volumes, claims, and what is kept in ConfigMaps and Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::quantity::Quantity;
use super::super::violation::ViolationRule;
use super::forms::quantity;
use super::subject::{Below, Faults, RuleOfType, Subject, count_of};
use smp_text::yaml::{Map, Node};

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("PersistentVolumeClaimSpec", claim),
    ("PersistentVolumeSpec", volume),
    ("Secret", secret),
    ("Secret", logins),
    ("ConfigMap", config_map),
    ("VolumeAttachmentSource", attachment),
];

fn is_positive(value: Option<&Node>) -> bool {
    value.and_then(quantity).is_none_or(|amount: Quantity| !amount.is_negative() && !amount.is_zero())
}

fn modes(of: Subject<'_>, faults: &mut Faults) {
    let modes = of.list("accessModes");
    if modes.is_empty() {
        faults.field(ViolationRule::AccessModes, of, "accessModes", "there must be an access mode");
    }
    if modes.len() > 1 && modes.iter().any(|mode| mode.as_str() == Some("ReadWriteOncePod")) {
        faults.field(
            ViolationRule::AccessModes,
            of,
            "accessModes",
            "`ReadWriteOncePod` goes with no other mode",
        );
    }
}

fn claim(of: Subject<'_>, faults: &mut Faults) {
    modes(of, faults);
    let requests = of.get("resources").and_then(|resources| resources.get("requests"));
    let storage = requests.and_then(|requests| requests.get("storage"));
    let path = [Below::Field("resources"), Below::Field("requests"), Below::Field("storage")];
    let at = storage.map_or(of.node.span(), Node::span);
    if storage.is_none_or(Node::is_null) {
        faults.below(
            ViolationRule::StorageRequest,
            &path,
            at,
            "a claim must say how much storage it requests",
        );
    } else if !is_positive(storage) {
        faults.below(ViolationRule::StorageRequest, &path, at, "a claim must request more than 0");
    }
}

/// Fields of a volume that are no source.
const NO_SOURCES: [&str; 8] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeMode",
];

fn volume(of: Subject<'_>, faults: &mut Faults) {
    if of.kind() != "PersistentVolume" {
        return;
    }
    modes(of, faults);
    let capacity = of.get("capacity").and_then(Node::as_map);
    if capacity.is_none_or(|capacity| capacity.len() != 1 || !capacity.contains_key("storage")) {
        faults.field(
            ViolationRule::StorageRequest,
            of,
            "capacity",
            "the capacity of a volume is its `storage`",
        );
    } else if !is_positive(capacity.and_then(|capacity| capacity.get("storage"))) {
        faults.field(
            ViolationRule::StorageRequest,
            of,
            "capacity",
            "the capacity of a volume must be more than 0",
        );
    }
    let is_source = |(name, value): &(&str, &Node)| {
        !NO_SOURCES.contains(name) && *name != "volumeAttributesClassName" && !value.is_null()
    };
    match of.map.iter().filter(is_source).count() {
        1 => {}
        0 => faults.below(ViolationRule::VolumeSource, &[], of.node.span(), "this volume has no source"),
        _ => faults.below(ViolationRule::VolumeSource, &[], of.node.span(), "a volume has one source"),
    }
    if of.get("local").is_some() && of.get("nodeAffinity").is_none() {
        faults.field(
            ViolationRule::VolumeSource,
            of,
            "nodeAffinity",
            "a local volume needs its `nodeAffinity`",
        );
    }
}

fn attachment(of: Subject<'_>, faults: &mut Faults) {
    if count_of(of, &["persistentVolumeName", "inlineVolumeSpec"]) != 1 {
        faults.below(ViolationRule::VolumeSource, &[], of.node.span(), "an attachment has one source");
    }
}

/// What each type of secret must have.
const SECRET_KEYS: [(&str, &[&str]); 5] = [
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/basic-auth", &[]),
];

/// The annotation that names the service account of a token.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

fn secret(of: Subject<'_>, faults: &mut Faults) {
    let maps: Vec<&Map> = ["data", "stringData"].iter().filter_map(|field| of.get(field)?.as_map()).collect();
    let has = |key: &str| maps.iter().any(|map| map.contains_key(key));
    let kind = of.text_or_empty("type");
    if let Some((_, keys)) = SECRET_KEYS.iter().find(|(name, _)| *name == kind) {
        for key in keys.iter().filter(|key| !has(key)) {
            let path = [Below::Field("data"), Below::Field(key)];
            let message = format!("a secret of this type must have the key `{key}`");
            faults.below(ViolationRule::SecretType, &path, of.place("type"), message);
        }
        if kind == "kubernetes.io/basic-auth" && !has("username") && !has("password") {
            let message = "a secret of this type must have the key `username` or `password`";
            faults.field(ViolationRule::SecretType, of, "type", message);
        }
    } else if kind == "kubernetes.io/service-account-token" {
        let account = of.node.get_path(&["metadata", "annotations", ACCOUNT]);
        if account.is_none_or(|account| account.is_null() || account.as_str() == Some("")) {
            let path = [Below::Field("metadata"), Below::Field("annotations"), Below::Field(ACCOUNT)];
            let message = format!("a secret of this type must have the annotation `{ACCOUNT}`");
            faults.below(ViolationRule::SecretType, &path, of.place("type"), message);
        }
    }
}

/// The keys of Secrets with logins of registries, which are read as JSON.
const LOGINS: [(&str, &str); 2] =
    [("kubernetes.io/dockerconfigjson", ".dockerconfigjson"), ("kubernetes.io/dockercfg", ".dockercfg")];

fn logins(of: Subject<'_>, faults: &mut Faults) {
    let kind = of.text_or_empty("type");
    let Some((_, key)) = LOGINS.iter().find(|(name, _)| *name == kind) else { return };
    // As Go reads it, null is an object without fields.
    let is_object = |text: &[u8]| serde_json::from_slice::<Option<serde_json::Map<_, _>>>(text).is_ok();
    let value = |field: &str| of.get(field)?.get(key);
    // What is given as text wins.
    let (field, value, is_right) = if let Some(value) = value("stringData") {
        ("stringData", value, value.as_str().is_none_or(|text| is_object(text.as_bytes())))
    } else {
        let Some(value) = value("data") else { return };
        let decoded = value.as_str().and_then(decoded);
        // What is no base64 is told elsewhere.
        ("data", value, decoded.is_none_or(|text| is_object(&text)))
    };
    if !is_right {
        let path = [Below::Field(field), Below::Field(key)];
        let message = format!("`{key}` must be an object of JSON");
        faults.below(ViolationRule::SecretType, &path, value.span(), message);
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    STANDARD.decode(text).ok()
}

fn config_map(of: Subject<'_>, faults: &mut Faults) {
    let texts = of.get("data").and_then(Node::as_map);
    for entry in of.get("binaryData").and_then(Node::as_map).map(Map::entries).unwrap_or_default() {
        if texts.is_some_and(|texts| texts.contains_key(&entry.key.text)) {
            let path = [Below::Field("binaryData"), Below::Field(&entry.key.text)];
            faults.below(ViolationRule::DataKey, &path, entry.key.meta.span, "this key is in `data`, too");
        }
    }
}
