//! What Pods, ReplicaSets and events say of the workloads that they belong to.
//!
//! Only Pods of what a workload is now count: those that a rollout takes away may crash as they like.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::time::Instant;

use super::events::WarningEvent;
use crate::status::{conditions, says, time};
use smp_text::yaml::{Node, Resolved};

/// What is known of the Pods, ReplicaSets and events of some namespaces, by their identities.
#[derive(Debug, Default)]
pub(super) struct Companions {
    pods: FxHashMap<SmolStr, Pod>,
    replica_sets: FxHashMap<SmolStr, ReplicaSet>,
    /// The last event of type Warning, by whom it is about.
    warnings: FxHashMap<SmolStr, WarningEvent>,
}

#[derive(Debug)]
struct Pod {
    name: String,
    namespace: SmolStr,
    owner: Option<SmolStr>,
    labels: FxHashMap<SmolStr, SmolStr>,
    restarts: u64,
    trouble: Option<Trouble>,
}

/// What a container has to complain of.
#[derive(Debug, Clone)]
struct Trouble {
    text: String,
    since: Instant,
}

#[derive(Debug)]
struct ReplicaSet {
    namespace: SmolStr,
    owner: Option<SmolStr>,
    revision: Option<SmolStr>,
}

/// What belongs to a workload that is waited for.
#[derive(Debug, Default)]
pub(super) struct Belongings {
    pub(super) warning: Option<WarningEvent>,
    pub(super) restarts: u64,
    pub(super) troubles: Vec<String>,
    /// When the oldest of the troubles began.
    pub(super) since: Option<Instant>,
}

/// The labels and the annotation by which Pods are known to be of what a workload is now.
const REVISION: &str = "deployment.kubernetes.io/revision";
const TEMPLATE_GENERATION: (&str, &str) =
    ("pod-template-generation", "deprecated.daemonset.template.generation");
const REVISION_HASH: &str = "controller-revision-hash";

/// Why a container waits that does not start by itself.
const TROUBLES: [&str; 8] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

fn text<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    node.get_path(path).and_then(Node::as_str)
}

fn uid(node: &Node) -> Option<SmolStr> {
    text(node, &["metadata", "uid"]).map(SmolStr::from)
}

/// The identity of the controller that made it.
fn owner(node: &Node) -> Option<SmolStr> {
    let owners = node.get_path(&["metadata", "ownerReferences"])?.as_list()?;
    let is_controller =
        |owner: &&Node| matches!(owner.get("controller").and_then(Node::resolve), Some(Resolved::Bool(true)));
    Some(owners.iter().find(is_controller)?.get("uid")?.as_str()?.into())
}

fn namespace(node: &Node) -> SmolStr {
    text(node, &["metadata", "namespace"]).unwrap_or_default().into()
}

impl Companions {
    /// Forgets what there was of a namespace: all that is there follows.
    pub(super) fn forget_replica_sets(&mut self, namespace: &str) {
        self.replica_sets.retain(|_, set| set.namespace != namespace);
    }

    pub(super) fn set_replica_set(&mut self, set: &Node) {
        let Some(uid) = uid(set) else { return };
        let revision = text(set, &["metadata", "annotations", REVISION]).map(SmolStr::from);
        self.replica_sets.insert(uid, ReplicaSet { namespace: namespace(set), owner: owner(set), revision });
    }

    /// Takes over the Pods that are there. Troubles of those that were there go on.
    pub(super) fn list_pods(&mut self, of: &str, pods: &[Node], now: Instant) {
        for pod in pods {
            self.set_pod(pod, now);
        }
        let there: rustc_hash::FxHashSet<SmolStr> = pods.iter().filter_map(uid).collect();
        self.pods.retain(|uid, pod| pod.namespace != of || there.contains(uid));
    }

