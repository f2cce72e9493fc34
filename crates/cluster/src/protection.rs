//! Protects objects whose deletion removes other objects or data: namespaces, CRDs, PersistentVolumes and
//! PersistentVolumeClaims.

use serde_json::Value;

use super::client::Cluster;
use super::contents::{DeletedObjects, definition_contents, namespace_contents};
use super::listing::{ListOptions, list_items};
use super::plan::Object;
use super::request::ApiRequest;
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A kind whose objects are neither pruned nor replaced while they contain other objects or data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ProtectedKind {
    Namespace,
    Crd,
    PersistentVolumeClaim,
    PersistentVolume,
}

/// The kinds with their groups and names.
const KINDS: [(ProtectedKind, &str, [&str; 4]); 4] = [
    (ProtectedKind::Namespace, "", ["Namespace", "namespaces", "ns", "ns"]),
    (
        ProtectedKind::Crd,
        "apiextensions.k8s.io",
        ["CustomResourceDefinition", "customresourcedefinitions", "crd", "crds"],
    ),
    (
        ProtectedKind::PersistentVolumeClaim,
        "",
        ["PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "pvc"],
    ),
    (ProtectedKind::PersistentVolume, "", ["PersistentVolume", "persistentvolumes", "pv", "pv"]),
];

impl ProtectedKind {
    pub(crate) fn from_gvk(gvk: &Gvk) -> Option<Self> {
        let found = KINDS.iter().find(|(_, group, words)| gvk.group == *group && gvk.kind == words[0]);
        found.map(|(kind, ..)| *kind)
    }

    /// Parses kind names.
    ///
    /// # Errors
    /// A name is not that of one of these kinds.
    pub(crate) fn parse_all(words: &[String]) -> Result<Vec<Self>> {
        words.iter().map(|word| Self::parse(word)).collect()
    }

    fn parse(word: &str) -> Result<Self> {
        let (name, group) = word.split_once('.').unwrap_or((word, ""));
        let is_meant = |(_, own, words): &&(Self, &str, [&str; 4])| {
            words.iter().any(|word| word.eq_ignore_ascii_case(name)) && (group.is_empty() || group == *own)
        };
        KINDS.iter().find(is_meant).map(|(kind, ..)| *kind).ok_or_else(|| {
            let message = format!("not a kind that contains other objects or data: `{word}`");
            Diagnostic::error(Code::InvalidValue, message).help(
                "use Namespace, CustomResourceDefinition, PersistentVolumeClaim or PersistentVolume; objects of \
                 all other kinds are not protected",
            )
        })
    }

    /// Returns the kind's name for `--prune-nonempty` and `--replace-nonempty`.
    pub(crate) fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, _, words)| words[0])
    }
}

/// Checks that a name is that of a kind whose objects contain other objects or data.
///
/// # Errors
/// The name is that of another kind.
pub fn check_protected_kind(word: &str) -> Result<()> {
    ProtectedKind::parse(word).map(drop)
}

