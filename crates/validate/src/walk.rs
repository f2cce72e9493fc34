//! The walk over an object by its schema: unknown fields, types, what is required, constraints, equal entries.

use rustc_hash::FxHashMap;

use super::defaults::filled;
use super::demands::{Demands, equal_entries};
use super::depth;
use super::options::ValidateOptions;
use super::rule::{RuleFault, Subject, ValidationRule};
use super::scalar;
use super::step::{WalkStep, key_value};
use super::violation::Violation;
use super::{lists, rules, unenforced};
use smp_merge::schema::{Cursor, ListType, TypeKind};
use smp_text::diagnostic::Severity;
use smp_text::path::{FieldPath, PathValue};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Value, suggestion};

/// For how many unknown fields of an object it is looked up where they belong.
const MOST_LOOKED_UP: usize = 20;

/// How a server reads the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoding {
    /// Into the structs of a kind that is part of Kubernetes; null is absent, and code validates.
    BuiltIn,
    /// By the structural schema of a definition, which validates.
    Structural,
    /// By the types of the schema alone, without constraints and rules. Null is absent.
    Types,
}

struct SchemaWalk<'n> {
    decoding: Decoding,
    options: &'n ValidateOptions,
    object: &'n Node,
    steps: Vec<WalkStep<'n>>,
    found: Vec<Violation>,
    /// Whether this is what a server drops from what is created: types count, values do not.
    in_status: bool,
}

/// What the schema has against an object.
pub(super) fn walk(
    node: &Node,
    cursor: Cursor<'_>,
    decoding: Decoding,
    options: &ValidateOptions,
) -> Vec<Violation> {
    let with_defaults;
    let node = match decoding {
        Decoding::BuiltIn | Decoding::Types => node,
        Decoding::Structural => {
            with_defaults = filled(node, cursor);
            &with_defaults
        }
    };
    let (steps, found) = (Vec::new(), Vec::new());
    let mut walk = SchemaWalk { decoding, options, object: node, steps, found, in_status: false };
    walk.value(node, cursor);
    walk.faults(rules::judge_object(node, decoding == Decoding::BuiltIn));
    walk.found
}

/// Returns what the types of a schema rule out, whoever reads the object: unknown fields, other types, missing fields,
/// and values that are in a set twice. Paths have the indices of entries.
#[must_use]
pub fn type_violations(node: &Node, cursor: Cursor<'_>) -> Vec<Violation> {
    let options = ValidateOptions::default();
    let (decoding, options) = (Decoding::Types, &options);
    let (steps, found) = (Vec::new(), Vec::new());
    let mut walk = SchemaWalk { decoding, options, object: node, steps, found, in_status: false };
    walk.value(node, cursor);
    walk.found
}

impl<'n> SchemaWalk<'n> {
    fn path(&self) -> FieldPath {
        let element = match self.decoding {
            Decoding::Types => WalkStep::position,
            Decoding::BuiltIn | Decoding::Structural => WalkStep::element,
        };
        self.steps.iter().map(element).collect()
    }

    fn tell(
        &mut self,
        rule: &'static ValidationRule,
        at: Span,
        message: impl Into<String>,
    ) -> &mut Violation {
        let index = self.found.len();
        self.found.push(Violation::error(rule, self.path(), at, message));
        &mut self.found[index]
    }

    fn value(&mut self, node: &'n Node, cursor: Cursor<'n>) {
        if !cursor.is_known() {
            return;
        }
        if node.is_null() {
            self.null(node, cursor);
            return;
        }
        match &node.value {
            Value::Map(map) if matches!(cursor.type_kind(), TypeKind::Object | TypeKind::Any) => {
                self.map(node, map, cursor);
            }
            Value::List(list) if matches!(cursor.type_kind(), TypeKind::Array | TypeKind::Any) => {
                self.list(list, cursor);
            }
            Value::Scalar(_) => {
                if !self.scalar(node, cursor) {
                    return;
                }
            }
            Value::Map(_) | Value::List(_) => {
                self.wrong_type(node, wanted(cursor));
                return;
            }
        }
        self.demands(node, cursor);
    }

    fn wrong_type(&mut self, node: &Node, wanted: &str) {
        let message = format!("this must be {wanted} and is {}", node.type_name());
        let help = help_for_type(node, wanted);
        self.tell(&rules::wrong_type::RULE, node.span(), message).help = help;
    }

    /// Null is absent for built-in kinds.
    fn null(&mut self, node: &Node, cursor: Cursor<'n>) {
        let typed = cursor.type_kind() != TypeKind::Any && !cursor.preserves_unknown_fields();
        if self.decoding != Decoding::Structural || self.in_status || !typed {
            return;
        }
        let text = cursor.constraints_text();
        if text.is_none_or(|text| !self.options.demands(text).own.nullable) {
            let message = format!("this must be {} and is null", wanted(cursor));
            self.tell(&rules::null_value::RULE, node.span(), message).help =
                Some("leave the field out, or give it a value".into());
        }
    }

