//! The format of kustomization files: every field of kustomize v5.8's Kustomization and Component.

use std::collections::BTreeMap;

use serde::Deserialize;
use smol_str::SmolStr;

use super::helm::{HelmChart, HelmChartArgs, HelmGlobals};
use crate::transform::{
    GeneratorArgs, GeneratorOptions, Image, LabelArgs, Patch, Replacement, Replica, SortOptions, Var,
    is_path_of_patch,
};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, Warned};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{
    DuplicateKeys, Key, Map, Node, ParseOptions, RepeatedKey, Separation, Spanned, check_directives,
    from_node, in_place_of, parse_with_repeated_keys,
};

/// A kustomization file, older field names already moved to their successors.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Kustomization {
    /// `kustomize.config.k8s.io/v1beta1`, or `v1alpha1` for a component; may be missing.
    pub api_version: Spanned<String>,
    /// `Kustomization` or `Component`; may be missing.
    pub kind: Spanned<String>,
    /// Not used.
    pub metadata: Option<Metadata>,
    /// Where the OpenAPI schema of the build comes from: `path` or `version`.
    pub openapi: BTreeMap<String, Spanned<String>>,
    /// Goes before all names.
    pub name_prefix: Spanned<String>,
    /// Goes behind all names.
    pub name_suffix: Spanned<String>,
    /// The namespace of all resources.
    pub namespace: Spanned<String>,
    /// Labels for everything, selectors among them.
    pub common_labels: BTreeMap<SmolStr, Spanned<SmolStr>>,
    /// Labels, for what each entry says.
    pub labels: Vec<LabelArgs>,
    /// Annotations for everything.
    pub common_annotations: BTreeMap<SmolStr, Spanned<SmolStr>>,
    /// Strategic merge patches: files, or the patches themselves.
    pub patches_strategic_merge: Vec<Spanned<String>>,
    /// JSON patches with targets.
    pub patches_json6902: Vec<Patch>,
    /// Patches of either form.
    pub patches: Vec<Patch>,
    /// Changes of image names, tags and digests.
    pub images: Vec<Image>,
    /// The older name of `images`.
    image_tags: Vec<Image>,
    /// Values copied between fields.
    pub replacements: Vec<Replacement>,
    /// Numbers of replicas.
    pub replicas: Vec<Replica>,
    /// Values for `$(NAME)`.
    pub vars: Vec<Var>,
    /// The order of the result.
    pub sort_options: Option<SortOptions>,
    /// Files and directories with resources.
    pub resources: Vec<Spanned<String>>,
    /// Directories with components.
    pub components: Vec<Spanned<String>>,
    /// Files with OpenAPI definitions that say where names and labels stand in custom resources.
    pub crds: Vec<Spanned<String>>,
    /// The older name of directories in `resources`.
    bases: Vec<Spanned<String>>,
    /// ConfigMaps to make.
    pub config_map_generator: Vec<GeneratorArgs>,
    /// Secrets to make.
    pub secret_generator: Vec<GeneratorArgs>,
    /// Options of all generators.
    pub generator_options: Option<GeneratorOptions>,
    /// What all helm charts share.
    pub helm_globals: Option<HelmGlobals>,
    /// Helm charts to render.
    pub helm_charts: Vec<Spanned<HelmChart>>,
    /// The older form of `helmCharts`.
    helm_chart_inflation_generator: Vec<HelmChartArgs>,
    /// Files that say which fields transformers change.
    pub configurations: Vec<Spanned<String>>,
    /// Configurations of generators: files, directories, or inline.
    pub generators: Vec<Spanned<String>>,
    /// Configurations of transformers: files, directories, or inline.
    pub transformers: Vec<Spanned<String>>,
    /// Configurations of validators: files, directories, or inline.
    pub validators: Vec<Spanned<String>>,
    /// What to note on the resources: `originAnnotations`, `transformerAnnotations`, `managedByLabel`.
    pub build_metadata: Vec<Spanned<String>>,
}

