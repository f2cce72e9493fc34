//! Objects that hold others, which go with them: namespaces, CRDs, volumes and their claims. Which of them stay.

use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::SmolStr;

use super::members::SetMember;
use super::parent_ref::ParentRef;
use crate::client::Cluster;
use crate::contents::{Leaving, definition_contents, namespace_contents};
use crate::exchange::Ask;
use crate::listing::{ListForm, items_of};
use crate::mapping::Mapping;
use crate::plan::ObjectPlan;
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A kind whose objects hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum HoldingKind {
    Namespace,
    Definition,
    VolumeClaim,
    Volume,
}

/// The kinds, with their groups and the words for them.
const KINDS: [(HoldingKind, &str, [&str; 4]); 4] = [
    (HoldingKind::Namespace, "", ["Namespace", "namespaces", "ns", "ns"]),
    (
        HoldingKind::Definition,
        "apiextensions.k8s.io",
        ["CustomResourceDefinition", "customresourcedefinitions", "crd", "crds"],
    ),
    (HoldingKind::VolumeClaim, "", ["PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "pvc"]),
    (HoldingKind::Volume, "", ["PersistentVolume", "persistentvolumes", "pv", "pv"]),
];

impl HoldingKind {
    pub(super) fn of(gvk: &Gvk) -> Option<Self> {
        let found = KINDS.iter().find(|(_, group, words)| gvk.group == *group && gvk.kind == words[0]);
        found.map(|(kind, ..)| *kind)
    }

    /// The kinds that words mean.
    ///
    /// # Errors
    /// A word that means none of them.
    pub(super) fn named(words: &[String]) -> Result<Vec<Self>> {
        words.iter().map(|word| Self::called(word)).collect()
    }

    fn called(word: &str) -> Result<Self> {
        let (name, group) = word.split_once('.').unwrap_or((word, ""));
        let is_meant = |(_, own, words): &&(Self, &str, [&str; 4])| {
            words.iter().any(|word| word.eq_ignore_ascii_case(name)) && (group.is_empty() || group == *own)
        };
        KINDS.iter().find(is_meant).map(|(kind, ..)| *kind).ok_or_else(|| {
            Diagnostic::error(Code::InvalidValue, format!("objects of the kind `{word}` hold no others")).help(
                "those of Namespace, CustomResourceDefinition, PersistentVolumeClaim and PersistentVolume do; all \
                 others are pruned anyway",
            )
        })
    }

    /// The word for it in `--prune-holding`.
    pub(super) fn word(self) -> &'static str {
        KINDS.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, _, words)| words[0])
    }
}

/// Makes sure that a word means a kind whose objects may hold others.
///
/// # Errors
/// It does not.
pub fn check_holding_kind(word: &str) -> Result<()> {
    HoldingKind::called(word).map(drop)
}

/// The namespaces and CRDs that hold the objects of a run, or the parent of their set: these never go.
#[derive(Debug, Default)]
pub(super) struct Needed(FxHashMap<(HoldingKind, SmolStr), String>);

impl Needed {
    pub(super) fn of(plan: &ObjectPlan<'_>, parent: &ParentRef) -> Self {
        let mut needed = Self::default();
        let text = format!("the parent of the ApplySet, {}", parent.object());
        needed.add(&parent.mapping, &parent.namespace, &text);
        for target in &plan.targets {
            if let Some(mapping) = &target.mapping {
                let text = format!("{}, which is among the objects", target.object);
                needed.add(mapping, &target.object.namespace, &text);
            }
        }
        needed
    }

    fn add(&mut self, mapping: &Mapping, namespace: &SmolStr, text: &str) {
        let definition = format!("{}.{}", mapping.plural, mapping.gvk.group).into();
        self.0.entry((HoldingKind::Definition, definition)).or_insert_with(|| text.into());
        if !namespace.is_empty() {
            self.0.entry((HoldingKind::Namespace, namespace.clone())).or_insert_with(|| text.into());
        }
    }

    /// What is needed of an object that holds others.
    pub(super) fn within(&self, kind: HoldingKind, name: &SmolStr) -> Option<&str> {
        self.0.get(&(kind, name.clone())).map(String::as_str)
    }
}

