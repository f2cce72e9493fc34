//! Objects that well-known controllers create. They exist although no build defines them.

use smol_str::SmolStr;

use super::external::ExternalObjects;
use smp_overlay::resource::Resource;
use smp_text::yaml::{Node, differ_by_one};

/// Each entry has the kind of a source object, the kind of the object that a controller creates from it, and the fields
/// that may contain the name of the created object. The first field that is present is used. Without one, the created
/// object has the name of the source object. The entries follow the documentation of each controller.
const MAKERS: &[(&str, &str, &[&[&str]])] = &[
    ("Certificate", "Secret", &[&["spec", "secretName"]]),
    ("Issuer", "Secret", &[&["spec", "acme", "privateKeySecretRef", "name"]]),
    ("ClusterIssuer", "Secret", &[&["spec", "acme", "privateKeySecretRef", "name"]]),
    ("ExternalSecret", "Secret", &[&["spec", "target", "name"]]),
    ("ClusterExternalSecret", "Secret", &[&["spec", "externalSecretSpec", "target", "name"]]),
    ("SealedSecret", "Secret", &[&["spec", "template", "metadata", "name"]]),
    ("VaultStaticSecret", "Secret", &[&["spec", "destination", "name"]]),
    ("VaultDynamicSecret", "Secret", &[&["spec", "destination", "name"]]),
    ("VaultPKISecret", "Secret", &[&["spec", "destination", "name"]]),
    ("InfisicalSecret", "Secret", &[&["spec", "managedSecretReference", "secretName"]]),
    ("BitwardenSecret", "Secret", &[&["spec", "secretName"]]),
    ("OnePasswordItem", "Secret", &[]),
    ("DopplerSecret", "Secret", &[&["spec", "managedSecret", "name"]]),
    ("AzureKeyVaultSecret", "Secret", &[&["spec", "output", "secret", "name"]]),
    ("KafkaUser", "Secret", &[]),
    ("ObjectBucketClaim", "Secret", &[]),
    ("ObjectBucketClaim", "ConfigMap", &[]),
    ("Bundle", "ConfigMap", &[]),
];

/// The annotations that make OpenShift create a Secret for a Service.
const SERVING_CERTIFICATES: [&str; 2] = [
    "service.beta.openshift.io/serving-cert-secret-name",
    "service.alpha.openshift.io/serving-cert-secret-name",
];

/// Returns the kinds and names of the objects that controllers create from an object.
pub(super) fn created_by_controllers(
    resource: &Resource,
    outside: &ExternalObjects,
) -> Vec<(SmolStr, SmolStr)> {
    let (node, kind) = (resource.node(), resource.id().gvk.kind.as_str());
    let text = |path: &[&str]| node.get_path(path).and_then(Node::as_str).map(SmolStr::from);
    let mut made: Vec<(SmolStr, SmolStr)> = Vec::new();
    for (_, makes, names) in MAKERS.iter().filter(|(of, ..)| *of == kind) {
        let name = names.iter().find_map(|path| text(path));
        made.push(((*makes).into(), name.unwrap_or_else(|| resource.id().name.clone())));
    }
    for controller in outside.controllers.iter().filter(|controller| controller.kind == kind) {
        let path: Vec<&str> = controller.name.as_deref().unwrap_or("metadata.name").split('.').collect();
        made.extend(text(&path).map(|name| (controller.creates.clone(), name)));
    }
    let certificates = SERVING_CERTIFICATES.iter().filter_map(|key| resource.annotation(key));
    made.extend(certificates.map(|name| ("Secret".into(), name.into())));
    let lists = [
        (&["spec", "secretObjects"], "secretName", "Secret"),
        (&["spec", "secretTemplates"], "name", "Secret"),
    ];
    for (path, field, makes) in lists {
        let entries = node.get_path(path).and_then(Node::as_list).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.get(field)).filter_map(Node::as_str);
        made.extend(names.map(|name| (makes.into(), name.into())));
    }
    made
}

/// ClusterRoles that exist in every Kubernetes or OpenShift cluster.
const CLUSTER_ROLES: [&str; 14] = [
    "admin",
    "edit",
    "view",
    "cluster-admin",
    "cluster-reader",
    "self-provisioner",
    "system:auth-delegator",
    "system:basic-user",
    "system:discovery",
    "system:image-builder",
    "system:image-puller",
    "system:node",
    "system:node-proxier",
    "system:service-account-issuer-discovery",
];

/// Roles that exist in every cluster.
const ROLES: [&str; 1] = ["extension-apiserver-authentication-reader"];

/// Returns true if Kubernetes or OpenShift creates an object with this name in each cluster or namespace.
pub(super) fn is_in_every_cluster(kind: &str, name: &str) -> bool {
    match kind {
        "ServiceAccount" => matches!(name, "default" | "builder" | "deployer"),
        "ConfigMap" => matches!(name, "kube-root-ca.crt" | "openshift-service-ca.crt"),
        "ClusterRole" | "Role" => {
            let is_known = roles(kind).contains(&name);
            is_known || (name.starts_with("system:") && similar_well_known_role(kind, name).is_none())
        }
        _ => false,
    }
}

fn roles(kind: &str) -> &'static [&'static str] {
    match kind {
        "ClusterRole" => &CLUSTER_ROLES,
        "Role" => &ROLES,
        _ => &[],
    }
}

/// Returns the well-known role whose name differs from this one by one letter. The plural of a name is not a
/// misspelling of it.
pub(super) fn similar_well_known_role(kind: &str, name: &str) -> Option<&'static str> {
    let is_plural = |known: &str| name.strip_prefix(known) == Some("s");
    roles(kind).iter().copied().find(|known| differ_by_one(name, known) && !is_plural(known))
}