/// Metadata of a kustomization, read and not used.
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

/// Fields that have a successor, with what to do.
const DEPRECATED: [(&str, &str); 6] = [
    ("bases", "use `resources` instead"),
    (
        "commonLabels",
        "use `labels` instead; what keeps the selectors as they are is `labels: [{pairs: {...}, includeSelectors: true}]`",
    ),
    ("imageTags", "use `images` instead"),
    ("patchesJson6902", "use `patches` instead"),
    ("patchesStrategicMerge", "use `patches` instead, each file as `path: FILE`"),
    ("vars", "use `replacements` instead"),
];

/// Those whose successor takes the same values.
const RENAMED: [(&str, &str); 2] = [("bases", "resources"), ("imageTags", "images")];

impl Kustomization {
    /// Reads a kustomization file.
    ///
    /// Equal keys are allowed and the last one counts; documents behind the first are not read.
    /// Both are kustomize's habit, and warned of, as deprecated fields are.
    ///
    /// # Errors
    /// Malformed YAML, unknown fields, values of wrong types, a wrong kind, a file without content.
    pub fn read(sources: &SourceMap, source: SourceId) -> Result<Warned<Self>> {
        let Readable { kustomization, problems } = Self::read_what_can_be(sources, source)?;
        problems.or(kustomization)
    }

    /// As [`Kustomization::read`], but for the parts that are wrong: they are left out, and told beside the rest.
    ///
    /// # Errors
    /// Nothing can be read of it.
    pub(super) fn read_what_can_be(sources: &SourceMap, source: SourceId) -> Result<Readable> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
        check_directives(sources, source, Separation::None)?;
        let (documents, repeated) = parse_with_repeated_keys(sources, source, options)?;
        let mut documents = documents.into_iter();
        let node = documents.next().unwrap_or_else(Node::null);
        let at = if node.span().is_none() { Span::new(source, 0, 0) } else { node.span().at_start() };
        let empty = Map::new();
        let fields = match node.as_map() {
            Some(map) => map,
            None if node.is_null() => &empty,
            None => {
                let message = format!("a kustomization must be a map, not {}", node.type_name());
                return Err(Diagnostic::error(Code::WrongType, message).at(at));
            }
        };
        let mut problems = Problems::default();
        let mut kustomization =
            if node.is_null() { Self::default() } else { decoded(node.clone(), &mut problems)? };
        let deprecated = fields.entries().iter().filter_map(|e| deprecation(fields, &e.key));
        problems.value_of(kustomization.check_kind());
        if fields.iter().all(|(key, value)| says_nothing(key, value)) {
            problems.add(
                Diagnostic::error(Code::MissingField, "this kustomization is empty")
                    .at(at)
                    .help("list what it is made of under `resources:`"),
            );
        }
        kustomization.fix();
        let lost = repeated.iter().map(given_again).chain(documents.find_map(|next| ignored_document(&next)));
        let kustomization = Warned { value: kustomization, warnings: deprecated.chain(lost).collect() };
        Ok(Readable { kustomization, problems })
    }

    /// Whether it is a component.
    #[must_use]
    pub fn is_component(&self) -> bool {
        *self.kind == "Component"
    }

    /// The paths of the files that its steps read, beside what its entries lead to.
    pub fn named_files(&self) -> impl Iterator<Item = Spanned<String>> {
        let lists = self.configurations.iter().chain(&self.crds).chain(self.openapi.get("path"));
        let merges = self.patches_strategic_merge.iter().filter(|patch| is_path_of_patch(patch));
        let patches = self.patches.iter().chain(&self.patches_json6902).map(|patch| &patch.path);
        let replacements = self.replacements.iter().map(|replacement| &replacement.path);
        let generators = self.config_map_generator.iter().chain(&self.secret_generator);
        let charts = self.helm_charts.iter().flat_map(|chart| chart.named_files(chart.span));
        // Those of what stands in the kustomization itself are empty.
        let paths = patches.chain(replacements).filter(|path| !path.is_empty());
        let given = lists.chain(merges).chain(paths).cloned();
        given.chain(generators.flat_map(GeneratorArgs::named_files)).chain(charts)
    }

    fn check_kind(&self) -> Result<()> {
        let version = match self.kind.as_str() {
            "" | "Kustomization" => "kustomize.config.k8s.io/v1beta1",
            "Component" => "kustomize.config.k8s.io/v1alpha1",
            other => {
                return Err(Diagnostic::error(
                    Code::InvalidValue,
                    format!("`{other}` is no kind of kustomization"),
                )
                .at(self.kind.span)
                .field("kind")
                .help("the kind is Kustomization or Component"));
            }
        };
        if self.api_version.is_empty() || *self.api_version == version {
            return Ok(());
        }
        Err(Diagnostic::error(
            Code::InvalidValue,
            format!("the apiVersion `{}` does not fit the kind", *self.api_version),
        )
        .at(self.api_version.span)
        .field("apiVersion")
        .help(format!("write `apiVersion: {version}`")))
    }

    /// Moves older fields to their successors.
    fn fix(&mut self) {
        self.resources.append(&mut self.bases);
        self.images.append(&mut self.image_tags);
        for args in self.config_map_generator.iter_mut().chain(&mut self.secret_generator) {
            args.envs.extend(args.env.take());
        }
        let (charts, globals) =
            HelmChartArgs::split(std::mem::take(&mut self.helm_chart_inflation_generator));
        if self.helm_globals.is_none() && globals != HelmGlobals::default() {
            self.helm_globals = Some(globals);
        }
        self.helm_charts.extend(charts.into_iter().map(Spanned::from));
    }
}