    /// Whether the type fits.
    fn scalar(&mut self, node: &Node, cursor: Cursor<'n>) -> bool {
        let Some(value) = node.resolve() else { return false };
        let decoded = match self.decoding {
            Decoding::BuiltIn => {
                let text = cursor.constraints_text();
                let demands = text.map(|text| self.options.demands(text));
                scalar::decode(value, cursor, demands.as_ref().and_then(|d| d.own.format.as_deref()))
            }
            Decoding::Structural => scalar::structural(value, cursor.type_kind()),
            Decoding::Types => scalar::decode(value, cursor, None),
        };
        match decoded {
            Ok(()) => true,
            Err((rule, wanted)) if rule == &rules::wrong_type::RULE => {
                self.wrong_type(node, wanted);
                false
            }
            Err(_) if self.decoding == Decoding::Types => true,
            Err((rule, wanted)) => {
                self.tell(rule, node.span(), format!("this must be {wanted}"));
                false
            }
        }
    }

    fn demands(&mut self, node: &'n Node, cursor: Cursor<'n>) {
        let is_skipped = self.in_status || self.decoding == Decoding::Types;
        let Some(text) = cursor.constraints_text().filter(|_| !is_skipped) else { return };
        let demands = self.options.demands(text);
        let unmet = match self.decoding {
            Decoding::BuiltIn if node.as_str() == Some("") && self.is_empty_free() => Vec::new(),
            Decoding::Structural => demands.unmet(node),
            Decoding::BuiltIn | Decoding::Types => demands.enumeration(node).into_iter().collect(),
        };
        for (rule, message) in unmet {
            let possible = demands.own.enumeration.iter().filter_map(serde_json::Value::as_str);
            let possible: Vec<&str> = possible.filter(|_| rule == &rules::enumeration::RULE).collect();
            let help = node.as_str().and_then(|text| suggestion(text, &possible));
            self.tell(rule, node.span(), message).help = help;
        }
        if self.decoding == Decoding::Structural {
            self.unread(node, &demands);
            if !demands.own.rules.is_empty() {
                self.expressions(node, cursor, &demands);
            }
        }
    }

    /// Patterns that cannot be compiled, each once in an object.
    fn unread(&mut self, node: &Node, demands: &Demands) {
        for (pattern, why) in &demands.unread {
            let message = format!("the pattern `{pattern}` of the definition was not checked: {why}");
            if self.found.iter().all(|violation| violation.message != message) {
                let violation = self.tell(&rules::pattern::RULE, node.span(), message);
                violation.severity = Severity::Note;
                violation.help = Some("check the value by hand, or ask a server for a dry run".into());
            }
        }
    }

    /// Whether an empty text is the same as none here. Entries of lists are always asked.
    fn is_empty_free(&self) -> bool {
        match self.steps.last() {
            Some(WalkStep::Field { name, of }) => unenforced::is_empty_free(*of, name),
            _ => false,
        }
    }

    /// The rules of a definition that speak of this value.
    #[cfg(feature = "cel")]
    fn expressions(&mut self, node: &'n Node, cursor: Cursor<'n>, demands: &Demands) {
        use super::cel::{CelOutcome, unkept};
        for unkept in unkept(&demands.rules, node, cursor) {
            let expression = &unkept.rule.rule;
            let said =
                || unkept.message.clone().unwrap_or_else(|| format!("the rule `{expression}` is not kept"));
            let (message, severity) = match unkept.outcome {
                CelOutcome::Kept => continue,
                CelOutcome::Broken => (said(), Severity::Error),
                outcome @ (CelOutcome::Missing { .. } | CelOutcome::Failed(_)) => {
                    let why = outcome.why();
                    (format!("the rule `{expression}` cannot be evaluated: {why}"), Severity::Error)
                }
                CelOutcome::Unknown(why) => {
                    (format!("the rule `{expression}` was not checked: {why}"), Severity::Warning)
                }
            };
            self.tell(&rules::cel::RULE, node.span(), message).severity = severity;
        }
    }

    /// Without CEL nothing is known of them.
    #[cfg(not(feature = "cel"))]
    fn expressions(&mut self, node: &'n Node, _: Cursor<'n>, demands: &Demands) {
        let count = demands.own.rules.len();
        let message = format!("{count} rules of the definition were not checked: this program has no CEL");
        self.tell(&rules::cel::RULE, node.span(), message).severity = Severity::Warning;
    }

