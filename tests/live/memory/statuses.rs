//! Random statuses of all kinds, as controllers and kubelets write them.

use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};

const OLD: &str = "2020-05-06T07:08:09Z";

/// Returns a random status of a kind, or null for kinds that have none here.
pub fn status(dice: &mut Dice, kind: &str) -> Value {
    let count = |dice: &mut Dice| dice.below(5);
    match kind {
        "Pod" => pod(dice),
        "Deployment" => {
            let available = dice.below(3);
            json!({"replicas": 4, "updatedReplicas": count(dice).min(4), "readyReplicas": available, "availableReplicas": available})
        }
        "ReplicaSet" | "ReplicationController" | "StatefulSet" => {
            json!({"replicas": 4, "readyReplicas": count(dice).min(4)})
        }
        "DaemonSet" => {
            json!({"currentNumberScheduled": count(dice), "numberMisscheduled": 0, "desiredNumberScheduled": count(dice),
            "numberReady": count(dice), "updatedNumberScheduled": count(dice), "numberAvailable": count(dice)})
        }
        "Job" => job(dice),
        "CronJob" => {
            json!({"active": vec![json!({"kind": "Job", "name": "j"}); dice.below(3)], "lastScheduleTime": if dice.one_in(2) { OLD.into() } else { Value::Null }})
        }
        "Service" | "Ingress" => {
            let all = [
                json!([]),
                json!([{"ip": "192.168.7.8"}]),
                json!([{"ip": "192.168.9.8"}, {"hostname": "a.long.name.example.com"}, {"ip": "192.168.7.8"}]),
            ];
            json!({"loadBalancer": {"ingress": all[dice.below(3)]}})
        }
        "PersistentVolumeClaim" => {
            json!({"phase": dice.pick(&["Pending", "Bound", "Lost"]), "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"],
            "capacity": if dice.one_in(2) { json!({"storage": "2048Mi"}) } else { Value::Null }})
        }
        "PersistentVolume" => {
            json!({"phase": dice.pick(&["Available", "Bound", "Released", "Failed"]), "reason": dice.pick(&["", "Because"])})
        }
        "ResourceQuota" => {
            json!({"hard": {"pods": "10", "limits.cpu": "2000m", "requests.memory": "1Gi"}, "used": {"pods": "3", "limits.cpu": "100m"}})
        }
        "PodDisruptionBudget" => {
            json!({"disruptionsAllowed": count(dice), "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1})
        }
        "HorizontalPodAutoscaler" => {
            json!({"currentReplicas": count(dice), "desiredReplicas": 2, "currentMetrics": metrics(dice)})
        }
        "Node" => node(dice),
        "FlowSchema" => {
            json!({"conditions": [{"type": "Dangling", "status": "False", "reason": "Found", "lastTransitionTime": OLD}]})
        }
        "VolumeAttachment" => json!({"attached": dice.one_in(2)}),
        "CertificateSigningRequest" => {
            let condition =
                |kind: &str| json!({"type": kind, "status": "True", "reason": "a", "message": "b"});
            let all = [
                Value::Null,
                json!({"conditions": [condition("Failed")]}),
                json!({"approval": condition("Approved")}),
                json!({"approval": condition("Denied")}),
            ];
            all[dice.below(4)].clone()
        }
        "Gadget" => json!({"ready": dice.one_in(2)}),
        _ => Value::Null,
    }
}

/// Returns the current values of metrics, which need not be those of the spec.
fn metrics(dice: &mut Dice) -> Value {
    let current = |dice: &mut Dice| {
        [
            json!({"averageUtilization": 55, "averageValue": "50m"}),
            json!({"averageValue": "70Mi"}),
            json!({"value": "1200m"}),
        ][dice.below(3)]
        .clone()
    };
    let object = json!({"kind": "Service", "name": "web", "apiVersion": "v1"});
    let metric = |dice: &mut Dice| match dice.below(5) {
        0 => json!({"type": "Resource", "resource": {"name": "cpu", "current": current(dice)}}),
        1 => {
            json!({"type": "ContainerResource", "containerResource": {"name": "memory", "container": "web", "current": current(dice)}})
        }
        2 => json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "current": current(dice)}}),
        3 => {
            json!({"type": "Object", "object": {"metric": {"name": "m"}, "describedObject": object, "current": current(dice)}})
        }
        _ => json!({"type": "External", "external": {"metric": {"name": "m"}, "current": current(dice)}}),
    };
    (0..dice.below(3)).map(|_| metric(dice)).collect()
}