    pub(super) fn set_pod(&mut self, pod: &Node, now: Instant) {
        let Some(uid) = uid(pod) else { return };
        let labels = pod.get_path(&["metadata", "labels"]).and_then(Node::as_map);
        let labels = labels.into_iter().flat_map(smp_text::yaml::Map::iter);
        let before = self.pods.remove(&uid).and_then(|pod| pod.trouble);
        self.pods.insert(
            uid,
            Pod {
                name: text(pod, &["metadata", "name"]).unwrap_or_default().to_string(),
                namespace: namespace(pod),
                owner: owner(pod),
                labels: labels.filter_map(|(k, v)| Some((k.into(), v.as_str()?.into()))).collect(),
                restarts: containers(pod).map(restarts).sum(),
                trouble: trouble(pod, before, now),
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
        let said = |field| text(event, &[field]).unwrap_or_default().to_string();
        let time = times.iter().find_map(|path| time(event, path));
        let warning = WarningEvent { reason: said("reason"), message: said("message"), time };
        if about.is_empty() || self.warnings.get(about).is_some_and(|last| last.time > warning.time) {
            return;
        }
        self.warnings.insert(about.into(), warning);
    }

    /// What belongs to each of some live objects of some kinds, in their order.
    pub(super) fn of<'n>(
        &self,
        objects: impl Iterator<Item = (&'n str, Option<&'n Node>)>,
    ) -> Vec<Belongings> {
        let mut pods: FxHashMap<&str, Vec<(&SmolStr, &Pod)>> = FxHashMap::default();
        for (uid, pod) in &self.pods {
            if let Some(owner) = &pod.owner {
                pods.entry(owner).or_default().push((uid, pod));
            }
        }
        let mut sets: FxHashMap<&str, Vec<(&SmolStr, &ReplicaSet)>> = FxHashMap::default();
        for (uid, set) in &self.replica_sets {
            if let Some(owner) = &set.owner {
                sets.entry(owner).or_default().push((uid, set));
            }
        }
        let of = |(kind, object): (&str, Option<&Node>)| {
            object.map_or_else(Belongings::default, |object| self.of_one(kind, object, &pods, &sets))
        };
        objects.map(of).collect()
    }

    fn of_one(
        &self,
        kind: &str,
        object: &Node,
        pods: &FxHashMap<&str, Vec<(&SmolStr, &Pod)>>,
        sets: &FxHashMap<&str, Vec<(&SmolStr, &ReplicaSet)>>,
    ) -> Belongings {
        let Some(own) = uid(object) else { return Belongings::default() };
        let revision = text(object, &["metadata", "annotations", REVISION]);
        let is_new = |set: &ReplicaSet| revision.is_some() && set.revision.as_deref() == revision;
        let sets = sets.get(own.as_str()).into_iter().flatten().filter(|(_, set)| is_new(set));
        let sets: Vec<&SmolStr> = sets.map(|(uid, _)| *uid).collect();
        let direct =
            pods.get(own.as_str()).into_iter().flatten().filter(|(_, pod)| pod.is_of_now(kind, object));
        let of_sets = sets.iter().flat_map(|set| pods.get(set.as_str()).into_iter().flatten());
        // A Pod that is waited for has its own troubles.
        let itself = self.pods.get_key_value(&own);
        let mut members: Vec<(&SmolStr, &Pod)> = direct.chain(of_sets).copied().chain(itself).collect();
        members.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let about = std::iter::once(&own).chain(sets).chain(members.iter().map(|(uid, _)| *uid));
        let troubles = members.iter().filter_map(|(_, pod)| Some((pod, pod.trouble.as_ref()?)));
        Belongings {
            warning: about
                .filter_map(|uid| self.warnings.get(uid))
                .max_by_key(|warning| warning.time)
                .cloned(),
            restarts: members.iter().map(|(_, pod)| pod.restarts).sum(),
            since: troubles.clone().map(|(_, trouble)| trouble.since).min(),
            troubles: troubles.map(|(pod, trouble)| format!("{}: {}", pod.name, trouble.text)).collect(),
        }
    }
}

impl Pod {
    /// Whether its owner made it of what it is now. What does not say so is not taken for new.
    fn is_of_now(&self, kind: &str, owner: &Node) -> bool {
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

fn containers(pod: &Node) -> impl Iterator<Item = &Node> {
    let lists = ["initContainerStatuses", "containerStatuses"];
    lists.into_iter().filter_map(|list| pod.get_path(&["status", list])?.as_list()).flatten()
}

fn restarts(container: &Node) -> u64 {
    match container.get("restartCount").and_then(Node::resolve) {
        Some(Resolved::Int(count)) => u64::try_from(count).unwrap_or(0),
        _ => 0,
    }
}

/// What the first container complains of, and since when. A container that crashes runs in between: until its Pod is
/// ready, what it complained of lasts.
fn trouble(pod: &Node, before: Option<Trouble>, now: Instant) -> Option<Trouble> {
    let waiting = containers(pod).find_map(|container| {
        let reason = text(container, &["state", "waiting", "reason"])?;
        TROUBLES.contains(&reason).then(|| (reason, text(container, &["state", "waiting", "message"])))
    });
    let since = before.as_ref().map_or(now, |trouble| trouble.since);
    if let Some((reason, message)) = waiting {
        let text = message.map_or_else(|| reason.to_string(), |message| format!("{reason}: {message}"));
        return Some(Trouble { text, since });
    }
    before.filter(|_| !is_ready(pod))
}

fn is_ready(pod: &Node) -> bool {
    conditions(pod).is_ok_and(|conditions| says(&conditions, "Ready", "True"))
        || text(pod, &["status", "phase"]) == Some("Succeeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_that_is_waited_for_has_its_own_troubles() {
        let waiting =
            "{containerStatuses: [{restartCount: 2, state: {waiting: {reason: ImagePullBackOff}}}]}";
        let text = format!("{{metadata: {{name: p, namespace: default, uid: u}}, status: {waiting}}}");
        let pod: Node = text.parse().expect("a pod");
        let mut companions = Companions::default();
        companions.set_pod(&pod, Instant::now());
        let belongings = companions.of([("Pod", Some(&pod))].into_iter());
        assert_eq!(
            (belongings[0].troubles.as_slice(), belongings[0].restarts),
            (&["p: ImagePullBackOff".into()][..], 2)
        );
        assert!(belongings[0].since.is_some());
    }
}
