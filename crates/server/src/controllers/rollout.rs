//! Computes the steps of rollouts: the replicas of the new and the old ReplicaSets of a Deployment.

use std::sync::Arc;

use serde_json::Value;

use super::count;
use super::replicas::desired_replicas;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

/// A rollout: the ReplicaSets and the limits of the strategy.
#[derive(Debug)]
pub(super) struct Rollout {
    pub(super) new: Option<Arc<Value>>,
    pub(super) old: Vec<Arc<Value>>,
    replicas: i64,
    pub(super) surge: i64,
    pub(super) unavailable: i64,
}

impl Rollout {
    pub(super) fn new(deployment: &Value, new: Option<Arc<Value>>, old: Vec<Arc<Value>>) -> Self {
        let replicas = desired_replicas(deployment);
        let limits = &deployment["spec"]["strategy"]["rollingUpdate"];
        let surge = share(&limits["maxSurge"], replicas, true);
        let unavailable = share(&limits["maxUnavailable"], replicas, false).min(replicas);
        let (surge, unavailable) = match (deployment["spec"]["strategy"]["type"].as_str(), surge, unavailable)
        {
            (Some("Recreate"), _, _) => (0, 0),
            (_, 0, 0) => (0, 1.min(replicas)),
            (_, surge, unavailable) => (surge, unavailable),
        };
        Self { new, old, replicas, surge, unavailable }
    }

    /// Returns the highest revision of the old ReplicaSets.
    pub(super) fn last_revision(&self) -> i64 {
        self.old.iter().map(|set| revision(set)).max().unwrap_or_default()
    }

    /// Returns the initial replicas of the new ReplicaSet.
    pub(super) fn first_replicas(&self) -> i64 {
        let others: i64 = self.old.iter().map(|set| desired_replicas(set)).sum();
        (self.replicas + self.surge - others).clamp(0, self.replicas)
    }

    /// Returns the replicas of the new ReplicaSet in the next step.
    pub(super) fn new_replicas(&self) -> i64 {
        let own = self.new.as_ref().map_or(0, |set| desired_replicas(set));
        if own >= self.replicas { self.replicas } else { self.first_replicas().max(own) }
    }

    /// Returns the old ReplicaSets to scale down in the next step, each with its new replica count. Unavailable
    /// replicas of a set are removed before available ones.
    pub(super) fn old_replicas(&self) -> Vec<(Arc<Value>, i64)> {
        let Some(new) = &self.new else { return Vec::new() };
        let available = |set: &Value| count(set, "/status/availableReplicas");
        let all: i64 = self.old.iter().map(|set| desired_replicas(set)).sum::<i64>() + desired_replicas(new);
        let least = self.replicas - self.unavailable;
        let mut surplus = all - least - (desired_replicas(new) - available(new)).max(0);
        let mut spare = self.old.iter().map(|set| available(set)).sum::<i64>() + available(new) - least;
        let mut scaled = Vec::new();
        for set in self.old.iter().filter(|set| desired_replicas(set) > 0) {
            let unhealthy = (desired_replicas(set) - available(set)).clamp(0, surplus.max(0));
            let healthy = (desired_replicas(set) - unhealthy).min(spare).min(surplus - unhealthy).max(0);
            surplus -= unhealthy + healthy;
            spare -= healthy;
            if unhealthy + healthy > 0 {
                scaled.push((Arc::clone(set), desired_replicas(set) - unhealthy - healthy));
            }
        }
        scaled
    }
}

/// Returns a number of replicas, given as a number or as a percentage such as `25%`.
fn share(value: &Value, replicas: i64, rounds_up: bool) -> i64 {
    let percent =
        value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse::<i64>().ok());
    match percent {
        Some(percent) if rounds_up => (replicas * percent + 99) / 100,
        Some(percent) => replicas * percent / 100,
        None => value.as_i64().unwrap_or_default(),
    }
}

/// Returns the revision of a Deployment or ReplicaSet; 0 if it has none.
pub(super) fn revision(object: &Value) -> i64 {
    let text = object["metadata"]["annotations"][REVISION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(replicas: i64, available: i64) -> Arc<Value> {
        Arc::new(json!({"spec": {"replicas": replicas}, "status": {"availableReplicas": available}}))
    }

    fn rollout(limits: &Value, new: Option<Arc<Value>>, old: Vec<Arc<Value>>) -> Rollout {
        let deployment =
            json!({"spec": {"replicas": 10, "strategy": {"type": "RollingUpdate", "rollingUpdate": limits}}});
        Rollout::new(&deployment, new, old)
    }

    #[test]
    fn rollouts_keep_the_limits_of_their_strategy() {
        let limits = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
        let first = rollout(&limits, None, vec![set(10, 10)]);
        assert_eq!((first.surge, first.unavailable, first.first_replicas()), (3, 2, 3));
        let next = rollout(&limits, Some(set(3, 0)), vec![set(10, 10)]);
        assert_eq!(next.old_replicas()[0].1, 8, "two may be unavailable");
        let next = rollout(&limits, Some(set(3, 3)), vec![set(8, 8)]);
        assert_eq!((next.new_replicas(), next.old_replicas()[0].1), (5, 5));
        let none = rollout(&json!({"maxSurge": 0, "maxUnavailable": 0}), None, Vec::new());
        assert_eq!((none.surge, none.unavailable), (0, 1));
    }

    #[test]
    fn replicas_that_are_not_available_go_first() {
        let limits = json!({"maxSurge": 1, "maxUnavailable": 0});
        let stuck = rollout(&limits, Some(set(1, 0)), vec![set(10, 10)]);
        assert!(stuck.old_replicas().is_empty());
        let broken = rollout(&limits, Some(set(1, 1)), vec![set(2, 0), set(8, 8)]);
        let left: Vec<i64> = broken.old_replicas().iter().map(|(_, left)| *left).collect();
        assert_eq!(left, [1], "the surplus is one Pod");
    }
}
