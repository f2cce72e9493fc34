//! Random requests. Each is a function of the objects that the server returned before.

use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};

use super::templates::Template;

/// A request to either server.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub content_type: &'static str,
    pub body: Body,
}

/// The body of a request.
#[derive(Debug, Clone)]
pub enum Body {
    None,
    Value(Value),
    /// The object that this server returned last, with changes.
    Last(Vec<Change>),
}

/// A change of an object.
#[derive(Debug, Clone)]
pub enum Change {
    Set(String, Value),
    Remove(String),
}

const JSON: &str = "application/json";
const PATCHES: [&str; 3] =
    ["application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json"];
const APPLY: &str = "application/apply-patch+yaml";

/// Returns the requests of a sequence.
pub fn requests(dice: &mut Dice, template: &Template, count: usize) -> Vec<Request> {
    let create = Request {
        method: "POST",
        path: template.path(),
        content_type: JSON,
        body: Body::Value(template.object.clone()),
    };
    let mut all = vec![create];
    while all.len() < count {
        all.push(request(dice, template));
    }
    all
}

fn request(dice: &mut Dice, template: &Template) -> Request {
    let name = if dice.one_in(6) { "b" } else { "a" };
    let (collection, object) = (template.path(), format!("{}/{name}", template.path()));
    let plain = |method, path| Request { method, path, content_type: JSON, body: Body::None };
    match dice.below(20) {
        0 => plain("GET", object),
        1 => plain("GET", format!("{collection}{}", dice.pick(&SELECTORS))),
        2 | 3 => create(dice, template, name),
        4..=6 => {
            let changes = changes(dice, &template.object, 2);
            let query = dice.pick(&["", "", "?fieldValidation=Strict", "?dryRun=All", "?fieldManager=other"]);
            Request {
                method: "PUT",
                path: format!("{object}{query}"),
                content_type: JSON,
                body: Body::Last(changes),
            }
        }
        7..=11 => patch(dice, template, &object),
        12..=15 => apply(dice, template, name, &object),
        16 if template.has_status => {
            let body = json!({"status": {}, "metadata": {"labels": {"x": "y"}}, "spec": null});
            let path = format!("{object}/status");
            Request { method: "PATCH", path, content_type: PATCHES[0], body: Body::Value(body) }
        }
        17 => delete(dice, object),
        18 => {
            let query = dice.pick(&["", "?labelSelector=app%3Dnone", "?labelSelector=app"]);
            plain("DELETE", format!("{collection}{query}"))
        }
        _ => finalize(dice, object),
    }
}

const SELECTORS: [&str; 10] = [
    "",
    "?labelSelector=app%3Dweb",
    "?labelSelector=app%20in%20(web,x),!y",
    "?labelSelector=app%20x",
    "?fieldSelector=metadata.name%3Da",
    "?fieldSelector=metadata.name!%3Da",
    "?fieldSelector=spec.unknown%3Da",
    "?limit=1",
    "?resourceVersion=0",
    "?resourceVersionMatch=Exact",
];

