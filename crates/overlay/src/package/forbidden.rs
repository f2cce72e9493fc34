//! What a schema forbids: values of another type, fields that it does not have or that are missing, sets that hold a
//! value twice.

use rustc_hash::FxHashSet;

use smp_merge::merge::identity::Identity;
use smp_merge::schema::{Cursor, ListType, TypeKind};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, Resolved, Value, suggestion};

/// A warning for each thing in a changed object that the schema forbids, and that was not there before.
pub(super) fn newly_forbidden(before: &Node, after: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let now = forbidden(after, kind);
    if now.is_empty() {
        return Vec::new();
    }
    let old = forbidden(before, kind);
    let texts: FxHashSet<String> = old.iter().map(ToString::to_string).collect();
    // A value whose index is another one now still stands where it stood.
    let places: FxHashSet<(Span, &str)> = old.iter().filter_map(place).collect();
    let is_new = |warning: &Diagnostic| {
        !texts.contains(&warning.to_string()) && place(warning).is_none_or(|place| !places.contains(&place))
    };
    now.into_iter().filter(is_new).collect()
}

/// A warning for each value of an object that is of another type than its schema wants.
pub fn wrong_types(object: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let is_of_type = |warning: &Diagnostic| warning.code() == Code::WrongType;
    forbidden(object, kind).into_iter().filter(is_of_type).collect()
}

/// Where a value stands in a text, if it came from one, and what is said of it there.
fn place(warning: &Diagnostic) -> Option<(Span, &str)> {
    let span = warning.labels().first()?.span;
    (span != Span::default()).then(|| (span, warning.message()))
}

fn forbidden(object: &Node, kind: Cursor<'_>) -> Vec<Diagnostic> {
    let mut walk = TypeWalk { path: FieldPath::root(), warnings: Vec::new() };
    walk.value(object, kind);
    walk.warnings
}

struct TypeWalk {
    path: FieldPath,
    warnings: Vec<Diagnostic>,
}

impl TypeWalk {
    fn value(&mut self, node: &Node, cursor: Cursor<'_>) {
        // What is null is as good as not there.
        if node.is_null() || !cursor.is_known() {
            return;
        }
        match &node.value {
            Value::Map(map) if matches!(cursor.type_kind(), TypeKind::Object | TypeKind::Any) => {
                self.map(map, cursor);
                self.missing(node, map, cursor);
            }
            Value::List(list) if matches!(cursor.type_kind(), TypeKind::Array | TypeKind::Any) => {
                if cursor.list_type() == Some(ListType::Set) {
                    self.doubles(list);
                }
                for (i, entry) in list.iter().enumerate() {
                    self.at(PathElement::Index(i), entry, cursor.element());
                }
            }
            Value::Scalar(_) if is_too_large(node, cursor) => {
                let message = "this number is too large for the whole number that the schema wants here";
                let warning = Diagnostic::warning(Code::WrongType, message).at(node.span());
                self.warn(warning.help("the API server refuses it"));
            }
            Value::Scalar(_) if node.resolve().is_some_and(|value| is_of(&value, cursor.type_kind())) => {}
            _ => self.wrong_type(node, cursor),
        }
    }

    fn at(&mut self, element: PathElement, node: &Node, cursor: Cursor<'_>) {
        self.path.push(element);
        self.value(node, cursor);
        self.path.pop();
    }

    fn map(&mut self, map: &Map, cursor: Cursor<'_>) {
        let is_open = cursor.additional().is_known()
            || cursor.preserves_unknown_fields()
            || cursor.is_embedded_resource()
            || cursor.fields().next().is_none();
        for entry in map.entries() {
            let name = &entry.key.text;
            if is_open || cursor.has_field(name) {
                self.at(PathElement::Field(name.clone()), &entry.value, cursor.field(name));
                continue;
            }
            let known: Vec<&str> = cursor.fields().map(|(name, _)| name).collect();
            let near = suggestion(name, &known);
            let help = near.unwrap_or_else(|| "the API server refuses it, or drops it".into());
            let warning =
                Diagnostic::warning(Code::UnknownField, format!("the schema has no field `{name}` here"));
            self.path.push(PathElement::Field(name.clone()));
            // A name that an operation made stands nowhere; its value does.
            let name_at = Some(entry.key.meta.span).filter(|span| !span.is_none());
            self.warn(warning.at(name_at.unwrap_or_else(|| entry.value.span().at_start())).help(help));
            self.path.pop();
        }
    }

    /// The fields that must be there and are not; of those with a default the server makes up for it.
    fn missing(&mut self, node: &Node, map: &Map, cursor: Cursor<'_>) {
        for (name, field) in cursor.fields().filter(|(name, _)| cursor.is_required(name)) {
            let is_there = map.get(name).is_some_and(|value| !value.is_null());
            if is_there || field.default().is_some() {
                continue;
            }
            let message = format!("the schema requires `{name}` here");
            let warning = Diagnostic::warning(Code::MissingField, message).at(node.span().at_start());
            self.path.push(PathElement::Field(name.into()));
            self.warn(warning.help("the API server refuses an object without it"));
            self.path.pop();
        }
    }

    /// The entries of a set that stand in it before.
    fn doubles(&mut self, list: &[Node]) {
        let mut seen = FxHashSet::default();
        for (i, entry) in list.iter().enumerate() {
            let Ok(identity) = Identity::of_value(entry) else { continue };
            if seen.insert(identity) {
                continue;
            }
            let message = "this list is a set, and holds this value twice";
            self.path.push(PathElement::Index(i));
            let warning = Diagnostic::warning(Code::InvalidValue, message).at(entry.span());
            self.warn(warning.help("the API server refuses it in custom resources, and in what is applied"));
            self.path.pop();
        }
    }

