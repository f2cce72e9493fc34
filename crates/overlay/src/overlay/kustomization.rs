//! The format of kustomization files: every field of kustomize v5.8's Kustomization and Component.

use std::collections::BTreeMap;

use serde::Deserialize;
use smol_str::SmolStr;

use super::helm::{HelmChart, HelmChartArgs, HelmGlobals};
use crate::transform::{
    GeneratorArgs, GeneratorOptions, Image, LabelArgs, Patch, Replacement, Replica, SortOptions, Var,
    is_path_of_patch,
};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, WithWarnings};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{
    DocumentSplit, DuplicateKey, DuplicateKeys, Key, Map, Node, ParseOptions, Spanned, check_directives,
    from_node, parse_with_duplicate_keys, replacement_text,
};

/// A kustomization file, with deprecated fields already moved to their successors.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Kustomization {
    /// `kustomize.config.k8s.io/v1beta1`, or `v1alpha1` for a component; may be missing.
    pub api_version: Spanned<String>,
    /// `Kustomization` or `Component`; may be missing.
    pub kind: Spanned<String>,
    /// Metadata; ignored.
    pub metadata: Option<Metadata>,
    /// The source of the OpenAPI schema of the build: `path` or `version`.
    pub openapi: BTreeMap<String, Spanned<String>>,
    /// The prefix of all names.
    pub name_prefix: Spanned<String>,
    /// The suffix of all names.
    pub name_suffix: Spanned<String>,
    /// The namespace of all resources.
    pub namespace: Spanned<String>,
    /// Labels added to all resources, including selectors.
    pub common_labels: BTreeMap<SmolStr, Spanned<SmolStr>>,
    /// Labels, each entry with the fields that it applies to.
    pub labels: Vec<LabelArgs>,
    /// Annotations added to all resources.
    pub common_annotations: BTreeMap<SmolStr, Spanned<SmolStr>>,
    /// Strategic merge patches: paths of files, or inline patches.
    pub patches_strategic_merge: Vec<Spanned<String>>,
    /// JSON patches with their targets.
    pub patches_json6902: Vec<Patch>,
    /// Strategic merge or JSON patches.
    pub patches: Vec<Patch>,
    /// Replacements of image names, tags and digests.
    pub images: Vec<Image>,
    /// The deprecated name of `images`.
    image_tags: Vec<Image>,
    /// Values copied from one field to others.
    pub replacements: Vec<Replacement>,
    /// Replica counts.
    pub replicas: Vec<Replica>,
    /// Values of `$(NAME)` references.
    pub vars: Vec<Var>,
    /// The order of the output.
    pub sort_options: Option<SortOptions>,
    /// Files and directories with resources.
    pub resources: Vec<Spanned<String>>,
    /// Directories with components.
    pub components: Vec<Spanned<String>>,
    /// Files with OpenAPI definitions that define the name references and labels of custom resources.
    pub crds: Vec<Spanned<String>>,
    /// The deprecated name for directories in `resources`.
    bases: Vec<Spanned<String>>,
    /// ConfigMaps to generate.
    pub config_map_generator: Vec<GeneratorArgs>,
    /// Secrets to generate.
    pub secret_generator: Vec<GeneratorArgs>,
    /// Options of all generators.
    pub generator_options: Option<GeneratorOptions>,
    /// Settings shared by all helm charts.
    pub helm_globals: Option<HelmGlobals>,
    /// Helm charts to render.
    pub helm_charts: Vec<Spanned<HelmChart>>,
    /// The deprecated form of `helmCharts`.
    helm_chart_inflation_generator: Vec<HelmChartArgs>,
    /// Files with field specs for transformers.
    pub configurations: Vec<Spanned<String>>,
    /// Configurations of generators: files, directories, or inline.
    pub generators: Vec<Spanned<String>>,
    /// Configurations of transformers: files, directories, or inline.
    pub transformers: Vec<Spanned<String>>,
    /// Configurations of validators: files, directories, or inline.
    pub validators: Vec<Spanned<String>>,
    /// Metadata to add to resources: `originAnnotations`, `transformerAnnotations`, `managedByLabel`.
    pub build_metadata: Vec<Spanned<String>>,
}

