//! Compares the responses of both servers, and lists what may differ.

use serde_json::{Value, json};

/// A response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub code: u16,
    pub warnings: Vec<String>,
    pub body: Value,
}

/// The result of a comparison.
#[derive(Debug)]
pub enum Verdict {
    Same,
    /// A difference of a listed kind.
    Known(&'static str),
    Different(String),
}

/// Compares two responses.
pub fn compare(real: &Answer, memory: &Answer) -> Verdict {
    let (mut one, mut other) = (real.clone(), memory.clone());
    for answer in [&mut one, &mut other] {
        mask(&mut answer.body);
    }
    if one.code == other.code && one.body == other.body && one.warnings == other.warnings {
        return Verdict::Same;
    }
    if one.code == 422 && other.code == 422 && fields(&one.body) == fields(&other.body) {
        let is_diff = one.body["message"].as_str().is_some_and(|text| text.contains("may not change fields"));
        return Verdict::Known(if is_diff {
            "the real server shows a forbidden change as a diff of its internal Go structs"
        } else {
            "the texts of invalid values are our own; fields are the same"
        });
    }
    if let Some(reason) = known(&one, &other) {
        return Verdict::Known(reason);
    }
    let shown = |answer: &Answer| {
        let warnings = answer.warnings.join(" ");
        format!("{} {} {warnings}", answer.code, answer.body)
    };
    Verdict::Different(format!("real:   {}\nmemory: {}", shown(&one), shown(&other)))
}

/// The accepted differences: the code, the start of the server's message, and the reason.
const KNOWN: &[(u16, &str, &str)] =
    &[(400, "unable to parse requirement", "the place in a malformed selector is described in our words")];

fn known(real: &Answer, memory: &Answer) -> Option<&'static str> {
    let says =
        |answer: &Answer, text: &str| answer.body["message"].as_str().is_some_and(|it| it.starts_with(text));
    let is_known = |(code, start, _): &&(u16, &str, &str)| {
        [real, memory].iter().all(|answer| answer.code == *code && says(answer, start))
    };
    let is_empty = real.code == 200 && real.body["metadata"] == json!({}) && real.body["kind"] != "Status";
    if is_empty && memory.code == 200 {
        return Some("the real server answers some dry runs of deletions with an empty object");
    }
    let is_decoding = |answer: &Answer| {
        let text = answer.body["message"].as_str().unwrap_or_default();
        answer.code == 400 && text.contains("cannot be handled as a")
    };
    if is_decoding(real) && is_decoding(memory) {
        return Some("of several wrong values, Go reports the first in the order of the body");
    }
    if real.code == 500 && memory.code == 500 && sorted_lines(real) == sorted_lines(memory) {
        return Some("Go looks for wrong types in the order of a map");
    }
    KNOWN.iter().find(is_known).map(|(_, _, reason)| *reason)
}

/// Returns the lines of a message in alphabetical order.
fn sorted_lines(answer: &Answer) -> Vec<&str> {
    let mut lines: Vec<&str> = answer.body["message"].as_str().unwrap_or_default().lines().collect();
    lines.sort_unstable();
    lines
}

/// The fields that an invalid object has problems with.
fn fields(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let mut fields: Vec<String> = causes.map(|cause| cause["field"].to_string()).collect();
    fields.sort();
    fields.dedup();
    fields
}

/// Removes what differs in each run.
fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // The real server deletes collections in pages.
            if !fields.contains_key("remainingItemCount") {
                fields.remove("continue");
            }
            for (name, value) in fields.iter_mut() {
                match name.as_str() {
                    "uid"
                    | "resourceVersion"
                    | "creationTimestamp"
                    | "deletionTimestamp"
                    | "time"
                    | "continue"
                    | "lastTransitionTime"
                    | "controller-uid"
                    | "batch.kubernetes.io/controller-uid"
                        if value.is_string() =>
                    {
                        *value = json!("MASKED");
                    }
                    "nodePort" | "healthCheckNodePort" if value.is_number() => *value = json!("MASKED"),
                    "message" => mask_text(value),
                    // The servers allocate from other ranges.
                    "clusterIP" if is_allocated(value) => *value = json!("MASKED"),
                    "clusterIPs" if is_allocated(&value[0]) => *value = json!("MASKED"),
                    "causes" => sort_conflicts(value),
                    "name" | "job-name" | "batch.kubernetes.io/job-name"
                        if value.as_str().is_some_and(|text| text.starts_with("g-")) =>
                    {
                        *value = json!("g-MASKED");
                    }
                    _ => mask(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(mask),
        _ => {}
    }
}

/// Returns true for an address in the ranges of the servers. No request of the test has one.
fn is_allocated(address: &Value) -> bool {
    address.as_str().is_some_and(|text| text.starts_with("10.0.") || text.starts_with("10.96."))
}

/// Sorts the causes of a conflict, whose order is that of a Go map.
fn sort_conflicts(causes: &mut Value) {
    let Some(causes) = causes.as_array_mut() else { return };
    if causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict") {
        causes.sort_by_key(Value::to_string);
    }
}

/// Removes uids from messages.
fn mask_text(value: &mut Value) {
    let Some(text) = value.as_str() else { return };
    let is_uid = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let words = text.split(' ').map(|word| {
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_generated = core.starts_with("g-");
        if is_uid(core) || is_generated { word.replace(core, "MASKED") } else { word.to_string() }
    });
    // The server reports keys with and without the prefix.
    let text = words.collect::<Vec<_>>().join(" ").replace("Key: /registry/", "Key: /");
    *value = EMBEDDED.iter().fold(text, |text, field| mask_embedded(&text, field)).into();
}

/// Fields of objects within messages that differ in each run.
const EMBEDDED: [&str; 6] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "time",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
];

/// Removes the values of a field from an object that a message quotes.
fn mask_embedded(text: &str, field: &str) -> String {
    let start = format!(r#"\"{field}\":\""#);
    let mut parts = text.split(start.as_str());
    let mut masked = parts.next().unwrap_or_default().to_string();
    for part in parts {
        masked.push_str(&start);
        masked.push_str(part.find('\\').map_or("", |end| &part[end..]));
    }
    masked
}