/// Returns the reason why an object must not be deleted, or `None` if it is empty. `path` is its path on the server.
/// The objects in `gone` have already been deleted.
pub(crate) async fn reason_not_to_delete(
    cluster: &Cluster,
    (object, path): (&Object, &str),
    kind: ProtectedKind,
    gone: &DeletedObjects,
) -> Result<Option<String>> {
    let contents = match kind {
        ProtectedKind::Namespace => namespace_contents(cluster, &object.name, gone).await?,
        ProtectedKind::Crd => {
            let definition = cluster.find_json(&ApiRequest::object(path)).await?;
            let Some(definition) = definition else { return Ok(None) };
            definition_contents(cluster, &definition, gone).await?
        }
        ProtectedKind::PersistentVolumeClaim => return used(cluster, (object, path), gone).await,
        ProtectedKind::PersistentVolume => {
            let volume: Option<Value> = cluster.find_json(&ApiRequest::object(path)).await?;
            return Ok(volume.as_ref().and_then(claimed));
        }
    };
    Ok(match contents {
        Err(why) => Some(why),
        Ok(held) if held.is_empty() => None,
        Ok(held) => Some(format!("it still contains {}", held.summary())),
    })
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the reason why a volume may contain data of a claim: it is bound, retained after its claim was deleted, or
/// reserved for a claim.
fn claimed(volume: &Value) -> Option<String> {
    let (namespace, name) = (text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
    let phase = text(volume, "/status/phase");
    if name.is_empty() {
        return (phase == "Bound").then(|| "it is bound".into());
    }
    let claim = format!("claim {namespace}/{name}");
    Some(match phase {
        "Bound" => format!("it is bound to {claim}"),
        "Released" | "Failed" => format!("it is {phase} and still contains the data of {claim}"),
        _ => format!("it is reserved for {claim}"),
    })
}

/// Returns the reason why a claim may contain data: it is bound or about to be bound, or is used by a Pod that is not
/// deleted.
async fn used(
    cluster: &Cluster,
    (object, path): (&Object, &str),
    gone: &DeletedObjects,
) -> Result<Option<String>> {
    let claim: Option<Value> = cluster.find_json(&ApiRequest::object(path)).await?;
    let Some(claim) = claim else { return Ok(None) };
    let volume = text(&claim, "/spec/volumeName");
    if text(&claim, "/status/phase") == "Bound" {
        return Ok(Some("it is bound".into()));
    }
    if !volume.is_empty() {
        return Ok(Some(format!("it refers to volume {volume}")));
    }
    let Some(pods) = cluster.mapping_of("", "Pod") else { return Ok(None) };
    let path = pods.collection(&object.namespace);
    let pods = match list_items(cluster, &path, "", ListOptions::WHOLE).await? {
        Ok(pods) => pods,
        Err(api_error) => {
            return Ok(Some(format!("cannot list the Pods that may use it: {}", api_error.message)));
        }
    };
    let user = pods.iter().find(|pod| uses(pod, &object.name) && !is_finished(pod, gone));
    Ok(user.map(|pod| format!("pod/{} uses it", text(pod, "/metadata/name"))))
}

fn uses(pod: &Value, claim: &str) -> bool {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes.into_iter().flatten().any(|one| text(one, "/persistentVolumeClaim/claimName") == claim)
}

/// Returns true if a Pod has completed or was deleted.
fn is_finished(pod: &Value, gone: &DeletedObjects) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
        || gone.uids.contains(text(pod, "/metadata/uid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_with_a_claim_are_not_pruned() {
        use serde_json::json;

        let volume = |phase: &str, claim: Value| {
            claimed(&json!({"spec": {"claimRef": claim}, "status": {"phase": phase}}))
        };
        let claim = || json!({"namespace": "shop", "name": "data"});
        for (phase, want) in [
            ("Bound", "it is bound to claim shop/data"),
            ("Released", "it is Released and still contains the data of claim shop/data"),
            ("Failed", "it is Failed and still contains the data of claim shop/data"),
            ("Available", "it is reserved for claim shop/data"),
            ("", "it is reserved for claim shop/data"),
        ] {
            assert_eq!(volume(phase, claim()).as_deref(), Some(want));
        }
        assert_eq!(volume("Bound", Value::Null).as_deref(), Some("it is bound"));
        assert_eq!(volume("Available", Value::Null), None);
    }

    #[test]
    fn kinds_are_parsed_by_kind_plural_and_short_name() {
        use ProtectedKind::{Crd, Namespace, PersistentVolume, PersistentVolumeClaim};

        let words = ["ns", "CRD", "persistentvolumeclaims", "PersistentVolume", "crd.apiextensions.k8s.io"];
        let words: Vec<String> = words.map(String::from).into();
        let kinds = ProtectedKind::parse_all(&words).expect("kinds");
        assert_eq!(kinds, [Namespace, Crd, PersistentVolumeClaim, PersistentVolume, Crd]);
        for word in ["ConfigMap", "ns.apps", ""] {
            assert!(ProtectedKind::parse_all(&[word.to_string()]).is_err(), "{word}");
        }
        assert_eq!(ProtectedKind::from_gvk(&Gvk::from_manifest("v1", "Namespace")), Some(Namespace));
        assert_eq!(ProtectedKind::from_gvk(&Gvk::from_manifest("example.com/v1", "Namespace")), None);
    }
}
