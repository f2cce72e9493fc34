//! Replacements: copies values of fields to other fields.
//!
//! `select` and `value` find sources and targets; `copy` writes values to fields.

mod args;
mod copy;
mod load;
mod select;
mod value;
mod written_fields;

pub use args::{FieldOptions, Replacement, ReplacementTarget};
pub use load::load_replacements;

use rustc_hash::FxHashMap;

use crate::resource::{Resource, ResourceSet, Suggestions, mark_copied_secret};
use crate::transform::AfterEntry;
use crate::transform::config::SelectorArgs;
use crate::transform::value_path::{TreePositions, check_length, split_dotted};
use smp_merge::cause::Touched;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Excerpt, Problems, Result};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::Spanned;

use args::DEFAULT_FIELD;
use copy::{FieldTarget, WriteState};
use select::TargetSelector;
use value::SourceValue;
use written_fields::WrittenFields;

/// Applies replacements in order and returns warnings.
///
/// Warns about targets that select no resource and about values that are lost; kustomize has no such warnings.
///
/// # Errors
/// The source or targets are missing, the source does not match exactly one field, a target field does not
/// exist, or the value does not match the type of a field.
pub fn replacements(
    set: &mut ResourceSet,
    replacements: &[Replacement],
    schema: &Schema,
) -> Result<Vec<Diagnostic>> {
    replacements_by_entry(set, [replacements], schema, &SourceMap::default(), &mut |_, _| {})
}

/// Applies the replacements of several entries, and calls `after` after each entry. Values copied from Secrets
/// are hidden in reports.
///
/// # Errors
/// The errors of [`replacements`].
pub(crate) fn replacements_by_entry<'e>(
    set: &mut ResourceSet,
    entries: impl IntoIterator<Item = &'e [Replacement]>,
    schema: &Schema,
    sources: &SourceMap,
    after: AfterEntry<'_>,
) -> Result<Vec<Diagnostic>> {
    let mut warnings = Vec::new();
    let (mut problems, likely) = (Problems::default(), Suggestions::new(schema));
    let (positions, replaced) = (FxHashMap::default(), WrittenFields::default());
    let mut run = ReplacementRun { set, schema, sources, likely: &likely, positions, replaced };
    for (i, entry) in entries.into_iter().enumerate() {
        for replacement in entry {
            run.apply_replacement(replacement, &mut problems, &mut warnings);
        }
        after(run.set, i);
    }
    problems.into_result(warnings)
}

/// The state of applying replacements to a set.
struct ReplacementRun<'r> {
    set: &'r mut ResourceSet,
    schema: &'r Schema,
    sources: &'r SourceMap,
    likely: &'r Suggestions<'r>,
    /// The positions of fields in changed resources, by the positions of the resources.
    positions: FxHashMap<usize, TreePositions>,
    replaced: WrittenFields,
}

impl ReplacementRun<'_> {
    fn apply_replacement(
        &mut self,
        replacement: &Replacement,
        problems: &mut Problems,
        warnings: &mut Vec<Diagnostic>,
    ) {
        self.replaced.start_replacement();
        let value =
            SourceValue::find(replacement, self.set, self.likely, &mut self.replaced).map_err(|error| {
                if error.labels().is_empty() { error.at(replacement.location()) } else { error }
            });
        let Some(mut value) = problems.ok_or_add(value) else { return };
        if value.is_secret(self.sources) {
            mark_copied_secret(&value.node, self.sources);
        }
        for target in &replacement.targets {
            let applied = self.apply_to_target(&mut value, target);
            // A value in the replacement itself may be a secret, so it is not shown.
            let excerpt = if replacement.source_value.is_some() { Excerpt::Hidden } else { Excerpt::Shown };
            let labelled =
                |warning: Diagnostic| warning.label_with(replacement.location(), "replacement", excerpt);
            warnings.extend(problems.ok_or_add(applied).into_iter().flatten().map(labelled));
        }
    }

    fn apply_to_target(
        &mut self,
        value: &mut SourceValue,
        target: &Spanned<ReplacementTarget>,
    ) -> Result<Vec<Diagnostic>> {
        let selectors = target.select.as_ref().into_iter().chain(&target.reject);
        if selectors.into_iter().any(SelectorArgs::uses_labels) {
            self.replaced.clear();
        }
        let selected = TargetSelector::new(target)?.positions(self.set);
        if selected.is_empty() {
            let message = "replacement target matches no resource";
            let id = target.select.as_ref().map(SelectorArgs::id).unwrap_or_default();
            let part = self.likely.wrong_part(self.set, &id);
            let field = target.select.as_ref().map(|select| select.location_of(part));
            let location = field.filter(|span| !span.is_none()).unwrap_or(target.span);
            let warning = Diagnostic::warning(Code::UnmatchedReplacement, message).at(location);
            let similar = self.likely.location(self.set, &id).unwrap_or_default();
            let warning = warning.label(similar, "similar resource");
            let likely = self.likely.suggestion(self.set, &id);
            return Ok(vec![match likely {
                Some(likely) => warning.help(likely),
                None => warning,
            }]);
        }
        let fields = TargetFields::new(target)?;
        let (mut warnings, mut copied, mut writes) = (Vec::new(), self.set.copied(), Vec::new());
        for i in selected {
            let positions = self.positions.entry(i).or_default();
            let written = self.set.update_touched(i, |resource| {
                // A write to a shared scalar also changes the others.
                let mut touched =
                    if resource.has_shared() { Touched::All } else { Touched::Paths(Vec::new()) };
                let (copied, writes, touched_here) = (&mut copied, &mut writes, &mut touched);
                let mut notes = WriteState { copied, positions, writes, touched: touched_here };
                let written = fields.write(value, i, resource, (&mut notes, &mut self.replaced));
                resource.sync(self.schema);
                (written, touched)
            });
            warnings.extend(written.unwrap_or_else(|| Ok(Vec::new()))?);
        }
        self.set.set_copied(copied);
        Ok(warnings)
    }
}

