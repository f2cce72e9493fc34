//! Objects that hold others, which go with them: namespaces, CRDs, volumes and their claims. Which of them stay.

use serde_json::Value;

use super::members::SetMember;
use crate::cluster::client::Cluster;
use crate::cluster::contents::{Leaving, WhatIsHeld, definition_contents, namespace_contents};
use crate::cluster::exchange::Ask;
use crate::cluster::json;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::Gvk;

/// A kind whose objects hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
            let Some(definition) = object(cluster, member).await? else { return Ok(None) };
            definition_contents(cluster, &definition, gone).await?
        }
        HoldingKind::VolumeClaim | HoldingKind::Volume => return bound(cluster, member).await,
    };
    Ok(match contents {
        WhatIsHeld::Untold(why) => Some(why),
        WhatIsHeld::Told(held) if held.is_empty() => None,
        WhatIsHeld::Told(held) => Some(format!("it still holds {}", held.named())),
    })
}

async fn bound(cluster: &Cluster, member: &SetMember) -> Result<Option<String>> {
    let volume = object(cluster, member).await?;
    let phase = volume.as_ref().and_then(|volume| volume.pointer("/status/phase"));
    Ok(phase.filter(|phase| *phase == "Bound").map(|_| "it is bound".to_string()))
}

/// All of an object; none when it is not there any more.
async fn object(cluster: &Cluster, member: &SetMember) -> Result<Option<Value>> {
    let path = member.path();
    match cluster.ask(&Ask::object(path.as_str())).await?.accepted() {
        Ok(answer) => json::decode(&answer.body)
            .map(Some)
            .map_err(|error| crate::cluster::failure::not_understood(&cluster.endpoint, &path, &error)),
        Err(refusal) if refusal.is_not_found() => Ok(None),
        Err(refusal) => Err(refusal.diagnostic(&cluster.endpoint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
