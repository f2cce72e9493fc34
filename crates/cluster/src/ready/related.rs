//! Pods, ReplicaSets and events that belong to workloads.
//!
//! Only Pods of the current revision of a workload are evaluated, because Pods that a rollout replaces may crash.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::time::Instant;

use super::pod_problem::{PodProblem, WarningEvent, containers, is_ready};
use crate::status::time;
use smp_text::yaml::{Node, Resolved};

/// The known Pods, ReplicaSets and events of some namespaces, by UID.
#[derive(Debug, Default)]
pub(super) struct RelatedObjects {
    pods: FxHashMap<SmolStr, Pod>,
    replica_sets: FxHashMap<SmolStr, ReplicaSet>,
    /// The last event of type Warning, by the UID of the object to which it refers.
    warnings: FxHashMap<SmolStr, WarningEvent>,
}

#[derive(Debug)]
struct Pod {
    name: String,
    namespace: SmolStr,
    owner: Option<SmolStr>,
    labels: FxHashMap<SmolStr, SmolStr>,
    restarts: u64,
    problem: Option<CurrentProblem>,
}

/// The problem of a Pod. If the Pod cannot become ready without intervention, also the time since when.
#[derive(Debug, Clone)]
struct CurrentProblem {
    problem: PodProblem,
    blocking_since: Option<Instant>,
}

#[derive(Debug)]
struct ReplicaSet {
    namespace: SmolStr,
    owner: Option<SmolStr>,
    revision: Option<SmolStr>,
}

/// An object whose related objects are requested.
pub(super) struct RelatedQuery<'n> {
    pub(super) kind: &'n str,
    /// The live object, if it exists.
    pub(super) live: Option<&'n Node>,
}

/// State of the objects that belong to a workload.
#[derive(Debug, Default)]
pub(super) struct RelatedState {
    pub(super) warning: Option<WarningEvent>,
    pub(super) restarts: u64,
    pub(super) problems: Vec<PodProblem>,
    /// The start of the oldest problem that keeps a Pod from becoming ready.
    pub(super) problems_since: Option<Instant>,
}

/// The annotation with the revision of a Deployment and of its ReplicaSets.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// The label of a DaemonSet's Pod, and the annotation of the DaemonSet that it must equal.
const TEMPLATE_GENERATION: (&str, &str) =
    ("pod-template-generation", "deprecated.daemonset.template.generation");
/// The label with the ControllerRevision of a StatefulSet's Pod.
const REVISION_HASH: &str = "controller-revision-hash";

fn text<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    node.get_path(path).and_then(Node::as_str)
}

fn uid(node: &Node) -> Option<SmolStr> {
    text(node, &["metadata", "uid"]).map(SmolStr::from)
}

/// Returns the UID of the controller that owns the object.
fn owner(node: &Node) -> Option<SmolStr> {
    let owners = node.get_path(&["metadata", "ownerReferences"])?.as_list()?;
    let is_controller =
        |owner: &&Node| matches!(owner.get("controller").and_then(Node::resolve), Some(Resolved::Bool(true)));
    Some(owners.iter().find(is_controller)?.get("uid")?.as_str()?.into())
}

fn namespace(node: &Node) -> SmolStr {
    text(node, &["metadata", "namespace"]).unwrap_or_default().into()
}

impl RelatedObjects {
    /// Removes the ReplicaSets of a namespace before they are listed again.
    pub(super) fn forget_replica_sets(&mut self, namespace: &str) {
        self.replica_sets.retain(|_, set| set.namespace != namespace);
    }

    pub(super) fn set_replica_set(&mut self, set: &Node) {
        let Some(uid) = uid(set) else { return };
        let revision = text(set, &["metadata", "annotations", REVISION]).map(SmolStr::from);
        self.replica_sets.insert(uid, ReplicaSet { namespace: namespace(set), owner: owner(set), revision });
    }

    /// Updates the Pods of a namespace from a list. Problems of known Pods keep their start time.
    pub(super) fn list_pods(&mut self, listed_namespace: &str, pods: &[Node], now: Instant) {
        for pod in pods {
            self.set_pod(pod, now);
        }
        let listed: rustc_hash::FxHashSet<SmolStr> = pods.iter().filter_map(uid).collect();
        self.pods.retain(|uid, pod| pod.namespace != listed_namespace || listed.contains(uid));
    }

    pub(super) fn set_pod(&mut self, pod: &Node, now: Instant) {
        let Some(uid) = uid(pod) else { return };
        let labels = pod.get_path(&["metadata", "labels"]).and_then(Node::as_map);
        let labels = labels.into_iter().flat_map(smp_text::yaml::Map::iter);
        let before = self.pods.remove(&uid).and_then(|pod| pod.problem);
        self.pods.insert(
            uid,
            Pod {
                name: text(pod, &["metadata", "name"]).unwrap_or_default().to_string(),
                namespace: namespace(pod),
                owner: owner(pod),
                labels: labels.filter_map(|(k, v)| Some((k.into(), v.as_str()?.into()))).collect(),
                restarts: containers(pod).map(restarts).sum(),
                problem: problem(pod, before, now),
            },
        );
    }

    pub(super) fn remove(&mut self, object: &Node) {
        if let Some(uid) = uid(object) {
            self.pods.remove(&uid);
            self.replica_sets.remove(&uid);
        }
    }

