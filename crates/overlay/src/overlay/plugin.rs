//! Built-in generators, transformers and validators with configurations of their own.
//!
//! Knows the built-in kinds and decodes their configuration. `transform` implements them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::function;
use super::generator_files::{DataFiles, Secrecy};
use super::helm::{HelmChart, HelmGlobals};
use super::options::Histories;
use super::root::Root;
use crate::resource::{Resource, ResourceSet};
use crate::transform::{
    self, FieldSpecs, GeneratorArgs, GeneratorMetadata, IamPolicy, Image, Namespace, Patch, PatchContext,
    Replacement, Replica, SubjectMode, ValueAdd,
};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::yaml::{self, DecodeOptions, Node, Spanned};

/// The context of all plugins.
pub(super) struct PluginContext<'c> {
    /// The kustomization that refers to the plugin.
    pub root: &'c Root,
    /// Selects whether generated values have locations in the files that they come from.
    pub histories: Histories,
    pub schema: &'c Schema,
    pub patch: PatchContext<'c>,
}

/// The kinds of generators.
const GENERATORS: [&str; 4] =
    ["ConfigMapGenerator", "SecretGenerator", "IAMPolicyGenerator", "HelmChartInflationGenerator"];

/// The kinds of transformers.
const TRANSFORMERS: [&str; 14] = [
    "AnnotationsTransformer",
    "HashTransformer",
    "ImageTagTransformer",
    "LabelTransformer",
    "NamespaceTransformer",
    "PatchJson6902Transformer",
    "PatchStrategicMergeTransformer",
    "PatchTransformer",
    "PrefixSuffixTransformer",
    "PrefixTransformer",
    "SuffixTransformer",
    "ReplacementTransformer",
    "ReplicaCountTransformer",
    "ValueAddTransformer",
];

/// Declares structs for plugin configurations. As in kustomize, unknown fields are ignored.
macro_rules! configurations {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct $name { $($field: $type),* }
    )*};
}

configurations! {
    LabelsConfig { labels: BTreeMap<SmolStr, Spanned<SmolStr>>, field_specs: FieldSpecs }
    AnnotationsConfig { annotations: BTreeMap<SmolStr, Spanned<SmolStr>>, field_specs: FieldSpecs }
    ImageTagConfig { image_tag: Image, field_specs: FieldSpecs }
    NamespaceConfig {
        metadata: NamespaceOfMetadata,
        field_specs: FieldSpecs,
        unset_only: bool,
        set_role_binding_subjects: SubjectMode,
    }
    NamespaceOfMetadata { namespace: Spanned<SmolStr> }
    AffixConfig { prefix: Spanned<String>, suffix: Spanned<String>, field_specs: Option<FieldSpecs> }
    ReplicaCountConfig { replica: Replica, field_specs: FieldSpecs }
    ReplacementsConfig { replacements: Vec<Replacement> }
    StrategicMergeConfig { paths: Vec<Spanned<String>>, patches: Spanned<String> }
    Json6902Config {
        target: Option<Spanned<transform::SelectorArgs>>,
        path: Spanned<String>,
        json_op: Spanned<String>,
    }
    MetadataConfig { metadata: GeneratorMetadata }
}

fn config<T: DeserializeOwned>(plugin: &Resource) -> Result<T> {
    yaml::from_node_with(plugin.node(), DecodeOptions::plugin())
}

/// Returns true if a configuration is that of a built-in plugin.
pub(super) fn is_builtin(plugin: &Resource) -> bool {
    let gvk = &plugin.id().gvk;
    gvk.group.is_empty() && gvk.version == "builtin"
}

/// Returns the chart of a `HelmChartInflationGenerator`.
pub(super) fn helm_chart(plugin: &Resource) -> Result<(Spanned<HelmChart>, HelmGlobals)> {
    let chart = Spanned::new(config(plugin)?, plugin.node().span().at_start());
    Ok((chart, config(plugin)?))
}