    fn map(&mut self, node: &'n Node, map: &'n Map, cursor: Cursor<'n>) {
        let keeps_all = self.keeps_all(cursor);
        for entry in map.entries() {
            let name = entry.key.text.as_str();
            let declared = cursor.declared(name);
            let below = declared.unwrap_or_else(|| cursor.additional());
            if declared.is_none() && !below.is_known() && !keeps_all {
                self.unknown(entry, cursor);
                continue;
            }
            let status = self.steps.is_empty() && name == "status" && self.decoding != Decoding::Types;
            self.in_status |= status;
            self.steps.push(WalkStep::Field { name, of: cursor });
            self.field(&entry.value, below);
            self.steps.pop();
            self.in_status &= !status;
        }
        if !self.in_status {
            self.required(node, map, cursor);
            self.rules(node, map, cursor);
        }
    }

    /// The metadata of a custom resource are those of any object. Its definition may say more of names.
    fn field(&mut self, value: &'n Node, cursor: Cursor<'n>) {
        let outside = self.decoding;
        let is_metadata = || cursor.type_name().is_some_and(|name| name.ends_with(".meta.v1.ObjectMeta"));
        if self.decoding == Decoding::Structural && is_metadata() {
            self.names(value, cursor);
            self.decoding = Decoding::BuiltIn;
        }
        self.value(value, cursor);
        self.decoding = outside;
    }

    fn names(&mut self, metadata: &'n Node, cursor: Cursor<'n>) {
        let demands = cursor.constraints_text().map(|text| self.options.demands(text));
        for (name, demands) in demands.iter().flat_map(|demands| &demands.properties) {
            let Some(value) = metadata.get(name) else { continue };
            for (rule, message) in demands.unmet(value) {
                let path = self.path().field(name.clone());
                self.found.push(Violation::error(rule, path, value.span(), message));
            }
        }
    }

    /// Whether a map may have fields that are not declared.
    fn keeps_all(&self, cursor: Cursor<'n>) -> bool {
        let is_open = || cursor.fields().next().is_none() && !cursor.additional().is_known();
        let free_fields = || {
            let text = cursor.constraints_text();
            text.is_some_and(|text| self.options.demands(text).own.free_fields)
        };
        match self.decoding {
            _ if cursor.preserves_unknown_fields() => true,
            Decoding::BuiltIn => is_open(),
            Decoding::Types => is_open() || cursor.is_embedded_resource(),
            Decoding::Structural => free_fields(),
        }
    }

    fn unknown(&mut self, entry: &Entry, cursor: Cursor<'n>) {
        let names: Vec<&str> = cursor.fields().map(|(name, _)| name).collect();
        let name = entry.key.text.as_str();
        let all = || {
            (!names.is_empty() && names.len() <= 12).then(|| format!("possible here: {}", names.join(", ")))
        };
        let elsewhere = || self.right_depth(name, cursor);
        let help = suggestion(name, &names).or_else(elsewhere).or_else(all);
        let path = self.path().field(name);
        let message = format!("there is no field `{name}` here");
        let is_made = self.decoding == Decoding::Types && entry.key.meta.span.is_none();
        // A key that an operation made has no location; its value has.
        let at = if is_made { entry.value.span().at_start() } else { entry.key.meta.span };
        let violation = Violation::error(&rules::unknown_field::RULE, path, at, message);
        self.found.push(violation.help(help));
    }

    /// Says where a field belongs that stands at the wrong depth.
    fn right_depth(&self, name: &str, cursor: Cursor<'n>) -> Option<String> {
        if self.found.len() >= MOST_LOOKED_UP {
            return None;
        }
        let path = |depth: usize| match depth {
            0 => String::new(),
            _ => self.steps[..depth].iter().map(WalkStep::element).collect::<FieldPath>().to_string(),
        };
        let mut around = vec![(path(self.steps.len()), cursor)];
        around.extend(self.steps.iter().enumerate().rev().filter_map(|(depth, step)| match step {
            WalkStep::Field { of, .. } => Some((path(depth), *of)),
            WalkStep::Entry { .. } => None,
        }));
        let path = depth::right_path(&around, name)?;
        let place =
            if path.is_empty() { "at the top of the object".into() } else { format!("under `{path}`") };
        Some(format!("`{name}` belongs {place}"))
    }

    fn required(&mut self, node: &Node, map: &Map, cursor: Cursor<'n>) {
        for name in cursor.required_fields() {
            let missing = match map.get(name) {
                None => true,
                Some(value) => self.decoding != Decoding::Structural && value.is_null(),
            };
            let counts = match self.decoding {
                Decoding::Structural => true,
                Decoding::BuiltIn => !unenforced::is_free(cursor, name),
                Decoding::Types => cursor.field(name).default().is_none(),
            };
            if missing && counts {
                let path = self.path().field(name);
                let message = format!("the required field `{name}` is missing");
                let violation = Violation::error(&rules::missing_required::RULE, path, node.span(), message);
                self.found.push(violation);
            }
        }
    }