    fn wrong_type(&mut self, node: &Node, cursor: Cursor<'_>) {
        let message =
            format!("the schema wants {} here, and this is {}", wanted(cursor.type_kind()), node.type_name());
        let is_unquoted = cursor.type_kind() == TypeKind::String && node.scalar_text().is_some();
        let help = if is_unquoted { "put it in quotes" } else { "the API server refuses it" };
        self.warn(Diagnostic::warning(Code::WrongType, message).at(node.span()).help(help));
    }

    fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning.field(self.path.clone()));
    }
}

/// Whether a whole number is none of 64 bits, the largest that there are.
fn is_too_large(node: &Node, cursor: Cursor<'_>) -> bool {
    let is_large = match node.resolve() {
        Some(Resolved::UInt(number)) => i64::try_from(number).is_err(),
        Some(Resolved::Float(float)) => float.fract() == 0.0 && float.abs() >= TWO_TO_63,
        _ => false,
    };
    is_large && cursor.type_kind() == TypeKind::Integer
}

/// The first number that is too large.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

fn wanted(kind: TypeKind) -> &'static str {
    match kind {
        TypeKind::Any => "something",
        TypeKind::Object => "a map",
        TypeKind::Array => "a list",
        TypeKind::String => "a string",
        TypeKind::Integer => "a whole number",
        TypeKind::Number => "a number",
        TypeKind::Boolean => "true or false",
        TypeKind::IntOrString => "a number or a string",
    }
}

fn is_of(value: &Resolved<'_>, kind: TypeKind) -> bool {
    let is_whole = |float: f64| float.fract() == 0.0;
    match (value, kind) {
        (Resolved::Null, _)
        | (_, TypeKind::Any)
        | (Resolved::Str(_) | Resolved::Timestamp(_), TypeKind::String | TypeKind::IntOrString)
        | (
            Resolved::Int(_) | Resolved::UInt(_),
            TypeKind::Integer | TypeKind::Number | TypeKind::IntOrString,
        )
        | (Resolved::Float(_), TypeKind::Number | TypeKind::IntOrString)
        | (Resolved::Bool(_), TypeKind::Boolean) => true,
        (Resolved::Float(float), TypeKind::Integer) => is_whole(*float),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::{Gvk, Schema};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        parse_one(&sources, id, ParseOptions::kubectl()).expect("the test's YAML")
    }

    #[test]
    fn what_the_schema_forbids_is_found_where_it_is_new() {
        let schema = Schema::embedded();
        let kind = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
        let before = "spec: {replicas: two, template: {spec: {containers: []}}}";
        let table: [(&str, &[&str]); 10] = [
            ("spec: {replicas: two, paused: true}", &[]),
            ("spec: {replicas: 3.0, template: null}", &[]),
            ("spec: {replicas: three}", &[]),
            (
                "spec: {paused: 'yes'}",
                &["spec.paused: the schema wants true or false here, and this is a string"],
            ),
            ("spec: {paused: yes}", &[]),
            ("spec: {replcas: 3}", &["spec.replcas: the schema has no field `replcas` here"]),
            ("spec: {template: []}", &["spec.template: the schema wants a map here, and this is a list"]),
            (
                "metadata: {annotations: {a: 1}, labels: {b: x}}",
                &["metadata.annotations.a: the schema wants a string here, and this is an integer"],
            ),
            (
                "spec: {template: {spec: {containers: [{env: [{value: 5}]}]}}}",
                &[
                    "spec.template.spec.containers[0].env[0].value: the schema wants a string here, and this is an \
                     integer",
                ],
            ),
            (
                "spec: {template: {spec: {containers: [{resources: {limits: {cpu: 1, memory: 1.5Gi}}, livenessProbe: \
                 {httpGet: {port: http}}}], volumes: [{emptyDir: {sizeLimit: 5}}]}}}",
                &[],
            ),
        ];
        for (after, want) in table {
            let warnings = newly_forbidden(&node(before), &node(after), kind);
            // What these rows leave out is missing in all of them.
            let values = warnings.iter().filter(|warning| warning.code() != Code::MissingField);
            let got: Vec<_> = values.map(ToString::to_string).collect();
            assert_eq!(got, want, "{after}");
        }
    }

    #[test]
    fn what_is_missing_is_told_once_it_is() {
        let schema = Schema::embedded();
        let kind = schema.kind(&Gvk::from_manifest("apps/v1", "Deployment")).expect("built in");
        let before = "spec: {selector: {}, template: {spec: {containers: [{image: a}]}}}";
        let table = [
            ("spec: {selector: null, template: {spec: {containers: [{image: b}]}}}", vec!["spec.selector"]),
            (
                "spec: {selector: {}, template: {spec: {containers: [{image: b, env: [{value: x}]}]}}}",
                vec!["spec.template.spec.containers[0].env[0].name"],
            ),
            ("{}", vec!["spec"]),
        ];
        for (after, want) in table {
            let warnings = newly_forbidden(&node(before), &node(after), kind);
            let got: Vec<_> = warnings.iter().filter_map(Diagnostic::field_path).collect();
            assert_eq!(got, want, "{after}");
        }
    }
}