/// Metadata of a kustomization; parsed but ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Deprecated fields, each with the help text.
const DEPRECATED: [(&str, &str); 6] = [
    ("bases", "use `resources` instead"),
    (
        "commonLabels",
        "use `labels` instead; to keep the labels in selectors, use `labels: [{pairs: {...}, includeSelectors: true}]`",
    ),
    ("imageTags", "use `images` instead"),
    ("patchesJson6902", "use `patches` instead"),
    ("patchesStrategicMerge", "use `patches` instead, each file as `path: FILE`"),
    ("vars", "use `replacements` instead"),
];

/// Deprecated fields whose successors take the same values.
const RENAMED: [(&str, &str); 2] = [("bases", "resources"), ("imageTags", "images")];

impl Kustomization {
    /// Returns true if kustomization files have a field of this name.
    #[must_use]
    pub fn has_field(name: &str) -> bool {
        let node = Node::map(Map::from_iter([(name, Node::null())]));
        !from_node::<Self>(&node).is_err_and(|error| error.code() == Code::UnknownField)
    }

    /// Reads a kustomization file.
    ///
    /// As in kustomize, the last of several equal keys is used, and documents after the first are ignored. Both cause
    /// warnings, and so do deprecated fields.
    ///
    /// # Errors
    /// Malformed YAML, an unknown field, a value of the wrong type, a wrong kind, or an empty file.
    pub fn read(sources: &SourceMap, source: SourceId) -> Result<WithWarnings<Self>> {
        let PartialKustomization { kustomization, problems } = Self::read_partial(sources, source)?;
        problems.into_result(kustomization)
    }

    /// Like [`Kustomization::read`], but leaves out invalid parts and returns their errors next to the rest.
    ///
    /// # Errors
    /// Nothing in the file can be read.
    pub(super) fn read_partial(sources: &SourceMap, source: SourceId) -> Result<PartialKustomization> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
        check_directives(sources, source, DocumentSplit::None)?;
        let (documents, repeated) = parse_with_duplicate_keys(sources, source, options)?;
        let mut documents = documents.into_iter();
        let node = documents.next().unwrap_or_else(Node::null);
        let at = if node.span().is_none() { Span::new(source, 0, 0) } else { node.span().at_start() };
        let empty = Map::new();
        let fields = match node.as_map() {
            Some(map) => map,
            None if node.is_null() => &empty,
            None => {
                let message = format!("a kustomization must be a map, not {}", node.type_name());
                return Err(Diagnostic::error(Code::WrongType, message)
                    .at(at)
                    .help("put the entries below a field such as `resources:`"));
            }
        };
        let mut problems = Problems::default();
        let mut kustomization =
            if node.is_null() { Self::default() } else { decode(node.clone(), &mut problems)? };
        let deprecated = fields.entries().iter().filter_map(|e| deprecation(fields, &e.key));
        problems.ok_or_add(kustomization.check_kind());
        if fields.iter().all(|(key, value)| has_no_effect(key, value)) {
            problems.add(
                Diagnostic::error(Code::MissingField, "kustomization is empty")
                    .at(at)
                    .help("list files or directories under `resources`"),
            );
        }
        kustomization.move_deprecated_fields();
        let ignored = repeated
            .iter()
            .map(duplicate_key_warning)
            .chain(documents.find_map(|next| ignored_document(&next)));
        let kustomization =
            WithWarnings { value: kustomization, warnings: deprecated.chain(ignored).collect() };
        Ok(PartialKustomization { kustomization, problems })
    }

    /// Returns true if this is a component.
    #[must_use]
    pub fn is_component(&self) -> bool {
        *self.kind == "Component"
    }

    /// Returns the paths of the other files that the build of this kustomization reads: patches, replacements, data of
    /// generators, `configurations`, `crds`, `openapi` and values of charts. Resources, components and plugins are not
    /// included.
    pub fn named_files(&self) -> impl Iterator<Item = Spanned<String>> {
        let lists = self.configurations.iter().chain(&self.crds).chain(self.openapi.get("path"));
        let merges = self.patches_strategic_merge.iter().filter(|patch| is_path_of_patch(patch));
        let patches = self.patches.iter().chain(&self.patches_json6902).map(|patch| &patch.path);
        let replacements = self.replacements.iter().map(|replacement| &replacement.path);
        let generators = self.config_map_generator.iter().chain(&self.secret_generator);
        let charts = self.helm_charts.iter().flat_map(|chart| chart.named_files(chart.span));
        // Inline patches and replacements have empty paths.
        let paths = patches.chain(replacements).filter(|path| !path.is_empty());
        let listed = lists.chain(merges).chain(paths).cloned();
        listed.chain(generators.flat_map(GeneratorArgs::file_paths)).chain(charts)
    }

    fn check_kind(&self) -> Result<()> {
        let version = match self.kind.as_str() {
            "" | "Kustomization" => "kustomize.config.k8s.io/v1beta1",
            "Component" => "kustomize.config.k8s.io/v1alpha1",
            other => {
                return Err(Diagnostic::error(Code::InvalidValue, format!("invalid kind `{other}`"))
                    .at(self.kind.span)
                    .field("kind")
                    .help("use `Kustomization` or `Component`"));
            }
        };
        if self.api_version.is_empty() || *self.api_version == version {
            return Ok(());
        }
        Err(Diagnostic::error(
            Code::InvalidValue,
            format!("apiVersion `{}` does not match the kind", *self.api_version),
        )
        .at(self.api_version.span)
        .field("apiVersion")
        .help(format!("use `apiVersion: {version}`")))
    }

    /// Moves deprecated fields to their successors.
    fn move_deprecated_fields(&mut self) {
        self.resources.append(&mut self.bases);
        self.images.append(&mut self.image_tags);
        for args in self.config_map_generator.iter_mut().chain(&mut self.secret_generator) {
            args.envs.extend(args.env.take());
        }
        let (charts, globals) =
            HelmChartArgs::into_charts(std::mem::take(&mut self.helm_chart_inflation_generator));
        if self.helm_globals.is_none() && globals != HelmGlobals::default() {
            self.helm_globals = Some(globals);
        }
        self.helm_charts.extend(charts.into_iter().map(Spanned::from));
    }
}