/// The fields to write in each selected resource.
struct TargetFields<'t> {
    /// Each path as written, its location, and its parts.
    paths: Vec<(&'t str, Span, Vec<String>)>,
    options: &'t FieldOptions,
}

impl<'t> TargetFields<'t> {
    fn new(target: &'t Spanned<ReplacementTarget>) -> Result<Self> {
        let path = |path: &'t str, span| {
            let parts = split_dotted(path);
            check_length(&parts).map_err(|error| error.at(span))?;
            Ok((path, span, parts))
        };
        let paths = if target.field_paths.is_empty() {
            vec![path(DEFAULT_FIELD, target.span)?]
        } else {
            target.field_paths.iter().map(|p| path(p.as_str(), p.span)).collect::<Result<_>>()?
        };
        Ok(Self { paths, options: &target.options })
    }

    /// Writes the value to the fields of the resource at a position. Returns warnings.
    fn write(
        &self,
        value: &mut SourceValue,
        position: usize,
        resource: &mut Resource,
        (notes, replaced): (&mut WriteState<'_>, &mut WrittenFields),
    ) -> Result<Vec<Diagnostic>> {
        let (id, start) = (resource.id().clone(), resource.node().span().at_start());
        let mut warnings = Vec::new();
        for (path, span, parts) in &self.paths {
            let with_location = |problem: Diagnostic| problem.at(*span).resource(&id).field(path);
            let live = value.source_path_in(position).map(<[String]>::to_vec);
            let mut write = |resource: &mut Resource| {
                let to = FieldTarget { path: parts, options: self.options };
                copy::copy_to_fields(&mut value.node, live.as_deref(), resource.node_mut(), to, notes)
            };
            let in_annotations = matches!(parts.as_slice(), [first, second, ..] if first == "metadata" && second == "annotations");
            let warning =
                if in_annotations { resource.with_build_annotations(write) } else { write(resource) };
            if in_annotations && resource.has_build_annotations() {
                // Placeholders for the build annotations were among the fields.
                notes.positions.get_mut().clear();
            }
            let failed = |error: Diagnostic| {
                let start = if error.labels().is_empty() { start } else { Span::default() };
                with_location(error).label(start, "target resource")
            };
            warnings.extend(warning.map_err(failed)?.map(with_location));
            let overwritten =
                notes.writes.drain(..).filter_map(|write| replaced.record_write(position, *span, write));
            warnings.extend(overwritten.map(|warning| warning.resource(&id).field(path)));
            resource.propagate_shared();
            value.refresh(position, resource);
        }
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::Files;
    use smp_text::yaml::{ParseOptions, from_node, parse_documents, parse_one, to_json};

    const RESOURCES: &str = "\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, labels: {app: web}}, spec: {replicas: 3}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, labels: {app: cm}}, data: {k: v}}
";

    struct OneFile(&'static str);

    impl Files for OneFile {
        fn read(&self, _path: &str, _at: Span) -> Result<Vec<u8>> {
            Ok(self.0.into())
        }
    }

    fn set() -> ResourceSet {
        let sources = SourceMap::default();
        let id = sources.add("r.yaml", RESOURCES);
        let mut set = ResourceSet::new();
        for node in parse_documents(&sources, id, ParseOptions::default()).expect("YAML") {
            set.append(Resource::new(node, &Schema::empty()).expect("a resource")).expect("distinct");
        }
        set
    }

    /// Returns the kinds that got `metadata.annotations.x`, or the error. Appends `!` if there are warnings.
    fn annotated_kinds(text: &str) -> String {
        let sources = SourceMap::default();
        let id = sources.add("k.yaml", text);
        let node = parse_one(&sources, id, ParseOptions::default()).expect("YAML");
        let replacement: Replacement = from_node(&node).expect("a replacement");
        let mut set = set();
        let warnings = match replacements(&mut set, &[replacement], &Schema::empty()) {
            Ok(warnings) => warnings,
            Err(error) => {
                assert!(!error.labels().is_empty(), "{error} has no location");
                return format!("error: {}", error.message());
            }
        };
        let annotated = set.iter().filter(|r| r.annotation("x").is_some());
        let kinds: Vec<&str> = annotated.map(|r| r.id().gvk.kind.as_str()).collect();
        kinds.join(" ") + if warnings.is_empty() { "" } else { "!" }
    }

    fn with_target(target: &str) -> String {
        let field = "fieldPaths: [metadata.annotations.x], options: {create: true}";
        annotated_kinds(&format!("{{sourceValue: a, targets: [{{{target}, {field}}}]}}"))
    }

    #[test]
    fn targets_are_selected_and_rejected() {
        let table = [
            ("select: {}", "Deployment Service ConfigMap"),
            ("select: {kind: Depl.*}", "Deployment"),
            ("select: {name: web}", "Deployment Service"),
            ("select: {namespace: ns}", "Deployment"),
            ("select: {namespace: default}", "!"),
            ("select: {labelSelector: app}", "Deployment ConfigMap"),
            ("select: {name: web}, reject: [{kind: Service}]", "Deployment"),
            ("select: {name: web}, reject: [{}]", "Deployment Service"),
            ("select: {}, reject: [{kind: Nope, labelSelector: app=cm}]", "Deployment Service"),
            ("select: {kind: Nope}", "!"),
            ("select: {kind: (}", "error: `(` is not a valid regular expression"),
            ("reject: []", "error: the replacement target has no `select`"),
        ];
        for (target, want) in table {
            assert_eq!(with_target(target), want, "{target}");
        }
    }

    #[test]
    fn source_must_match_exactly_one_field() {
        let target = "targets: [{select: {kind: ConfigMap}, fieldPaths: [metadata.annotations.x], options: {create: true}}]";
        let table = [
            ("source: {kind: Service}", "ConfigMap"),
            ("source: {kind: Deployment, fieldPath: spec.replicas}", "ConfigMap"),
            ("source: {name: web, namespace: default}", "ConfigMap"),
            ("source: {name: web}", "error: replacement source matches several resources: name=web"),
            ("source: {kind: Serv.*}", "error: replacement source matches no resource: kind=Serv.*"),
            ("source: {kind: Service, fieldPath: spec}", "error: the source field `spec` is empty"),
            (
                "source: {kind: Service}, sourceValue: a",
                "error: `source` and `sourceValue` are mutually exclusive",
            ),
        ];
        for (source, want) in table {
            assert_eq!(annotated_kinds(&format!("{{{source}, {target}}}")), want, "{source}");
        }
        assert_eq!(annotated_kinds(&format!("{{{target}}}")), "error: the replacement has no source");
        assert_eq!(annotated_kinds("{sourceValue: a}"), "error: the replacement has no targets");
    }

    #[test]
    fn name_is_the_default_field() {
        let sources = SourceMap::default();
        let text = "{source: {kind: ConfigMap}, targets: [{select: {kind: Service}}]}";
        let id = sources.add("k.yaml", text);
        let node = parse_one(&sources, id, ParseOptions::default()).expect("YAML");
        let mut set = set();
        let replacement = from_node(&node).expect("a replacement");
        replacements(&mut set, &[replacement], &Schema::empty()).expect("made");
        assert_eq!(set.as_slice()[1].id().name, "cm", "the identity is updated");
        assert!(to_json(set.as_slice()[1].node()).expect("JSON").contains(r#""name":"cm""#));
    }

    #[test]
    fn files_contain_one_or_several_replacements() {
        let load = |content, replacement: &Replacement| {
            load_replacements(std::slice::from_ref(replacement), &OneFile(content), &SourceMap::default())
        };
        let by_path = Replacement { path: "r.yaml".to_string().into(), ..Replacement::default() };
        assert_eq!(load("{sourceValue: 1, unknown: x}", &by_path).expect("one").len(), 1);
        assert_eq!(load("[{sourceValue: a}, {sourceValue: b}]", &by_path).expect("two").len(), 2);
        assert!(load("text", &by_path).is_err() && load("", &by_path).is_err());
        let targets = vec![Spanned::from(ReplacementTarget::default())];
        assert!(load("[]", &Replacement { targets, ..by_path }).is_err());
    }
}
