//! The causes of rejections, with the messages of kube-apiserver. The validation rules have their own messages; here
//! each gets the field, the reason and the message of the server. Other messages are not changed.

use serde_json::{Value, json};
use smp_validate::Violation;

use crate::state::text;
use crate::status::Cause;

const IP_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/// Maps our messages about missing values to the text that the server adds to `Required value`.
const REQUIRED: &[(&str, &str)] = &[
    ("the container has no image", ""),
    ("a name is required if there are several ports", ""),
    ("is required", ""),
    ("a role name is required and must not contain `/` or `%`", ""),
    ("at least one access mode is required", "at least 1 access mode is required"),
    ("a storage request is required", ""),
    ("must not be empty", ""),
];

/// Our messages about invalid values, and those of the server.
const INVALID: &[(&str, &str)] = &[
    ("must be a port between 1 and 65535", "must be between 1 and 65535, inclusive"),
    ("must be an address of type `addressType`", IP_ADDRESS),
    ("must be a number or a percentage such as `25%`", PERCENT),
    ("must be greater than 0", "must be greater than zero"),
    (
        "must be `Pod`, `Container`, `PersistentVolumeClaim`or a qualified name such as `example.com/Image`",
        "must be a standard limit type or fully qualified",
    ),
];

/// Returns the causes of the violations of an object.
pub(crate) fn from_violations(violations: &[Violation], object: &Value, is_custom: bool) -> Vec<Cause> {
    let mut causes: Vec<Cause> = violations.iter().flat_map(|one| of_one(one, object, is_custom)).collect();
    causes.dedup();
    if object["kind"] == "Service" {
        causes.sort_by_key(|cause| port_rank(&cause.field));
    }
    causes
}

/// Returns the position of a field of a Service's port in the order of checks. The server checks one port after the
/// other.
fn port_rank(field: &str) -> (String, usize) {
    const FIELDS: [&str; 4] = ["name", "port", "protocol", "targetPort"];
    match field.strip_prefix("spec.ports[").and_then(|rest| rest.split_once("].")) {
        Some((index, name)) => {
            (format!("{index:0>6}"), FIELDS.iter().position(|known| *known == name).unwrap_or(FIELDS.len()))
        }
        None => (String::new(), 0),
    }
}

fn of_one(violation: &Violation, object: &Value, is_custom: bool) -> Vec<Cause> {
    let field = violation.path.to_string();
    let pointer = format!("/{}", field.replace(['.', '['], "/").replace(']', ""));
    let found = object.pointer(&pointer).cloned().unwrap_or_default();
    let message = condition(&violation.message);
    if let Some(causes) = special(violation, object, &field, &found) {
        return causes;
    }
    let field = server_field(&field);
    if let Some((_, why)) = REQUIRED.iter().find(|(own, _)| *own == message) {
        return vec![Cause::required(&field, why)];
    }
    if let Some((_, why)) = INVALID.iter().find(|(own, _)| *own == message) {
        return vec![Cause::invalid(&field, &found, why)];
    }
    if let Some(why) = limit(&field, message, is_custom) {
        return vec![Cause::invalid(&field, &found, &why)];
    }
    let shown = if found.is_null() { String::new() } else { format!("{found}: ") };
    let (reason, start) = match violation.rule.code() {
        "missing-required" => return vec![Cause::required(&field, "")],
        "enum" => ("FieldValueNotSupported", "Unsupported"),
        "container-name" => ("FieldValueDuplicate", "Duplicate"),
        _ => ("FieldValueInvalid", "Invalid"),
    };
    vec![Cause::new(reason, &field, format!("{start} value: {shown}{message}"))]
}

/// Returns a message without its subject, because the server reports the path instead.
fn condition(message: &str) -> &str {
    const VERBS: [&str; 5] = ["must ", "may ", "is ", "requires ", "cannot "];
    let is_named = message.starts_with('`') || message.starts_with("the entry of `");
    let rest = if is_named {
        message.split_once("` ").map(|(_, rest)| rest)
    } else {
        message.strip_prefix("the object ")
    };
    rest.filter(|rest| VERBS.iter().any(|verb| rest.starts_with(verb))).unwrap_or(message)
}

