//! Validation rules, the values that they check, and the violations that they report.

use std::fmt;

use smp_text::diagnostic::{Code, RuleText, Severity};
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Resolved};

/// A Pod with a container that has these fields.
macro_rules! container {
    ($fields:literal) => {
        concat!(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    ",
            $fields,
            "\n"
        )
    };
}

/// A Pod with these fields.
macro_rules! pod {
    ($fields:literal) => {
        concat!(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: nginx}]\n  ",
            $fields,
            "\n"
        )
    };
}

/// A CustomResourceDefinition of kind `Widget` that ends with these fields of its `spec`.
macro_rules! definition {
    ($fields:literal) => {
        concat!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: \
             widgets.example.com}\nspec:\n  group: example.com\n  names: {kind: Widget, plural: widgets}\n  scope: \
             Namespaced\n",
            $fields
        )
    };
}

pub(crate) use {container, definition, pod};

/// A rule of the API server for the values of objects. Two rules are equal if their names are equal.
///
/// The fields also provide the documentation and the tests of the rule.
pub struct ValidationRule {
    /// The name, the violation in one sentence, and how to fix it.
    pub text: RuleText,
    /// The code of its findings, if it differs from the rule's name because other messages share it.
    pub shared_code: Option<Code>,
    /// The consequences of a violation, and what the rule checks: a paragraph of Markdown.
    pub why: &'static str,
    /// A case in which it is reasonable to suppress a finding of this rule: Markdown.
    pub suppress: Option<&'static str>,
    /// The page of the Kubernetes documentation.
    pub documentation: &'static str,
    /// A manifest that violates the rule.
    pub example: &'static str,
    /// A part of that manifest and its replacement, which fixes the violation.
    pub fix: (&'static str, &'static str),
    /// The schema of `spec` if the example is a custom resource of kind `Widget`; empty otherwise.
    pub custom_schema: &'static str,
    /// The severity of most findings.
    pub severity: Severity,
    /// The change that causes a finding.
    pub cause: ViolationCause,
    /// True if a base may violate the rule until an overlay adds what is missing.
    pub may_be_partial: bool,
    /// The checks besides the schema. Each row begins with types, separated by `;` and given as the last component of
    /// their names. The fields of a type follow its name after spaces.
    pub(super) checks: &'static [(&'static str, Check)],
}

/// The change that causes a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViolationCause {
    /// The change that wrote the value.
    Value,
    /// A change that removed the value.
    Removal,
    /// A change to the labels of the Pod template.
    PodLabels,
    /// A change that removed or renamed a volume of the Pod.
    PodVolume,
}

impl ValidationRule {
    /// The default values of the fields that few rules set.
    pub(super) const DEFAULT: Self = Self {
        text: RuleText { name: "", meaning: "", remedy: "" },
        shared_code: None,
        why: "",
        suppress: None,
        documentation: "",
        example: "",
        fix: ("", ""),
        custom_schema: "",
        severity: Severity::Error,
        cause: ViolationCause::Value,
        may_be_partial: false,
        checks: &[],
    };

    /// Returns the rule's code for programs and suppression comments, such as `unknown-field`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.text.name
    }

    /// Returns the diagnostic code of the rule's findings.
    #[must_use]
    pub fn diagnostic_code(&'static self) -> Code {
        self.shared_code.unwrap_or(Code::Rule(&self.text))
    }

    /// Returns the example with the fix.
    #[must_use]
    pub fn fixed_example(&self) -> String {
        self.example.replacen(self.fix.0, self.fix.1, 1)
    }

    /// Returns the CRD for the example, if the example is a custom resource.
    #[must_use]
    pub fn definition(&self) -> Option<String> {
        let definition = |spec: &str| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: \
                 widgets.example.com}}\nspec:\n  group: example.com\n  names: {{kind: Widget, plural: widgets}}\n  \
                 scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      \
                 openAPIV3Schema:\n        type: object\n        properties:\n          spec: {spec}\n"
            )
        };
        Some(self.custom_schema).filter(|spec| !spec.is_empty()).map(definition)
    }
}