    /// What servers demand beside the schema, of built-in types.
    fn rules(&mut self, node: &'n Node, map: &'n Map, cursor: Cursor<'n>) {
        let Some(name) = cursor.type_name().filter(|_| self.decoding == Decoding::BuiltIn) else { return };
        let name = name.rsplit('.').next().unwrap_or_default();
        let is_whole = self.steps.is_empty();
        let faults = rules::judge(name, Subject { node, map, object: self.object, is_whole });
        let before = self.found.len();
        self.faults(faults);
        // A CronJob is taken, whatever the metadata of its jobs are; the jobs are not. Nobody looks at selectors of metrics.
        if let [.., WalkStep::Field { name: "jobTemplate", .. }, WalkStep::Field { name: "metadata", .. }]
        | [.., WalkStep::Field { name: "metric", .. }, WalkStep::Field { name: "selector", .. }] =
            self.steps[..]
        {
            self.found[before..].iter_mut().for_each(|violation| violation.severity = Severity::Warning);
        }
    }

    fn faults(&mut self, faults: Vec<RuleFault>) {
        for fault in faults {
            let steps = self.path();
            let path = steps.elements().iter().chain(fault.path.elements()).cloned().collect();
            self.found.push(Violation::error(fault.rule, path, fault.at, fault.message));
        }
    }

    fn list(&mut self, list: &'n [Node], cursor: Cursor<'n>) {
        let element = cursor.element();
        for (index, entry) in list.iter().enumerate() {
            self.steps.push(WalkStep::Entry { index, entry, keys: cursor });
            self.value(entry, element);
            self.steps.pop();
        }
        let is_typed = self.decoding == Decoding::Types;
        match cursor.list_type() {
            _ if self.in_status => {}
            Some(ListType::Map) if !is_typed => self.equal_keys(list, cursor),
            Some(ListType::Set) => {
                for index in equal_entries(list).take(if is_typed { usize::MAX } else { 1 }) {
                    self.equal_entries(list, index, cursor, "this is in the set twice".into());
                }
            }
            _ => {}
        }
    }

    /// Two entries with the same keys.
    fn equal_keys(&mut self, list: &'n [Node], cursor: Cursor<'n>) {
        let element = cursor.element();
        let mut seen: FxHashMap<Vec<PathValue>, usize> = FxHashMap::default();
        for (index, entry) in list.iter().enumerate() {
            let Some(keys) = cursor
                .list_map_keys()
                .map(|name| key_value(entry, element, name))
                .collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            if seen.insert(keys, index).is_some() {
                let names: Vec<String> = cursor.list_map_keys().map(|name| format!("`{name}`")).collect();
                let message = format!("an entry before this one has the same {}", names.join(" and "));
                self.equal_entries(list, index, cursor, message);
                return;
            }
        }
    }

    fn equal_entries(&mut self, list: &'n [Node], index: usize, cursor: Cursor<'n>, message: String) {
        let refused = self.decoding == Decoding::Structural
            || lists::refuses_equal_keys(self.object, self.last_field(), (cursor, &list[index]));
        self.steps.push(WalkStep::Entry { index, entry: &list[index], keys: cursor });
        let violation = self.tell(&rules::duplicate_key::RULE, list[index].span(), message);
        if !refused {
            violation.severity = Severity::Warning;
            violation.help = Some("a server takes it, but not by server-side apply".into());
        }
        self.steps.pop();
    }

    fn last_field(&self) -> &'n str {
        let last = self.steps.iter().rev().find_map(|step| match step {
            WalkStep::Field { name, .. } => Some(*name),
            WalkStep::Entry { .. } => None,
        });
        last.unwrap_or_default()
    }
}

fn wanted(cursor: Cursor<'_>) -> &'static str {
    match cursor.type_kind() {
        TypeKind::Object => "a map",
        TypeKind::Array => "a list",
        TypeKind::String => "a string",
        TypeKind::Integer => "an integer",
        TypeKind::Number => "a number",
        TypeKind::Boolean => "`true` or `false`",
        TypeKind::IntOrString => "an integer or a string",
        TypeKind::Any => "another value",
    }
}

fn help_for_type(node: &Node, wanted: &str) -> Option<String> {
    let is_scalar = matches!(node.value, Value::Scalar(_));
    match wanted {
        "a string" if is_scalar => Some("put it in quotes".into()),
        "an integer" | "a number" | "`true` or `false`" if node.as_str().is_some() => {
            Some("write it without quotes".into())
        }
        "a list" => Some("begin the entries with a dash".into()),
        _ => None,
    }
}