/// What can be read of a kustomization, and what is wrong with the rest.
#[derive(Debug)]
pub(super) struct Readable {
    pub kustomization: Warned<Kustomization>,
    pub problems: Problems,
}

/// Up to how many mistakes of one kustomization are looked for.
const MOST_MISTAKES: usize = 20;

/// The kustomization of a map without the entries that are wrong.
fn decoded(mut node: Node, problems: &mut Problems) -> Result<Kustomization> {
    for _ in 0..MOST_MISTAKES {
        let error = match from_node(&node) {
            Ok(kustomization) => return Ok(kustomization),
            Err(error) => error,
        };
        let Some(fields) = node.as_map_mut() else { return Err(error) };
        let places = places_of(&error);
        if let Some(unwrapped) = unwrapped_paths(fields) {
            problems.add(unwrapped);
            fields.entries_mut().retain(|entry| !has_unwrapped_paths(&entry.key.text, &entry.value));
            continue;
        }
        problems.add(error);
        if !remove_entries_at(fields, places) {
            break;
        }
    }
    std::mem::take(problems).or(Kustomization::default())
}

/// Where an error, and each that is told with it, is.
fn places_of(error: &Diagnostic) -> Vec<Span> {
    let all = std::iter::once(error).chain(error.others());
    all.filter_map(|error| error.labels().first()).map(|label| label.span).collect()
}

/// Takes out the fields that places are in, or their entries where a field is a list; returns whether there are some.
/// What was told once is not told again.
fn remove_entries_at(fields: &mut Map, mut places: Vec<Span>) -> bool {
    places.sort_unstable_by_key(|place| place.start);
    let mut is_changed = false;
    // Backwards, so that the places behind an entry are those in it.
    fields.entries_mut().reverse();
    fields.entries_mut().retain_mut(|entry| {
        let within = places.partition_point(|place| place.start < entry.key.meta.span.start);
        let within = places.split_off(within);
        is_changed |= !within.is_empty();
        within.is_empty() || remove_from_list(&mut entry.value, within)
    });
    fields.entries_mut().reverse();
    is_changed
}

