//! Objects that hold others, which go with them: namespaces, CRDs, volumes and their claims. What they still hold.

use futures::StreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::members::{SetMember, list};
use super::scope::GroupKind;
use crate::cluster::client::Cluster;
use crate::cluster::exchange::Ask;
use crate::cluster::json;
use crate::cluster::mapping::{Mapping, encode};
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
    gone: &FxHashSet<String>,
) -> Result<Option<String>> {
    match kind {
        HoldingKind::Namespace => namespace(cluster, &member.object.name, gone).await,
        HoldingKind::Definition => definition(cluster, member, gone).await,
        HoldingKind::VolumeClaim | HoldingKind::Volume => bound(cluster, member).await,
    }
}

async fn namespace(cluster: &Cluster, name: &str, gone: &FxHashSet<String>) -> Result<Option<String>> {
    if let Some(untold) = cluster.untold() {
        return Ok(Some(format!("it cannot be told what it still holds: {untold}")));
    }
    let mut best: FxHashMap<(SmolStr, SmolStr), Mapping> = FxHashMap::default();
    for mapping in cluster.known_mappings().into_iter().filter(|mapping| mapping.namespaced) {
        let key = (mapping.gvk.group.clone(), mapping.gvk.kind.clone());
        if !best.contains_key(&key)
            && let Some(stable) = cluster.mapping_of(&key.0, &key.1)
        {
            best.insert(key, stable);
        }
    }
    let lists = best.into_values().map(|mapping| async move {
        let listed = list(cluster, &mapping.collection(name), "").await;
        (mapping, listed)
    });
    let lists = lists.collect::<Vec<_>>();
    let mut lists = futures::stream::iter(lists).buffer_unordered(crate::cluster::apply::PARALLEL);
    let mut contents = Vec::new();
    while let Some((mapping, listed)) = lists.next().await {
        match listed? {
            Ok(items) => contents.extend(items.iter().filter_map(|item| HeldContent::of(&mapping.gvk, item))),
            // What cannot be listed at all, such as a question, is nowhere.
            Err(refusal) if refusal.http == 405 => {}
            Err(refusal) => return Ok(Some(untold(&mapping.gvk, &refusal.message))),
        }
    }
    Ok(told(&held(contents, gone)))
}

async fn definition(
    cluster: &Cluster,
    member: &SetMember,
    gone: &FxHashSet<String>,
) -> Result<Option<String>> {
    let Some(definition) = object(cluster, member).await? else { return Ok(None) };
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, kind, plural) = (text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"));
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let served = versions.into_iter().flatten().find(|version| version["served"] == true);
    let gvk = Gvk { group: group.into(), version: SmolStr::default(), kind: kind.into() };
    let Some(version) = served.and_then(|version| version["name"].as_str()) else {
        return Ok(Some(untold(&gvk, "no version of it is served")));
    };
    // Without a namespace in its path that is all of them.
    let path = format!("/apis/{}/{}/{}", encode(group), encode(version), encode(plural));
    match list(cluster, &path, "").await? {
        Ok(items) => {
            let contents = items.iter().filter_map(|item| HeldContent::of(&gvk, item)).collect();
            Ok(told(&held(contents, gone)))
        }
        Err(refusal) => Ok(Some(untold(&gvk, &refusal.message))),
    }
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

fn untold(gvk: &Gvk, why: &str) -> String {
    let kind = GroupKind { kind: gvk.kind.clone(), group: gvk.group.clone() };
    format!("it cannot be told whether it still holds a {kind}: {why}")
}

/// How many of the things that are held are named.
const NAMED: usize = 3;

fn told(held: &[HeldContent]) -> Option<String> {
    let named: Vec<_> = held.iter().take(NAMED).map(|content| content.name.as_str()).collect();
    let more = match held.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!held.is_empty()).then(|| format!("it still holds {}{more}", named.join(", ")))
}