/// The valid parts of a kustomization, and the errors of the rest.
#[derive(Debug)]
pub(super) struct PartialKustomization {
    pub kustomization: WithWarnings<Kustomization>,
    pub problems: Problems,
}

/// The maximum number of errors reported for one kustomization.
const MAX_PROBLEMS: usize = 20;

/// Decodes a map without its invalid entries. Their errors are added to `problems`.
fn decode(mut node: Node, problems: &mut Problems) -> Result<Kustomization> {
    for _ in 0..MAX_PROBLEMS {
        let error = match from_node(&node) {
            Ok(kustomization) => return Ok(kustomization),
            Err(error) => error,
        };
        let Some(fields) = node.as_map_mut() else { return Err(error) };
        let locations = locations_of(&error);
        if let Some(unwrapped) = bare_path_errors(fields) {
            problems.add(unwrapped);
            fields.entries_mut().retain(|entry| !has_bare_paths(&entry.key.text, &entry.value));
            continue;
        }
        problems.add(error);
        if !remove_entries_at(fields, locations) {
            break;
        }
    }
    std::mem::take(problems).into_result(Kustomization::default())
}

/// Returns the locations of an error and of the errors that it contains.
fn locations_of(error: &Diagnostic) -> Vec<Span> {
    let all = std::iter::once(error).chain(error.attached());
    all.filter_map(|error| error.labels().first()).map(|label| label.span).collect()
}

/// Removes the fields at the given locations; for lists, only the entries. Returns true if something was removed. This
/// prevents duplicate errors.
fn remove_entries_at(fields: &mut Map, mut locations: Vec<Span>) -> bool {
    locations.sort_unstable_by_key(|location| location.start);
    let mut is_changed = false;
    // Iterate backwards, so that all locations after the start of an entry are within it.
    fields.entries_mut().reverse();
    fields.entries_mut().retain_mut(|entry| {
        let within = locations.partition_point(|location| location.start < entry.key.meta.span.start);
        let within = locations.split_off(within);
        is_changed |= !within.is_empty();
        within.is_empty() || remove_from_list(&mut entry.value, within)
    });
    fields.entries_mut().reverse();
    is_changed
}

/// Removes the list entries at the given locations. Returns true if all locations are within an entry.
fn remove_from_list(value: &mut Node, mut locations: Vec<Span>) -> bool {
    let Some(list) = value.as_list_mut() else { return false };
    list.reverse();
    list.retain(|entry| {
        let within = locations.partition_point(|location| location.start < entry.span().start);
        locations.split_off(within).is_empty()
    });
    list.reverse();
    locations.is_empty()
}

/// Lists whose entries refer to files by a field `path`.
const WITH_PATHS: [&str; 3] = ["patches", "patchesJson6902", "replacements"];

