//! The data that front ends display. All types serialize to JSON, with the names of their fields in camel case.

use serde::Serialize;
use serde_json::Value;

use super::hunks::DiffLine;

/// The state of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetState {
    /// The target builds without findings.
    Ok,
    /// The target builds, with warnings.
    Warning,
    /// The target does not build, or has findings that are errors.
    Error,
    /// The target is only in the revision with which targets are compared.
    Deleted,
}

/// A target in the list of targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSummary {
    /// The path as displayed.
    pub name: String,
    /// The state of the last build.
    pub state: TargetState,
    /// The number of errors.
    pub errors: usize,
    /// The first error with its location, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The number of warnings.
    pub warnings: usize,
    /// True if the last build failed. In this case, the numbers of dangers, changes and resources are those of the last
    /// successful build.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// The number of dangers of the changes.
    pub dangers: usize,
    /// The number of these dangers that are errors.
    pub danger_errors: usize,
    /// The number of objects that differ from the comparison; `None` if there is no comparison, it failed, or the
    /// target was never built.
    pub changes: Option<usize>,
    /// The number of resources.
    pub resources: usize,
    /// The generation in which the target was last built.
    pub generation: u64,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// All targets, as the first event.
    State {
        /// The number of builds so far.
        generation: u64,
        /// The name of the previewed targets.
        title: String,
        /// The name of the comparison, such as `base`.
        comparison: Option<String>,
        /// All targets, sorted by name.
        targets: Vec<TargetSummary>,
    },
    /// The effect of changed files.
    Update {
        /// The number of builds so far.
        generation: u64,
        /// The changed files, relative to the working directory.
        changed: Vec<String>,
        /// The time of the builds in milliseconds, with at most three decimals.
        milliseconds: f64,
        /// The targets that were rebuilt.
        targets: Vec<TargetSummary>,
        /// The names of targets that no longer exist.
        removed: Vec<String>,
    },
}

/// A location in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocationView {
    /// The path relative to the working directory, or a URL.
    pub file: String,
    /// The absolute path of a local file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line, starting at 1.
    pub line: usize,
    /// The column in characters, starting at 1.
    pub column: usize,
}

/// The output of a target, with its findings, structure and inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetView {
    /// The path as displayed.
    pub name: String,
    /// The generation in which the target was last built.
    pub generation: u64,
    /// The state of the last build.
    pub state: TargetState,
    /// True if the last build failed. In this case, the output is that of the last successful build.
    pub stale: bool,
    /// The error of the last build.
    pub error: Option<ErrorView>,
    /// The resources in output order.
    pub resources: Vec<ResourceView>,
    /// The findings of `check`.
    pub findings: Vec<FindingView>,
    /// The bases, patches and generators, as `tree --output json` prints them.
    pub layers: Value,
    /// The files that the build reads.
    pub files: Vec<String>,
}

/// The error of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// The message.
    pub message: String,
    /// The message with excerpts and help, on several lines.
    pub text: String,
    /// The main location.
    pub location: Option<LocationView>,
}

/// A resource as printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceView {
    /// The kind, namespace and name, such as `Deployment shop/web`.
    pub id: String,
    /// The API version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; may be empty.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// A hash of the lines.
    pub hash: String,
    /// The printed lines.
    pub lines: Vec<LineView>,
}

/// A line of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineView {
    /// The text, with `***` for values of Secrets.
    pub text: String,
    /// The JSON pointer to the value on the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// True if the value is hidden.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// A finding of `check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The code of the rule.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The resource.
    pub resource: Option<String>,
    /// The field path.
    pub field: Option<String>,
    /// The JSON pointer to the field in the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The main location.
    pub location: Option<LocationView>,
    /// The suggested fix.
    pub help: Option<String>,
}

/// The provenance of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldView {
    /// The resource, as [`ResourceView::id`].
    pub resource: String,
    /// The JSON pointer to the value.
    pub pointer: String,
    /// The field path.
    pub path: String,
    /// The writes of the value. The first one determines the value.
    pub chain: Vec<ChainLink>,
}

/// A write of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainLink {
    /// The value; `***` for values of Secrets.
    pub value: String,
    /// The step that wrote the value, such as `patches[0]`.
    pub by: String,
    /// The location of the value; `None` if the value was computed.
    pub at: Option<LocationView>,
    /// The lines around the location.
    pub excerpt: Vec<ExcerptLine>,
    /// The location of the entry that caused the write.
    pub caused_at: Option<LocationView>,
}

/// A line of an excerpt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExcerptLine {
    /// The line number, starting at 1.
    pub line: usize,
    /// The text; `***` for a line with secrets.
    pub text: String,
    /// True for the line of the value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub highlight: bool,
}

/// The changes of a target compared with its comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffView {
    /// The name of the comparison.
    pub comparison: String,
    /// True if the last build failed. In this case, the changes are those of the last successful build.
    pub stale: bool,
    /// The reason why there are no changes to display, as a sentence. The error of the build itself is in
    /// [`TargetView::error`].
    pub error: Option<String>,
    /// The changed objects.
    pub objects: Vec<ChangedObject>,
}

/// A changed object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedObject {
    /// The name, such as `deployment.apps/web in shop`.
    pub id: String,
    /// `created`, `changed`, `renamed`, `moved` or `deleted`.
    pub action: &'static str,
    /// The dangers of the change.
    pub dangers: Vec<DangerView>,
    /// The lines of the unified diff.
    pub lines: Vec<DiffLine>,
}

/// A danger of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DangerView {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The code of the rule.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The location of the change.
    pub location: Option<LocationView>,
}

/// A file that a build reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceView {
    /// The name, as in [`TargetView::files`].
    pub file: String,
    /// The absolute path of a local file.
    pub path: Option<String>,
    /// The text; `***` for lines with secrets.
    pub text: String,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchView {
    /// The first matching lines.
    pub matches: Vec<FoundLine>,
    /// The number of other matches.
    pub more: usize,
}

/// A line that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundLine {
    /// The target.
    pub target: String,
    /// The index of the resource.
    pub resource: usize,
    /// The resource, as [`ResourceView::id`].
    pub id: String,
    /// The JSON pointer to the value on the line.
    pub pointer: Option<String>,
    /// The text of the line.
    pub text: String,
}