    pub(super) fn set_warning(&mut self, event: &Node) {
        let about = text(event, &["involvedObject", "uid"]).unwrap_or_default();
        let times: [&[&str]; 4] = [
            &["series", "lastObservedTime"],
            &["lastTimestamp"],
            &["eventTime"],
            &["metadata", "creationTimestamp"],
        ];
        let field_text = |field| text(event, &[field]).unwrap_or_default().to_string();
        let time = times.iter().find_map(|path| time(event, path));
        let warning = WarningEvent { reason: field_text("reason"), message: field_text("message"), time };
        if about.is_empty() || self.warnings.get(about).is_some_and(|last| last.time > warning.time) {
            return;
        }
        self.warnings.insert(about.into(), warning);
    }

    /// Returns the state of the related objects of each object, in order.
    pub(super) fn states<'n>(&self, objects: impl Iterator<Item = RelatedQuery<'n>>) -> Vec<RelatedState> {
        let pods = by_owner(&self.pods, |pod| pod.owner.as_ref());
        let sets = by_owner(&self.replica_sets, |set| set.owner.as_ref());
        objects.map(|query| self.state_of(&query, &pods, &sets)).collect()
    }

    fn state_of(
        &self,
        &RelatedQuery { kind, live }: &RelatedQuery<'_>,
        pods: &ByOwner<'_, Pod>,
        sets: &ByOwner<'_, ReplicaSet>,
    ) -> RelatedState {
        let Some((object, own)) = live.and_then(|object| Some((object, uid(object)?))) else {
            return RelatedState::default();
        };
        let revision = text(object, &["metadata", "annotations", REVISION]);
        let is_new = |set: &ReplicaSet| revision.is_some() && set.revision.as_deref() == revision;
        let sets = sets.get(own.as_str()).into_iter().flatten().filter(|(_, set)| is_new(set));
        let sets: Vec<&SmolStr> = sets.map(|(uid, _)| *uid).collect();
        let direct =
            pods.get(own.as_str()).into_iter().flatten().filter(|(_, pod)| pod.is_current(kind, object));
        let of_sets = sets.iter().flat_map(|set| pods.get(set.as_str()).into_iter().flatten());
        // A Pod among the objects has problems of its own.
        let itself = self.pods.get_key_value(&own);
        let mut members: Vec<(&SmolStr, &Pod)> = direct.chain(of_sets).copied().chain(itself).collect();
        members.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let about = std::iter::once(&own).chain(sets).chain(members.iter().map(|(uid, _)| *uid));
        let problems = members.iter().filter_map(|(_, pod)| pod.problem.as_ref());
        RelatedState {
            warning: about
                .filter_map(|uid| self.warnings.get(uid))
                .max_by_key(|warning| warning.time)
                .cloned(),
            restarts: members.iter().map(|(_, pod)| pod.restarts).sum(),
            problems_since: problems.clone().filter_map(|problem| problem.blocking_since).min(),
            problems: problems.map(|problem| problem.problem.clone()).collect(),
        }
    }
}

/// Objects with their UIDs, by the UID of their owner.
type ByOwner<'o, T> = FxHashMap<&'o str, Vec<(&'o SmolStr, &'o T)>>;

/// Groups objects by their owner. Objects without an owner are omitted.
fn by_owner<'o, T>(
    objects: &'o FxHashMap<SmolStr, T>,
    owner: impl Fn(&'o T) -> Option<&'o SmolStr>,
) -> ByOwner<'o, T> {
    let mut groups = ByOwner::default();
    for (uid, object) in objects {
        if let Some(owner) = owner(object) {
            groups.entry(owner.as_str()).or_default().push((uid, object));
        }
    }
    groups
}

impl Pod {
    /// Returns true if the Pod belongs to the current revision of its owner. Only StatefulSets and DaemonSets label
    /// their Pods with a revision. Pods of other owners are always current.
    fn is_current(&self, kind: &str, owner: &Node) -> bool {
        let label = |name: &str| self.labels.get(name).map(SmolStr::as_str);
        match kind {
            "StatefulSet" => {
                let revision = text(owner, &["status", "updateRevision"]);
                revision.is_some() && label(REVISION_HASH) == revision
            }
            "DaemonSet" => {
                let (of_pod, of_owner) = TEMPLATE_GENERATION;
                let generation = text(owner, &["metadata", "annotations", of_owner]);
                generation.is_some() && label(of_pod) == generation
            }
            _ => true,
        }
    }
}

fn restarts(container: &Node) -> u64 {
    match container.get("restartCount").and_then(Node::resolve) {
        Some(Resolved::Int(count)) => u64::try_from(count).unwrap_or(0),
        _ => 0,
    }
}

/// Returns the problem of a Pod. A container in a crash loop runs for a while after each restart, so a blocking problem
/// is kept until the Pod is ready.
fn problem(pod: &Node, before: Option<CurrentProblem>, now: Instant) -> Option<CurrentProblem> {
    let since = before.as_ref().and_then(|problem| problem.blocking_since);
    match PodProblem::find(pod) {
        Some((problem, true)) => Some(CurrentProblem { problem, blocking_since: since.or(Some(now)) }),
        _ if since.is_some() => before.filter(|_| !is_ready(pod)),
        found => found.map(|(problem, _)| CurrentProblem { problem, blocking_since: None }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_among_the_objects_has_its_own_problems() {
        let waiting =
            "{containerStatuses: [{restartCount: 2, state: {waiting: {reason: ImagePullBackOff}}}]}";
        let text = format!("{{metadata: {{name: p, namespace: default, uid: u}}, status: {waiting}}}");
        let pod: Node = text.parse().expect("a pod");
        let mut related = RelatedObjects::default();
        related.set_pod(&pod, Instant::now());
        let states = related.states([RelatedQuery { kind: "Pod", live: Some(&pod) }].into_iter());
        assert_eq!(
            (states[0].problems[0].to_string(), states[0].restarts),
            ("p: ImagePullBackOff".to_string(), 2)
        );
        assert!(states[0].problems_since.is_some());
    }
}