/// An object that is held.
#[derive(Debug, Clone)]
struct HeldContent {
    /// `configmap/a`
    name: String,
    uid: String,
    owners: Vec<String>,
    /// Whether nobody misses it: it is on its way out, or is in every namespace.
    is_nothing: bool,
}

impl HeldContent {
    fn of(gvk: &Gvk, item: &Value) -> Option<Self> {
        let metadata = item.get("metadata")?;
        let text = |field: &str| metadata.get(field).and_then(Value::as_str);
        // What has no identity, such as a measurement, is no object that is kept.
        let (name, uid) = (text("name")?, text("uid")?);
        let owners = metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
        let group = if gvk.group.is_empty() { String::new() } else { format!(".{}", gvk.group) };
        Some(Self {
            name: format!("{}{group}/{name}", gvk.kind.to_lowercase()),
            uid: uid.into(),
            owners: owners.filter_map(|owner| Some(owner.get("uid")?.as_str()?.to_string())).collect(),
            is_nothing: text("deletionTimestamp").is_some() || is_everywhere(gvk, name, metadata),
        })
    }
}

/// Whether controllers put it into every namespace, or beside what is there.
fn is_everywhere(gvk: &Gvk, name: &str, metadata: &Value) -> bool {
    let has = |field: &str, key: &str| metadata.get(field).and_then(|map| map.get(key));
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("" | "events.k8s.io", "Event") => true,
        ("", "ServiceAccount") => name == "default",
        ("", "ConfigMap") => name == "kube-root-ca.crt",
        ("", "Secret") => has("annotations", "kubernetes.io/service-account.name")
            .is_some_and(|account| account == "default"),
        ("", "Endpoints") => has("labels", "endpoints.kubernetes.io/managed-by").is_some(),
        _ => false,
    }
}

/// What is left when all that goes anyway is gone: what was pruned, and all that it owned.
fn held(mut contents: Vec<HeldContent>, gone: &FxHashSet<String>) -> Vec<HeldContent> {
    let mut gone: FxHashSet<String> = gone.clone();
    contents.sort_by(|a, b| a.name.cmp(&b.name));
    // One object may be served by several groups.
    let mut seen = FxHashSet::default();
    contents.retain(|content| seen.insert(content.uid.clone()));
    loop {
        let (going, staying): (Vec<_>, Vec<_>) = contents.into_iter().partition(|content| {
            content.is_nothing
                || gone.contains(&content.uid)
                || (!content.owners.is_empty() && content.owners.iter().all(|owner| gone.contains(owner)))
        });
        contents = staying;
        if going.is_empty() {
            return contents;
        }
        gone.extend(going.into_iter().map(|content| content.uid));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(kind: &str, metadata: &Value) -> HeldContent {
        HeldContent::of(&Gvk::from_manifest("v1", kind), &json!({"metadata": metadata})).expect("an object")
    }

    #[test]
    fn what_goes_anyway_holds_nothing() {
        let owned = |uid: &str, owner: &str| {
            content("Pod", &json!({"name": uid, "uid": uid, "ownerReferences": [{"uid": owner}]}))
        };
        let contents = vec![
            owned("pod", "set"),
            owned("set", "deployment"),
            owned("other", "else"),
            content("Event", &json!({"name": "e", "uid": "e"})),
            content("ServiceAccount", &json!({"name": "default", "uid": "sa"})),
            content("ConfigMap", &json!({"name": "kube-root-ca.crt", "uid": "ca"})),
            content("ConfigMap", &json!({"name": "mine", "uid": "mine"})),
            content("ConfigMap", &json!({"name": "mine", "uid": "mine"})),
            content("Secret", &json!({"name": "s", "uid": "s", "deletionTimestamp": "now"})),
        ];
        let gone = ["deployment".to_string()].into_iter().collect();
        let left = held(contents, &gone);
        let names: Vec<_> = left.iter().map(|content| content.name.as_str()).collect();
        assert_eq!(names, ["configmap/mine", "pod/other"]);
        assert_eq!(told(&left).as_deref(), Some("it still holds configmap/mine, pod/other"));
        assert_eq!(told(&[]), None);
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