/// Returns true if an entry of a field is a bare file path, where a map is required.
fn has_bare_paths(name: &str, list: &Node) -> bool {
    let is_path = |entry: &Node| entry.as_str().is_some_and(is_path_of_patch);
    WITH_PATHS.iter().any(|known| known.eq_ignore_ascii_case(name))
        && list.as_list().is_some_and(|list| list.iter().any(is_path))
}

/// Returns the errors of entries that are bare file paths.
fn bare_path_errors(fields: &Map) -> Option<Diagnostic> {
    let mut problems = Problems::default();
    for (name, list) in fields.iter() {
        let Some(name) = WITH_PATHS.iter().find(|known| known.eq_ignore_ascii_case(name)) else { continue };
        for (i, entry) in list.as_list().into_iter().flatten().enumerate() {
            let Some(path) = entry.as_str().filter(|text| is_path_of_patch(text)) else { continue };
            problems.add(
                Diagnostic::error(Code::WrongType, "expected a map, found a string")
                    .at(entry.span())
                    .field(format!("{name}[{i}]"))
                    .help(format!("use `path: {path}`"))
                    .fix(entry.span(), format!("{{path: {}}}", replacement_text(entry.meta.style, path))),
            );
        }
    }
    problems.into_result(()).err()
}

/// Returns the warning about a field if it is deprecated.
fn deprecation(fields: &Map, key: &Key) -> Option<Diagnostic> {
    let (field, span) = (key.text.as_str(), key.meta.span);
    let (name, remedy) = DEPRECATED.iter().find(|(name, _)| name.eq_ignore_ascii_case(field))?;
    let warning =
        Diagnostic::warning(Code::DeprecatedField, format!("`{name}` is deprecated")).at(span).help(*remedy);
    let successor = RENAMED.iter().find(|(renamed, _)| renamed == name).map(|(_, successor)| *successor);
    // If both fields are present, their entries have to be joined by hand.
    let is_free = |successor: &&str| !fields.iter().any(|(key, _)| key.eq_ignore_ascii_case(successor));
    Some(match successor.filter(is_free) {
        Some(successor) => warning.fix(span, replacement_text(key.meta.style, successor)),
        None => warning,
    })
}

/// Warns about a duplicate key, because kustomize silently uses the last one.
fn duplicate_key_warning(key: &DuplicateKey) -> Diagnostic {
    let message = format!("duplicate key `{}`: only the last value is used", key.name);
    key.label_diagnostic(Diagnostic::warning(Code::DuplicateKey, message))
}

/// Warns about a document after the first, unless it is empty.
fn ignored_document(document: &Node) -> Option<Diagnostic> {
    let message = "this document is ignored: only the first document of a kustomization is read";
    let warning = || Diagnostic::warning(Code::IgnoredDocument, message).at(document.span().at_start());
    (!document.is_null()).then(|| warning().help("move its fields to the first document, or remove it"))
}

/// Returns true if a field has no effect on the build.
fn has_no_effect(key: &str, value: &Node) -> bool {
    let is_type = key.eq_ignore_ascii_case("apiVersion") || key.eq_ignore_ascii_case("kind");
    is_type || value.is_null() || value.as_str() == Some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<WithWarnings<Kustomization>> {
        let sources = SourceMap::default();
        let source = sources.add("kustomization.yaml", text);
        Kustomization::read(&sources, source)
    }

    #[test]
    fn deprecated_fields_are_moved_and_warned_about() {
        let WithWarnings { value: k, warnings } = read(
            "bases: [b]\nresources: [a]\nimageTags: [{name: x}]\nconfigMapGenerator: [{name: c, env: e}]\n",
        )
        .expect("valid");
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(k.resources.iter().map(|r| r.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(k.images.len(), 1);
        assert_eq!(k.config_map_generator[0].envs.len(), 1);
        assert_eq!(warnings, ["`bases` is deprecated", "`imageTags` is deprecated"]);
    }

    #[test]
    fn files_rejected_by_kustomize_are_rejected() {
        for text in [
            "",
            "# nothing\n",
            "kind: Kustomization\n",
            "namePrefix: ''\n",
            "a: 1\n",
            "kind: Deployment\nresources: []\n",
            "- a\n",
            "apiVersion: v1\nresources: []\n",
            "resources: {}\n",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
        for text in [
            "resources: []\n",
            "RESOURCES: []\n",
            "commonLabels: {}\n",
            "resources: []\nresources: []\n",
            "resources: []\n---\nfoo\n",
        ] {
            assert!(read(text).is_ok(), "{text:?}: {:?}", read(text).err());
        }
    }
}