/// Why an object must stay; none when it holds nothing. What is in `gone` was pruned before.
pub(super) async fn reason_to_stay(
    cluster: &Cluster,
    member: &SetMember,
    kind: HoldingKind,
    gone: &Leaving,
) -> Result<Option<String>> {
    let contents = match kind {
        HoldingKind::Namespace => namespace_contents(cluster, &member.object.name, gone).await?,
        HoldingKind::Definition => {
            let definition = cluster.find_json(&Ask::object(member.path())).await?;
            let Some(definition) = definition else { return Ok(None) };
            definition_contents(cluster, &definition, gone).await?
        }
        HoldingKind::VolumeClaim => return used(cluster, member, gone).await,
        HoldingKind::Volume => {
            let volume: Option<Value> = cluster.find_json(&Ask::object(member.path())).await?;
            return Ok(volume.as_ref().and_then(claimed));
        }
    };
    Ok(match contents {
        Err(why) => Some(why),
        Ok(held) if held.is_empty() => None,
        Ok(held) => Some(format!("it still holds {}", held.named())),
    })
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Why a volume may hold what a claim wrote: bound, or retained when its claim was deleted, or kept for one.
fn claimed(volume: &Value) -> Option<String> {
    let (namespace, name) = (text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
    let phase = text(volume, "/status/phase");
    if name.is_empty() {
        return (phase == "Bound").then(|| "it is bound".into());
    }
    let claim = format!("the claim {name} in {namespace}");
    Some(match phase {
        "Bound" => format!("it is bound to {claim}"),
        "Released" | "Failed" => format!("it is {phase}, and has what {claim} wrote"),
        _ => format!("it is kept for {claim}"),
    })
}

/// Why a claim may hold something: it is bound or about to be, or a Pod that stays uses it.
async fn used(cluster: &Cluster, member: &SetMember, gone: &Leaving) -> Result<Option<String>> {
    let claim: Option<Value> = cluster.find_json(&Ask::object(member.path())).await?;
    let Some(claim) = claim else { return Ok(None) };
    let volume = text(&claim, "/spec/volumeName");
    if text(&claim, "/status/phase") == "Bound" {
        return Ok(Some("it is bound".into()));
    }
    if !volume.is_empty() {
        return Ok(Some(format!("it names the volume {volume}")));
    }
    let Some(pods) = cluster.mapping_of("", "Pod") else { return Ok(None) };
    let path = pods.collection(&member.object.namespace);
    let pods = match items_of(cluster, &path, "", ListForm::WHOLE).await? {
        Ok(pods) => pods,
        Err(refusal) => return Ok(Some(format!("it cannot be told which Pods use it: {}", refusal.message))),
    };
    let user = pods.iter().find(|pod| uses(pod, &member.object.name) && !is_over(pod, gone));
    Ok(user.map(|pod| format!("pod/{} uses it", text(pod, "/metadata/name"))))
}

fn uses(pod: &Value, claim: &str) -> bool {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes.into_iter().flatten().any(|one| text(one, "/persistentVolumeClaim/claimName") == claim)
}

/// Whether a Pod has ended, or was pruned.
fn is_over(pod: &Value, gone: &Leaving) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
        || gone.uids.contains(text(pod, "/metadata/uid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_with_a_claim_are_kept() {
        use serde_json::json;

        let volume = |phase: &str, claim: Value| {
            claimed(&json!({"spec": {"claimRef": claim}, "status": {"phase": phase}}))
        };
        let claim = || json!({"namespace": "shop", "name": "data"});
        for (phase, want) in [
            ("Bound", "it is bound to the claim data in shop"),
            ("Released", "it is Released, and has what the claim data in shop wrote"),
            ("Failed", "it is Failed, and has what the claim data in shop wrote"),
            ("Available", "it is kept for the claim data in shop"),
            ("", "it is kept for the claim data in shop"),
        ] {
            assert_eq!(volume(phase, claim()).as_deref(), Some(want));
        }
        assert_eq!(volume("Bound", Value::Null).as_deref(), Some("it is bound"));
        assert_eq!(volume("Available", Value::Null), None);
    }

    #[test]
    fn kinds_are_called_as_people_call_them() {
        use HoldingKind::{Definition, Namespace, Volume, VolumeClaim};

        let words = ["ns", "CRD", "persistentvolumeclaims", "PersistentVolume", "crd.apiextensions.k8s.io"];
        let words: Vec<String> = words.map(String::from).into();
        let kinds = HoldingKind::named(&words).expect("kinds");
        assert_eq!(kinds, [Namespace, Definition, VolumeClaim, Volume, Definition]);
        for word in ["ConfigMap", "ns.apps", ""] {
            assert!(HoldingKind::named(&[word.to_string()]).is_err(), "{word}");
        }
        assert_eq!(HoldingKind::of(&Gvk::from_manifest("v1", "Namespace")), Some(Namespace));
        assert_eq!(HoldingKind::of(&Gvk::from_manifest("example.com/v1", "Namespace")), None);
    }
}