/// Returns the causes of a violation whose field, reason or value differs on the server.
fn special(violation: &Violation, object: &Value, field: &str, found: &Value) -> Option<Vec<Cause>> {
    let message = condition(&violation.message);
    let kind = object["kind"].as_str().unwrap_or_default();
    Some(match (violation.rule.code(), kind) {
        ("label-value", _) => vec![Cause::invalid(field.rsplit_once('.')?.0, found, LABEL_VALUE)],
        ("selector-mismatch", _) => vec![selector_mismatch(object, kind)],
        ("wrong-type", _) => vec![wrong_type(field, found, message)],
        ("port", _) if field.ends_with(".containerPort") && *found == 0 => vec![Cause::required(field, "")],
        ("address", "Endpoints") => {
            vec![
                Cause::invalid(field, found, IP_ADDRESS),
                Cause::invalid(field, found, "must be a valid IP address"),
            ]
        }
        ("restart-policy", _) if *found == "Always" || found.is_null() => {
            vec![Cause::required(field, r#"valid values: "OnFailure", "Never""#)]
        }
        ("restart-policy", _) => vec![unsupported(field, found, r#""OnFailure", "Never""#)],
        ("enum", "Job" | "CronJob") if field.ends_with(".restartPolicy") => {
            vec![unsupported(field, found, r#""Always", "OnFailure", "Never""#)]
        }
        ("schedule", _) if *found != "" => vec![Cause::invalid(field, found, &schedule(found.as_str()?)?)],
        ("number-range", "HorizontalPodAutoscaler") if field == "spec.maxReplicas" => {
            vec![Cause::required(field, "must be set and greater than 0")]
        }
        // The schema also reports these.
        ("access-modes", _) if message.starts_with("must be") => Vec::new(),
        ("enum", "EndpointSlice") if field == "addressType" && *found == "" => {
            vec![Cause::required(field, "")]
        }
        ("role-ref" | "subject", _) if field.ends_with("kind") => {
            vec![unsupported(field, found, &quoted(message)?)]
        }
        ("enum", _) if message.starts_with("must be one of") => {
            vec![unsupported(&server_field(field), found, &quoted(message)?)]
        }
        (_, "Service") => return of_service(object, field, found, message),
        (_, "Ingress") => return of_ingress(field, found, message),
        _ => return None,
    })
}

fn of_service(object: &Value, field: &str, found: &Value, message: &str) -> Option<Vec<Cause>> {
    const PORT: &str = "must be between 1 and 65535, inclusive";
    Some(match message {
        "the first entry must equal `clusterIP`" => {
            let why = "first value must match `clusterIP`";
            vec![Cause::invalid("spec.clusterIPs", &object["spec"]["clusterIPs"], why)]
        }
        "duplicate port name" => {
            vec![Cause::new("FieldValueDuplicate", field, format!("Duplicate value: {found}"))]
        }
        _ if field == "spec.clusterIP" && message.starts_with("must be an IP address") => {
            vec![Cause::invalid("spec.clusterIPs[0]", found, IP_ADDRESS)]
        }
        // By default, the target port is the port of the Service.
        _ if field.ends_with("].port") && *found == 0 => {
            let target = field.replace("].port", "].targetPort");
            let pointer = format!("/{}", target.replace(['.', '['], "/").replace(']', ""));
            let is_zero = object.pointer(&pointer).is_some_and(|target| *target == 0);
            let target = is_zero.then(|| Cause::invalid(&target, found, PORT));
            std::iter::once(Cause::invalid(field, found, PORT)).chain(target).collect()
        }
        _ => return None,
    })
}

fn of_ingress(field: &str, found: &Value, message: &str) -> Option<Vec<Cause>> {
    Some(match message {
        "must have `defaultBackend` or `rules`" => {
            let why = "either `defaultBackend` or `rules` must be specified";
            vec![Cause::invalid(field, &Value::Null, why)]
        }
        "must specify exactly one of `name` and `number`" => {
            let backend = field.strip_suffix(".service.port")?;
            vec![Cause::required(backend, "port name or number is required")]
        }
        "must be an absolute path" if found.is_null() => vec![Cause::invalid(field, &json!(""), message)],
        _ if field.ends_with(".pathType") && found.is_null() => {
            vec![Cause::required(field, "pathType must be specified")]
        }
        _ => return None,
    })
}

/// Returns the server's message about a number that is too small or too large.
fn limit(field: &str, message: &str, is_custom: bool) -> Option<String> {
    let (bound, limit) = match message.strip_prefix("must be at least ") {
        Some(least) => ("greater than or equal to", least),
        None => ("less than or equal to", message.strip_prefix("must be at most ")?),
    };
    let limit: i64 = limit.parse().ok()?;
    Some(if is_custom {
        format!("{field} in body should be {bound} {limit}")
    } else {
        format!("must be {bound} {limit}")
    })
}

fn unsupported(field: &str, found: &Value, supported: &str) -> Cause {
    let why = format!("Unsupported value: {found}: supported values: {supported}");
    Cause::new("FieldValueNotSupported", field, why)
}

/// Returns the words in backticks in a message, quoted and separated by commas as on the server.
fn quoted(message: &str) -> Option<String> {
    let words: Vec<String> = message.split('`').skip(1).step_by(2).map(|word| format!("{word:?}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn selector_mismatch(object: &Value, kind: &str) -> Cause {
    let selector = &object["spec"]["selector"];
    let is_empty = selector.as_object().is_none_or(serde_json::Map::is_empty);
    let called = match kind {
        "Deployment" | "ReplicaSet" => "deployment",
        "DaemonSet" => "daemonset",
        "StatefulSet" => "statefulset",
        _ => "",
    };
    if is_empty && !called.is_empty() {
        let why = format!("empty selector is invalid for {called}");
        return Cause::invalid("spec.selector", &json!({}), &why);
    }
    let labels = match &object["spec"]["template"]["metadata"]["labels"] {
        Value::Null => json!({}),
        labels => labels.clone(),
    };
    Cause::invalid("spec.template.metadata.labels", &labels, "`selector` does not match template `labels`")
}

/// Returns the cause for a value of the wrong type in a custom resource.
fn wrong_type(field: &str, found: &Value, message: &str) -> Cause {
    let is = match found {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let words = message.split(',').next().unwrap_or_default();
    let wanted = match words.strip_prefix("must be ").unwrap_or_default() {
        "a list" => "array",
        "a map" => "object",
        "an integer" => "integer",
        "a number" => "number",
        "a string" => "string",
        _ => "boolean",
    };
    let why = format!("Invalid value: {is:?}: {field} in body must be of type {wanted}: {is:?}");
    Cause::new("FieldValueTypeInvalid", field, why)
}

/// Returns the server's message about a schedule.
fn schedule(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != 5 {
        let count = fields.len();
        return Some(format!("expected exactly 5 fields, found {count}: [{}]", fields.join(" ")));
    }
    let is_number = |text: &&str| *text == "*" || text.parse::<u32>().is_ok();
    let wrong = fields.iter().find(|field| !is_number(field) && !field.contains([',', '-', '/']))?;
    Some(format!("failed to parse int from {wrong}: strconv.Atoi: parsing {wrong:?}: invalid syntax"))
}

/// Returns the name that the server has for a field, if it is not the path.
fn server_field(field: &str) -> String {
    if field.starts_with("spec.accessModes[") {
        return "spec.accessModes".into();
    }
    if field == "spec.resources.requests.storage" { "spec.resources[storage]".into() } else { field.into() }
}

/// Returns the cause if the target of an autoscaler has no API group. If the old target had none either, this is not an
/// error.
pub(crate) fn scale_target(object: &Value, old: Option<&Value>) -> Option<Cause> {
    const FIELD: &str = "/spec/scaleTargetRef/apiVersion";
    let is_controller = |object: &Value| text(object, "/spec/scaleTargetRef/kind") == "ReplicationController";
    let has_group = |object: &Value| text(object, FIELD).contains('/') || is_controller(object);
    let is_new =
        object["kind"] == "HorizontalPodAutoscaler" && !has_group(object) && old.is_none_or(has_group);
    let value = text(object, FIELD).into();
    is_new.then(|| {
        Cause::invalid("spec.scaleTargetRef.apiVersion", &value, "apiVersion must specify API group")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages depend on those of the rules, so a rule must reject each row.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn messages_are_those_of_the_server() {
        let container = |field: &str, value: Value| {
            let mut container = json!({"name": "a", "image": "a:1"});
            container[field] = value;
            json!({"restartPolicy": "Always", "containers": [container]})
        };
        let pod = |spec: Value| ("v1", "Pod", "spec", spec);
        let job = json!({"template": {"spec": {"restartPolicy": "x", "containers": [{"name": "a", "image": "a:1"}]}}});
        let port = |port: i64| json!({"ports": [{"port": port, "targetPort": 1, "protocol": "TCP"}]});
        let service = |spec: Value| ("v1", "Service", "spec", spec);
        let role = |kind: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "a"});
        let rows = [
            (pod(container("image", Value::Null)), "spec.containers[0].image: Required value"),
            (
                pod(container("ports", json!([{"containerPort": 0}]))),
                "spec.containers[0].ports[0].containerPort: Required value",
            ),
            (
                pod(container("imagePullPolicy", "x".into())),
                r#"spec.containers[0].imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never""#,
            ),
            (
                ("batch/v1", "Job", "spec", job),
                r#"spec.template.spec.restartPolicy: Unsupported value: "x": supported values: "OnFailure", "Never""#,
            ),
            (
                service(port(70_000)),
                "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
            ),
            (
                service(json!({"clusterIP": "x", "ports": [{"port": 1}]})),
                r#"spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"#,
            ),
            (
                ("networking.k8s.io/v1", "Ingress", "spec", json!({})),
                "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
            ),
            (
                ("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef", role("x")),
                r#"roleRef.kind: Unsupported value: "x": supported values: "Role", "ClusterRole""#,
            ),
            (
                ("policy/v1", "PodDisruptionBudget", "spec", json!({"minAvailable": "x"})),
                r#"spec.minAvailable: Invalid value: "x": a valid percent string must be"#,
            ),
            (
                (
                    "autoscaling/v2",
                    "HorizontalPodAutoscaler",
                    "spec",
                    json!({
                    "maxReplicas": 0, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}),
                ),
                "spec.maxReplicas: Required value: must be set and greater than 0",
            ),
        ];
        let cluster = crate::TestCluster::new();
        for ((api_version, kind, field, value), text) in rows {
            let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
            object[field] = value;
            let error = cluster.create(object).expect_err("rejected");
            assert!(error.message().contains(text), "{}", error.message());
        }
    }

    #[test]
    fn schedules_are_rejected_as_by_the_server() {
        assert_eq!(schedule("x").as_deref(), Some("expected exactly 5 fields, found 1: [x]"));
        let text = r#"failed to parse int from *x: strconv.Atoi: parsing "*x": invalid syntax"#;
        assert_eq!(schedule("0 * * * *x").as_deref(), Some(text));
    }

    #[test]
    fn types_are_named_as_in_schemas() {
        let cause = wrong_type("spec.size", &json!("x"), "must be an integer, but is a string");
        let text = r#"Invalid value: "string": spec.size in body must be of type integer: "string""#;
        assert_eq!(cause.message, text);
        let cause = wrong_type("spec.parts", &json!(7), "must be a list, but is an integer");
        assert!(cause.message.contains("of type array"), "{}", cause.message);
    }
}