/// Returns the paths of the files that a configuration refers to.
///
/// # Errors
/// The configuration is malformed.
pub(super) fn named_files(plugin: &Resource) -> Result<Vec<Spanned<String>>> {
    if !is_builtin(plugin) {
        return Ok(function::arguments_file(plugin.node())?.into_iter().collect());
    }
    Ok(match plugin.id().gvk.kind.as_str() {
        "ConfigMapGenerator" | "SecretGenerator" => {
            let args = config::<GeneratorArgs>(plugin)?.with_metadata(GeneratorMetadata::default());
            args.file_paths().collect()
        }
        "HelmChartInflationGenerator" => {
            let (chart, _) = helm_chart(plugin)?;
            chart.named_files(chart.span).collect()
        }
        "PatchTransformer" => vec![config::<Patch>(plugin)?.path],
        "PatchJson6902Transformer" => vec![config::<Json6902Config>(plugin)?.path],
        "PatchStrategicMergeTransformer" => {
            let paths = config::<StrategicMergeConfig>(plugin)?.paths.into_iter();
            paths.filter(|path| transform::is_path_of_patch(path)).collect()
        }
        "ReplacementTransformer" => {
            let all = config::<ReplacementsConfig>(plugin)?.replacements.into_iter();
            all.map(|replacement| replacement.path).collect()
        }
        "ValueAddTransformer" => vec![config::<ValueAdd>(plugin)?.target_file_path],
        _ => Vec::new(),
    })
}

/// Runs a built-in generator.
pub(super) fn generate(plugin: &Resource, context: &PluginContext<'_>) -> Result<WithWarnings<Resource>> {
    let named = || -> Result<GeneratorArgs> {
        Ok(config::<GeneratorArgs>(plugin)?.with_metadata(config::<MetadataConfig>(plugin)?.metadata))
    };
    let data = |secrecy| DataFiles { root: context.root, histories: context.histories, secrecy };
    match plugin.id().gvk.kind.as_str() {
        "ConfigMapGenerator" => transform::config_map(&named()?, None, &data(Secrecy::Open), context.schema),
        "SecretGenerator" => transform::secret(&named()?, None, &data(Secrecy::Secret), context.schema),
        "IAMPolicyGenerator" => {
            transform::iam_policy(&config::<IamPolicy>(plugin)?, context.schema).map(WithWarnings::from)
        }
        kind => Err(unknown(plugin, kind, PluginKind::Generator)),
    }
}

/// Runs a built-in transformer. Returns the warnings.
pub(super) fn transform(
    plugin: &Resource,
    set: &mut ResourceSet,
    context: &PluginContext<'_>,
) -> Result<Vec<Diagnostic>> {
    match plugin.id().gvk.kind.as_str() {
        "ReplacementTransformer" => {
            let c: ReplacementsConfig = config(plugin)?;
            let loaded = transform::load_replacements(&c.replacements, context.root, context.patch.sources)?;
            let sources = context.patch.sources;
            transform::replacements_by_entry(
                set,
                [loaded.as_slice()],
                context.schema,
                sources,
                &mut |_, _| {},
            )
        }
        "ValueAddTransformer" => {
            let c: ValueAdd = config(plugin)?;
            let name = context.root.path().file_name().unwrap_or_default().to_string_lossy();
            let loaded = c.load_targets(&name, context.root, context.patch.sources)?;
            transform::value_add(set, &loaded, context.schema)
        }
        "ImageTagTransformer" => {
            let c: ImageTagConfig = config(plugin)?;
            transform::images(set, &[c.image_tag], &c.field_specs, context.schema)
        }
        "PatchTransformer" => transform::patches(set, &[config::<Patch>(plugin)?], &context.patch),
        "PatchStrategicMergeTransformer" => transform::patches_strategic_merge(
            set,
            &strategic_patches(plugin)?,
            &context.patch,
            &mut |_, _| {},
        ),
        "PatchJson6902Transformer" => {
            let c: Json6902Config = config(plugin)?;
            let one = Patch { path: c.path, patch: c.json_op, target: c.target, ..Patch::default() };
            transform::patches_json6902(set, &[one], &context.patch, &mut |_, _| {})
        }
        _ => set_fields(plugin, set, context.schema).map(|()| Vec::new()),
    }
}