fn create(dice: &mut Dice, template: &Template, name: &str) -> Request {
    let mut object = template.object.clone();
    object["metadata"]["name"] = name.into();
    if dice.one_in(5) {
        object["metadata"] = json!({"generateName": "g-"});
    }
    let number = dice.below(3);
    for change in changes(dice, &template.object, number) {
        apply_change(&mut object, &change);
    }
    let query = dice.pick(&["", "", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?dryRun=All"]);
    Request {
        method: "POST",
        path: format!("{}{query}", template.path()),
        content_type: JSON,
        body: Body::Value(object),
    }
}

fn patch(dice: &mut Dice, template: &Template, path: &str) -> Request {
    let content_type = dice.pick(&PATCHES);
    let number = 1 + dice.below(2);
    let changes = changes(dice, &template.object, number);
    let body = if content_type == PATCHES[2] {
        let operation = |change: &Change| match change {
            Change::Set(at, value) => json!({"op": "add", "path": at, "value": value}),
            Change::Remove(at) => json!({"op": "remove", "path": at}),
        };
        changes.iter().map(operation).collect()
    } else {
        let mut patch = json!({});
        for change in &changes {
            match change {
                Change::Set(at, value) => set_by_fields(&mut patch, at, value.clone()),
                Change::Remove(at) => set_by_fields(&mut patch, at, Value::Null),
            }
        }
        patch
    };
    let query = dice.pick(&["", "", "?fieldValidation=Strict", "?dryRun=All"]);
    Request { method: "PATCH", path: format!("{path}{query}"), content_type, body: Body::Value(body) }
}

fn apply(dice: &mut Dice, template: &Template, name: &str, path: &str) -> Request {
    let mut object = template.object.clone();
    object["metadata"]["name"] = name.into();
    let number = dice.below(3);
    for change in changes(dice, &template.object, number) {
        apply_change(&mut object, &change);
    }
    let manager = dice.pick(&["one", "two"]);
    let force = dice.pick(&["", "", "&force=true"]);
    let path = format!("{path}?fieldManager={manager}{force}");
    Request { method: "PATCH", path, content_type: APPLY, body: Body::Value(object) }
}

fn delete(dice: &mut Dice, path: String) -> Request {
    let body = match dice.below(5) {
        0 => Body::Value(json!({"propagationPolicy": "Foreground"})),
        1 => Body::Value(json!({"preconditions": {"uid": "wrong"}})),
        2 => Body::Value(json!({"propagationPolicy": "Background", "dryRun": ["All"]})),
        3 => Body::Value(json!({"propagationPolicy": "Background"})),
        _ => Body::None,
    };
    Request { method: "DELETE", path, content_type: JSON, body }
}

fn finalize(dice: &mut Dice, path: String) -> Request {
    let finalizers = dice.pick(&["example.com/f", ""]);
    let finalizers = if finalizers.is_empty() { Value::Null } else { json!([finalizers]) };
    let body = json!({"metadata": {"finalizers": finalizers}});
    Request { method: "PATCH", path, content_type: PATCHES[0], body: Body::Value(body) }
}

/// Returns random changes of an object.
fn changes(dice: &mut Dice, object: &Value, count: usize) -> Vec<Change> {
    (0..count).map(|_| change(dice, object)).collect()
}

fn change(dice: &mut Dice, object: &Value) -> Change {
    let set = |at: &str, value: Value| Change::Set(at.into(), value);
    match dice.below(13) {
        0 | 1 => set("/metadata/labels", json!({"app": dice.pick(&["web", "other"])})),
        2 => set("/metadata/annotations", json!({"note": dice.pick(&["x", "y"])})),
        3 => set("/metadata/labels", json!({"app": dice.pick(&["not valid", "-x", ""])})),
        4 => set("/unknown", json!(1)),
        5 => set("/metadata/resourceVersion", json!(dice.pick(&["1", "x"]))),
        6 => {
            let values =
                [json!("Foo"), json!("Secret"), json!("v1"), json!("a/b/c"), json!(""), json!(5), json!([])];
            set(dice.pick(&["/apiVersion", "/kind"]), values[dice.below(values.len())].clone())
        }
        _ => leaf_change(dice, object),
    }
}

/// Changes one of the values that the template has.
fn leaf_change(dice: &mut Dice, object: &Value) -> Change {
    let mut leaves = Vec::new();
    collect_leaves(object, String::new(), &mut leaves);
    leaves.retain(|at| !at.starts_with("/metadata") && at != "/apiVersion" && at != "/kind");
    let at = leaves[dice.below(leaves.len())].clone();
    let value = match dice.below(6) {
        0 => return Change::Remove(at),
        1 => json!("x"),
        2 => json!(7),
        3 => json!(dice.one_in(2)),
        4 => Value::Null,
        _ => match object.pointer(&at) {
            Some(Value::String(text)) => json!(format!("{text}x")),
            Some(Value::Number(number)) => json!(number.as_i64().unwrap_or(0) + 1),
            _ => json!(""),
        },
    };
    Change::Set(at, value)
}

fn collect_leaves(value: &Value, at: String, leaves: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_leaves(value, format!("{at}/{name}"), leaves);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect_leaves(value, format!("{at}/{index}"), leaves);
            }
        }
        _ => leaves.push(at),
    }
}

/// Applies a change to an object that may lack the location.
pub fn apply_change(object: &mut Value, change: &Change) {
    let (at, value) = match change {
        Change::Set(at, value) => (at, Some(value)),
        Change::Remove(at) => (at, None),
    };
    let Some((parent, name)) = at.rsplit_once('/') else { return };
    match (object.pointer_mut(parent), value) {
        (Some(Value::Object(fields)), Some(value)) => {
            fields.insert(name.into(), value.clone());
        }
        (Some(Value::Object(fields)), None) => {
            fields.remove(name);
        }
        (Some(Value::Array(list)), Some(value)) => {
            if let Some(entry) = name.parse::<usize>().ok().and_then(|index| list.get_mut(index)) {
                *entry = value.clone();
            }
        }
        _ => {}
    }
}

/// Sets a value in a patch by its path, in which lists become single values.
fn set_by_fields(patch: &mut Value, at: &str, value: Value) {
    let mut place = patch;
    for name in at.split('/').skip(1).take_while(|name| name.parse::<usize>().is_err()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name];
    }
    *place = value;
}