impl fmt::Debug for ValidationRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl PartialEq for ValidationRule {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl Eq for ValidationRule {}

/// A predicate on strings, and the description of what it accepts.
pub(super) type StringFormat = (fn(&str) -> bool, &'static str);

/// A check of the values of a type, or of some of its fields.
#[derive(Clone, Copy)]
pub(super) enum Check {
    /// A function over the values of the type.
    Type(fn(Subject<'_>, &mut RuleViolations)),
    /// A function over the values of the type, and the name of the field.
    Field(fn(Subject<'_>, &str, &mut RuleViolations)),
    /// A string in this format. An empty string is treated as absent.
    OptionalString(StringFormat),
    /// A string in this format.
    AnyString(StringFormat),
    /// A string in this format. An empty string violates `missing-required`.
    RequiredString(StringFormat),
    /// A list of strings in this format.
    StringList(StringFormat),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// An integer within limits.
    IntRange(i64, i64),
    /// A string that is not empty.
    NonEmptyString,
    /// A list or map that is not empty.
    NonEmpty,
    /// A field that is required although the schema does not say so.
    Required,
}

/// A value that rules check.
#[derive(Clone, Copy)]
pub(super) struct Subject<'n> {
    pub(super) node: &'n Node,
    pub(super) map: &'n Map,
    /// The object that contains the value.
    pub(super) object: &'n Node,
    /// True if the value is the object itself.
    pub(super) is_object: bool,
}

impl<'n> Subject<'n> {
    /// Returns the value of a field. Null is treated as absent.
    pub(super) fn get(self, field: &str) -> Option<&'n Node> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, field: &str) -> Option<&'n str> {
        self.get(field)?.as_str()
    }

    pub(super) fn text_or_empty(self, field: &str) -> &'n str {
        self.text(field).unwrap_or_default()
    }

    pub(super) fn list(self, field: &str) -> &'n [Node] {
        list_of(self.node, field)
    }

    /// Returns the entries of a map in a field, including the locations of the keys.
    pub(super) fn entries(self, field: &str) -> &'n [Entry] {
        self.get(field).and_then(Node::as_map).map(Map::entries).unwrap_or_default()
    }

    /// Returns the keys and values of a map in a field.
    pub(super) fn map(self, field: &str) -> impl Iterator<Item = (&'n str, &'n Node)> + use<'n> {
        self.entries(field).iter().map(|entry| (entry.key.text.as_str(), &entry.value))
    }

    pub(super) fn int(self, field: &str) -> Option<i64> {
        match self.get(field)?.resolve()? {
            Resolved::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn is_true(self, field: &str) -> bool {
        is_true(self.get(field))
    }

    /// Returns the number of fields that are present.
    pub(super) fn count(self, fields: &[&str]) -> usize {
        fields.iter().filter(|field| self.get(field).is_some()).count()
    }

    /// Returns the kind of the object.
    pub(super) fn kind(self) -> &'n str {
        text_of(self.object, "kind")
    }

    /// Returns the containers of a Pod, each with its list and its index.
    pub(super) fn containers(self) -> impl Iterator<Item = (&'static str, usize, &'n Node)> {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        lists
            .into_iter()
            .flat_map(move |list| self.list(list).iter().enumerate().map(move |(i, c)| (list, i, c)))
    }

    /// Returns the location of a field, or of the value if the field is absent.
    pub(super) fn location(self, field: &str) -> Span {
        self.get(field).unwrap_or(self.node).span()
    }
}

/// Returns the string in a field, or an empty one.
pub(super) fn text_of<'n>(node: &'n Node, field: &str) -> &'n str {
    node.get(field).and_then(Node::as_str).unwrap_or_default()
}

/// Returns the list in a field, or an empty one.
pub(super) fn list_of<'n>(node: &'n Node, field: &str) -> &'n [Node] {
    node.get(field).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn is_true(node: Option<&Node>) -> bool {
    matches!(node.and_then(Node::resolve), Some(Resolved::Bool(true)))
}

/// Returns true if a path is relative and does not leave its directory.
pub(super) fn is_relative_path(path: &str) -> bool {
    !path.starts_with('/') && !path.split('/').any(|part| part == "..")
}

/// Returns words in backticks, separated by commas.
pub(super) fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// A violation, with its path relative to the checked value.
pub(super) struct RuleViolation {
    pub(super) rule: &'static ValidationRule,
    pub(super) path: FieldPath,
    pub(super) at: Span,
    pub(super) message: String,
    pub(super) severity: Severity,
}

/// Collects the violations of a rule.
pub(super) struct RuleViolations {
    /// The rule whose checks run.
    pub(super) rule: &'static ValidationRule,
    pub(super) found: Vec<RuleViolation>,
}

impl RuleViolations {
    /// Reports a violation of a field, which may be absent.
    pub(super) fn report_field(&mut self, subject: Subject<'_>, field: &str, message: impl Into<String>) {
        self.report_at(&[PathStep::Field(field)], subject.location(field), message);
    }

    /// Reports a violation of the value itself.
    pub(super) fn report_value(&mut self, subject: Subject<'_>, message: impl Into<String>) {
        self.report_at(&[], subject.node.span(), message);
    }

    /// Reports a violation at a path below the value. The location is that of the last existing step of the path.
    pub(super) fn report_path(
        &mut self,
        subject: Subject<'_>,
        path: &[PathStep<'_>],
        message: impl Into<String>,
    ) {
        let below = |node: &mut &'_ Node, step: &PathStep<'_>| {
            *node = match step {
                PathStep::Field(name) => node.get(name),
                PathStep::Entry(index) => node.as_list()?.get(*index),
            }?;
            Some(node.span())
        };
        let at = path.iter().scan(subject.node, below).last();
        self.report_at(path, at.unwrap_or(subject.node.span()), message);
    }

    /// Reports a violation at a path below the value, with the given location.
    pub(super) fn report_at(&mut self, path: &[PathStep<'_>], at: Span, message: impl Into<String>) {
        self.report_below(path.iter().copied(), std::iter::empty(), at, message.into());
    }

    /// Reports a violation at a path below the value that ends with elements of another path.
    pub(super) fn report_below<'p>(
        &mut self,
        path: impl Iterator<Item = PathStep<'p>>,
        below: impl Iterator<Item = PathElement>,
        at: Span,
        message: String,
    ) {
        let path = path.map(PathStep::element).chain(below).collect();
        self.found.push(RuleViolation { rule: self.rule, path, at, message, severity: Severity::Error });
    }

    /// Turns the last violation into a warning, since the API server accepts the value.
    pub(super) fn only_warn(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.severity = Severity::Warning;
        }
    }

    /// Reports lists that contain `*` and other entries.
    pub(super) fn check_wildcards(&mut self, subject: Subject<'_>, fields: &[&str]) {
        for field in fields {
            let entries = subject.list(field);
            if entries.len() > 1 && entries.iter().any(|entry| entry.as_str() == Some("*")) {
                self.report_field(subject, field, "`*` matches everything and must be the only entry");
            }
        }
    }
}

/// A step to a value below the checked one.
#[derive(Clone, Copy)]
pub(super) enum PathStep<'n> {
    Field(&'n str),
    Entry(usize),
}

impl PathStep<'_> {
    fn element(self) -> PathElement {
        match self {
            Self::Field(name) => PathElement::Field(name.into()),
            Self::Entry(index) => PathElement::Index(index),
        }
    }
}