fn job(dice: &mut Dice) -> Value {
    let kinds = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
    let conditions = if dice.one_in(2) {
        json!([{"type": dice.pick(&kinds), "status": dice.pick(&["True", "False"])}])
    } else {
        json!([])
    };
    json!({"active": 0, "startTime": if dice.one_in(3) { Value::Null } else { OLD.into() }, "conditions": conditions})
}

fn node(dice: &mut Dice) -> Value {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let conditions = [
        json!([]),
        json!([condition("DiskPressure", "False"), condition("Ready", "True")]),
        json!([condition("Ready", dice.pick(&["False", "Unknown"]))]),
    ];
    let addresses = [
        json!([{"type": "InternalIP", "address": "192.168.3.4"}]),
        json!([{"type": "Hostname", "address": "n"}, {"type": "ExternalIP", "address": "5.6.7.8"}]),
    ];
    let about = json!({"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": dice.pick(&["6.1", ""]), "osImage": dice.pick(&["Debian", ""]), "containerRuntimeVersion": "containerd://2", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": dice.pick(&["amd64", ""])});
    json!({"conditions": conditions[dice.below(3)], "addresses": addresses[dice.below(2)], "nodeInfo": about})
}

fn pod(dice: &mut Dice) -> Value {
    let bool = |dice: &mut Dice| dice.pick(&["True", "False"]);
    let mut conditions = Vec::new();
    for kind in ["Ready", "Initialized", "example.com/a", "example.com/b"] {
        if !dice.one_in(3) {
            conditions.push(json!({"type": kind, "status": bool(dice)}));
        }
    }
    if dice.one_in(8) {
        conditions.push(json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}));
    }
    let mut status = json!({
        "phase": dice.pick(&["Pending", "Running", "Running", "Succeeded", "Failed", "Unknown"]), "conditions": conditions,
        "initContainerStatuses": containers(dice, &["one", "two"]), "containerStatuses": containers(dice, &["web", "log"]),
    });
    if dice.one_in(5) {
        status["reason"] = dice.pick(&["Evicted", "NodeLost"]).into();
    }
    if dice.one_in(2) {
        status["podIP"] = "10.2.3.4".into();
        status["podIPs"] = json!([{"ip": "10.2.3.4"}]);
    }
    if dice.one_in(4) {
        status["nominatedNodeName"] = "node-2".into();
    }
    status
}

fn containers(dice: &mut Dice, names: &[&str]) -> Value {
    let chosen: Vec<&str> = names.iter().copied().filter(|_| !dice.one_in(5)).collect();
    chosen.iter().map(|name| container(dice, name)).collect()
}

fn container(dice: &mut Dice, name: &str) -> Value {
    let ended = |dice: &mut Dice| {
        json!({"exitCode": dice.pick(&[0, 0, 1, 137]), "reason": dice.pick(&["", "Completed", "Error", "OOMKilled"]), "signal": dice.pick(&[0, 9]),
            "startedAt": null, "finishedAt": dice.pick(&["2019-08-08T08:08:08Z", OLD]), "containerID": "x://y"})
    };
    let state = match dice.below(5) {
        0 | 1 => json!({"running": {"startedAt": OLD}}),
        2 => {
            json!({"waiting": {"reason": dice.pick(&["CrashLoopBackOff", "ImagePullBackOff", "PodInitializing", "ContainerCreating", ""])}})
        }
        3 => json!({"terminated": ended(dice)}),
        _ => json!({}),
    };
    let last = if dice.one_in(2) { json!({"terminated": ended(dice)}) } else { json!({}) };
    json!({"name": name, "image": "i", "imageID": "", "ready": dice.one_in(2), "started": dice.one_in(2), "restartCount": dice.below(4), "state": state, "lastState": last})
}