/// Takes out the entries of a list that places are in; returns whether all of these are in some.
fn remove_from_list(value: &mut Node, mut places: Vec<Span>) -> bool {
    let Some(list) = value.as_list_mut() else { return false };
    list.reverse();
    list.retain(|entry| {
        let within = places.partition_point(|place| place.start < entry.span().start);
        places.split_off(within).is_empty()
    });
    list.reverse();
    places.is_empty()
}

/// Lists whose entries name files by a field `path`.
const WITH_PATHS: [&str; 3] = ["patches", "patchesJson6902", "replacements"];

/// Whether the entries of a field are bare paths of files and should be maps.
fn has_unwrapped_paths(name: &str, list: &Node) -> bool {
    let is_path = |entry: &Node| entry.as_str().is_some_and(is_path_of_patch);
    WITH_PATHS.iter().any(|known| known.eq_ignore_ascii_case(name))
        && list.as_list().is_some_and(|list| list.iter().any(is_path))
}

/// Errors for entries that are the bare path of a file.
fn unwrapped_paths(fields: &Map) -> Option<Diagnostic> {
    let mut problems = Problems::default();
    for (name, list) in fields.iter() {
        let Some(name) = WITH_PATHS.iter().find(|known| known.eq_ignore_ascii_case(name)) else { continue };
        for (i, entry) in list.as_list().into_iter().flatten().enumerate() {
            let Some(path) = entry.as_str().filter(|text| is_path_of_patch(text)) else { continue };
            problems.add(
                Diagnostic::error(Code::WrongType, "expected a map, found a string")
                    .at(entry.span())
                    .field(format!("{name}[{i}]"))
                    .help(format!("name the file under `path`: write `path: {path}`"))
                    .fix(entry.span(), format!("{{path: {}}}", in_place_of(entry.meta.style, path))),
            );
        }
    }
    problems.or(()).err()
}

/// What there is to say of a field, if it is an older one.
fn deprecation(fields: &Map, key: &Key) -> Option<Diagnostic> {
    let (field, span) = (key.text.as_str(), key.meta.span);
    let (name, remedy) = DEPRECATED.iter().find(|(name, _)| name.eq_ignore_ascii_case(field))?;
    let warning =
        Diagnostic::warning(Code::DeprecatedField, format!("`{name}` is deprecated")).at(span).help(*remedy);
    let successor = RENAMED.iter().find(|(renamed, _)| renamed == name).map(|(_, successor)| *successor);
    // Where there are both, their entries have to be joined by hand.
    let is_free = |successor: &&str| !fields.iter().any(|(key, _)| key.eq_ignore_ascii_case(successor));
    Some(match successor.filter(is_free) {
        Some(successor) => warning.fix(span, in_place_of(key.meta.style, successor)),
        None => warning,
    })
}

/// What there is to say of a key that stands twice: kustomize takes the last one, and is silent.
fn given_again(key: &RepeatedKey) -> Diagnostic {
    let message = format!("the key `{}` stands here again, and only the last one counts", key.name);
    key.told(Diagnostic::warning(Code::DuplicateKey, message))
}

/// What there is to say of a document behind the first, if it has anything in it.
fn ignored_document(document: &Node) -> Option<Diagnostic> {
    let message = "only the first document of a kustomization is read, and this is another one";
    let told = || Diagnostic::warning(Code::IgnoredDocument, message).at(document.span().at_start());
    (!document.is_null()).then(|| told().help("move what it says into the first document, or remove it"))
}

/// Whether a field leaves the kustomization as it would be without it.
fn says_nothing(key: &str, value: &Node) -> bool {
    let is_type = key.eq_ignore_ascii_case("apiVersion") || key.eq_ignore_ascii_case("kind");
    is_type || value.is_null() || value.as_str() == Some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Warned<Kustomization>> {
        let sources = SourceMap::default();
        let source = sources.add("kustomization.yaml", text);
        Kustomization::read(&sources, source)
    }

    #[test]
    fn older_fields_move_and_are_warned_of() {
        let Warned { value: k, warnings } = read(
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
    fn what_kustomize_refuses_is_refused() {
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