/// Runs a transformer that writes the fields given in its configuration.
fn set_fields(plugin: &Resource, set: &mut ResourceSet, schema: &Schema) -> Result<()> {
    match plugin.id().gvk.kind.as_str() {
        "AnnotationsTransformer" => {
            let c: AnnotationsConfig = config(plugin)?;
            transform::annotations(set, &c.annotations, &c.field_specs, schema)
        }
        "LabelTransformer" => {
            let c: LabelsConfig = config(plugin)?;
            transform::labels(set, &c.labels, &c.field_specs, schema)
        }
        "NamespaceTransformer" => set_namespace(config(plugin)?, set, schema),
        "PrefixTransformer" => {
            let (c, specs) = affix(plugin)?;
            transform::name_prefix(set, c.prefix.text(), &specs, schema)
        }
        "SuffixTransformer" => {
            let (c, specs) = affix(plugin)?;
            transform::name_suffix(set, c.suffix.text(), &specs, schema)
        }
        "PrefixSuffixTransformer" => {
            let (c, specs) = affix(plugin)?;
            transform::name_prefix(set, c.prefix.text(), &specs, schema)?;
            transform::name_suffix(set, c.suffix.text(), &specs, schema)
        }
        "ReplicaCountTransformer" => {
            let c: ReplicaCountConfig = config(plugin)?;
            transform::replicas(set, &[c.replica], &c.field_specs, schema)
        }
        "HashTransformer" => transform::name_hashes(set),
        kind => Err(unknown(plugin, kind, PluginKind::Transformer)),
    }
}

fn set_namespace(config: NamespaceConfig, set: &mut ResourceSet, schema: &Schema) -> Result<()> {
    let options = Namespace {
        namespace: config.metadata.namespace,
        unset_only: config.unset_only,
        subjects: config.set_role_binding_subjects,
    };
    transform::namespace(set, &options, &config.field_specs, schema)
}

/// Returns prefix and suffix with their field specs, for which there is no default.
fn affix(plugin: &Resource) -> Result<(AffixConfig, FieldSpecs)> {
    let mut affix: AffixConfig = config(plugin)?;
    let specs = affix.field_specs.take().ok_or_else(|| {
        Diagnostic::error(Code::MissingField, "`fieldSpecs` is missing")
            .at(plugin.node().span().at_start())
            .resource(plugin.id())
            .help("to change names, use `fieldSpecs: [{path: metadata/name}]`")
    })?;
    Ok((affix, specs))
}

/// Returns the patches of a `PatchStrategicMergeTransformer`: paths and inline patches.
fn strategic_patches(plugin: &Resource) -> Result<Vec<Spanned<String>>> {
    let mut c: StrategicMergeConfig = config(plugin)?;
    if c.paths.is_empty() && c.patches.is_empty() {
        return Err(Diagnostic::error(Code::MissingField, "transformer has neither `paths` nor `patches`")
            .at(plugin.node().span().at_start())
            .resource(plugin.id()));
    }
    if !c.patches.is_empty() {
        c.paths.push(c.patches);
    }
    Ok(c.paths)
}

/// The expected kind of a plugin.
#[derive(Clone, Copy)]
enum PluginKind {
    Generator,
    Transformer,
}

impl PluginKind {
    fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Transformer => "transformer",
        }
    }

    fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Generator => &GENERATORS,
            Self::Transformer => &TRANSFORMERS,
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Generator => Self::Transformer,
            Self::Transformer => Self::Generator,
        }
    }
}

fn unknown(plugin: &Resource, kind: &str, role: PluginKind) -> Diagnostic {
    let (expected, other) = (role.name(), role.other());
    let message = if other.kinds().contains(&kind) {
        format!("{kind} is a {}, expected a {expected}", other.name())
    } else {
        format!("unknown built-in {expected} {kind}")
    };
    Diagnostic::error(Code::Unsupported, message)
        .at(plugin.node().get("kind").map_or(plugin.node().span(), Node::span))
        .resource(plugin.id())
        .help(format!("available: {}", role.kinds().join(", ")))
}
