//! Label and field selectors of requests.

use serde_json::Value;
use smp_validate::LabelSelector;

use crate::request::{Request, Target};
use crate::resources::Resource;
use crate::status::{Failure, Result};

/// Supported field selectors of each kind besides `metadata.name` and `metadata.namespace`.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "Pod",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
    ),
    ("Node", &["spec.unschedulable"]),
    ("Namespace", &["status.phase"]),
    ("Secret", &["type"]),
    ("Service", &["spec.clusterIP", "spec.type"]),
    ("ReplicationController", &["status.replicas"]),
    ("Job", &["status.successful"]),
    ("CertificateSigningRequest", &["spec.signerName"]),
    (
        "Event",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
];

/// A requirement such as `metadata.name=web`.
#[derive(Debug, Clone)]
struct FieldRequirement {
    field: String,
    value: String,
    is_equal: bool,
}

/// The selectors of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selectors {
    labels: LabelSelector,
    fields: Vec<FieldRequirement>,
    name: String,
}

impl Selectors {
    pub(crate) fn of(request: &Request, target: &Target) -> Result<Self> {
        let labels = LabelSelector::parse(request.parameter("labelSelector")).map_err(|error| {
            Failure::bad_request(format!("unable to parse requirement: {}", error.message()))
        })?;
        let text = request.parameter("fieldSelector");
        let fields = parse_fields(text, &target.resource)?;
        Ok(Self { labels, fields, name: target.name.clone() })
    }

    pub(crate) fn is_any(&self) -> bool {
        self.labels.is_any() && self.fields.is_empty() && self.name.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        (self.name.is_empty() || object["metadata"]["name"] == *self.name)
            && (self.labels.is_any() || self.labels.matches(|key| labels.get(key)?.as_str()))
            && (self.fields.is_empty() || self.matches_fields(object))
    }

    fn matches_fields(&self, object: &Value) -> bool {
        // Scalars that are not strings are compared as text.
        let texts: Vec<(&str, String)> = all_fields(object).collect();
        self.fields.iter().all(|requirement| {
            let found = texts.iter().find(|(name, _)| *name == requirement.field);
            (found.map_or("", |(_, text)| text) == requirement.value) == requirement.is_equal
        })
    }
}

fn all_fields(object: &Value) -> impl Iterator<Item = (&'static str, String)> + use<'_> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let of_kind =
        FIELDS.iter().filter(move |(known, _)| *known == kind).flat_map(|(_, fields)| fields.iter());
    let names = ["metadata.name", "metadata.namespace"].into_iter().chain(of_kind.copied());
    names.map(move |name| {
        let pointer = match name {
            "status.successful" => "/status/succeeded".to_string(),
            "source" => "/source/component".to_string(),
            name => format!("/{}", name.replace('.', "/")),
        };
        let text = match object.pointer(&pointer) {
            None | Some(Value::Null) => default_text(name).to_string(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        (name, text)
    })
}

/// Returns the value of an absent field in comparisons.
fn default_text(name: &str) -> &'static str {
    match name {
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.replicas" | "status.successful" => "0",
        _ => "",
    }
}

fn parse_fields(text: &str, resource: &Resource) -> Result<Vec<FieldRequirement>> {
    let parts = split_terms(text).into_iter().filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let found =
                ["!=", "==", "="].into_iter().find_map(|sign| Some((part.split_once(sign)?, sign != "!=")));
            let Some(((field, value), is_equal)) = found else {
                let message = format!("invalid selector: '{text}'; can't understand '{part}'");
                return Err(Failure::bad_request(message));
            };
            let value = unescaped(value)?;
            if field.is_empty() && value.is_empty() {
                return Ok(None);
            }
            check_field(field, resource)?;
            Ok(Some(FieldRequirement { field: field.into(), value, is_equal }))
        })
        .filter_map(Result::transpose)
        .collect()
}

/// Splits a selector at its commas, except those behind a backslash.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut is_escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte == b',' && !is_escaped {
            terms.push(text.get(start..at).unwrap_or_default());
            start = at + 1;
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    terms.push(text.get(start..).unwrap_or_default());
    terms
}

/// Returns a value without the backslashes before commas, equal signs and backslashes.
fn unescaped(value: &str) -> Result<String> {
    let invalid = |why: String| Failure::bad_request(format!("invalid field selector: {why}"));
    let mut text = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                other => {
                    let shown: String = other.into_iter().collect();
                    return Err(invalid(format!("invalid escape sequence: \\{shown}")));
                }
            },
            '=' => return Err(invalid(format!("unescaped character in value: {}", u32::from('=')))),
            other => text.push(other),
        }
    }
    Ok(text)
}

fn check_field(name: &str, resource: &Resource) -> Result<()> {
    let own = FIELDS.iter().find(|(kind, _)| *kind == resource.gvk.kind && !resource.is_custom);
    if matches!(name, "metadata.name" | "metadata.namespace")
        || own.is_some_and(|(_, fields)| fields.contains(&name))
    {
        return Ok(());
    }
    Err(Failure::bad_request(if own.is_some() || resource.is_custom {
        format!("field label not supported: {name}")
    } else {
        format!("{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    }))
}
