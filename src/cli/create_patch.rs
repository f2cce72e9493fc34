//! `kubectl smp create-patch`: two-way patches between manifests, and three-way patches for live
//! objects.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::document::{gvk_of, read_document, resolve_type, stdin_used_twice};
use super::package::print;
use super::patch::{PatchOutput, check_strategic_kind, dialect_requires_strategic, patch_type};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_merge::merge::PatchRules;
use smp_merge::patch::{
    CreateOptions, PatchForm, PatchInputs, PatchType, ThreeWayOptions, alternative_forms, create_verified,
    last_applied, share_namespace, with_last_applied,
};
use smp_merge::schema::{Cursor, Schema};
use smp_overlay::overlay::ChainPurpose;
use smp_overlay::package::type_warnings;
use smp_overlay::schema_chain::SchemaChoice;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::source::SourceMap;
use smp_text::yaml::{self, Node};

/// Create a patch from two or three manifests.
#[derive(Debug, Args)]
pub(super) struct CreatePatchArgs {
    /// File with the original or last-applied manifest
    ///
    /// With --from-last-applied, the file with the live object.
    #[arg(value_name = "ORIGINAL")]
    original: PathBuf,

    /// File with the modified manifest
    #[arg(value_name = "MODIFIED")]
    modified: PathBuf,

    /// File with the live object, for a three-way patch
    ///
    /// The patch removes fields that ORIGINAL has and MODIFIED does not have. A field that was changed in
    /// MODIFIED and in the live object, to different values, is a conflict: the command fails unless
    /// --overwrite is given. Null in ORIGINAL or MODIFIED is treated as absent.
    #[arg(long, value_name = "FILE")]
    current: Option<PathBuf>,

    /// Read the last-applied manifest from the annotation of ORIGINAL
    ///
    /// ORIGINAL is the live object. The patch also updates the annotation.
    #[arg(long, conflicts_with = "current")]
    from_last_applied: bool,

    /// Overwrite conflicting changes of the live object instead of failing
    #[arg(long)]
    overwrite: bool,

    /// Type of the patch: strategic, JSON merge or JSON patch
    ///
    /// JSON merge patches are those of RFC 7386, and JSON patches those of RFC 6902.
    #[arg(long = "type", value_name = "TYPE", value_parser = patch_type(), default_value = "strategic")]
    patch_type: PatchType,

    /// Merge rules of the applying program [default: apiserver]
    #[arg(long, value_enum)]
    dialect: Option<CreateDialect>,

    /// Write `$patchMergeKey` for lists whose merge key is not unique
    ///
    /// It contains all recommended keys of the list.
    ///
    /// Example: the merge key of a Service's ports is `port`, which is not unique. The recommended keys are
    /// `port` and `protocol` (`schema show` prints them). No released API server supports the directive
    /// `$patchMergeKey`; `kubectl smp` does. `--dialect schema` always writes it.
    #[arg(long)]
    recommended_keys: bool,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = PatchOutput::Yaml)]
    output: PatchOutput,

    #[command(flatten)]
    schema: SchemaArgs,

    /// OpenAPI definition for documents without a known kind
    ///
    /// An example is io.k8s.api.core.v1.PodSpec.
    #[arg(long, value_name = "NAME")]
    schema_type: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CreateDialect {
    /// Like the API server
    Apiserver,
    /// By list type and list map keys of the schema, for any kind
    #[value(alias = "overlay")]
    Schema,
}

/// The manifests from which a patch is created.
struct Manifests {
    original: Node,
    modified: Node,
    current: Option<Node>,
}

impl CreatePatchArgs {
    /// Returns the options of the patch.
    ///
    /// # Errors
    /// An argument would have no effect.
    fn options(&self) -> std::result::Result<CreateOptions, Failure> {
        if self.overwrite && self.current.is_none() && !self.from_last_applied {
            let message = "`--overwrite` requires a three-way patch: use --current or --from-last-applied";
            return Err(Failure::Usage(message.into()));
        }
        let files = [Some(&self.original), Some(&self.modified), self.current.as_ref()];
        if files.into_iter().flatten().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
            return Err(stdin_used_twice());
        }
        if self.recommended_keys && self.patch_type != PatchType::Strategic {
            let message =
                "`--recommended-keys` requires a strategic merge patch: remove it, or use --type=strategic";
            return Err(Failure::Usage(message.into()));
        }
        if self.dialect.is_some() && self.patch_type != PatchType::Strategic {
            return Err(dialect_requires_strategic());
        }
        let rules = match self.dialect {
            Some(CreateDialect::Schema) => PatchRules::Overlay,
            Some(CreateDialect::Apiserver) | None => PatchRules::Apiserver,
        };
        let three_way = ThreeWayOptions::default().overwrite(self.overwrite);
        Ok(CreateOptions::default().rules(rules).three_way(three_way).recommended_keys(self.recommended_keys))
    }

    fn manifests(&self, sources: &SourceMap) -> Result<Manifests> {
        let read = |path: &Path| {
            let node = read_document(path, sources)?;
            if node.is_null() && path != self.original {
                let message = format!("{} contains no manifest", path.display());
                return Err(Diagnostic::error(Code::MissingField, message));
            }
            Ok(node)
        };
        let (mut original, mut modified) = (read(&self.original)?, read(&self.modified)?);
        if self.from_last_applied {
            let mut current = original;
            let mut original = last_applied(&current).map_err(explain_missing_annotation)?;
            share_namespace(&mut [&mut current, &mut modified, &mut original]);
            return Ok(Manifests {
                original,
                modified: with_last_applied(&modified)?,
                current: Some(current),
            });
        }
        let mut current = self.current.as_deref().map(read).transpose()?;
        let mut versions: Vec<&mut Node> = current.iter_mut().collect();
        versions.extend([&mut modified, &mut original]);
        share_namespace(&mut versions);
        Ok(Manifests { original, modified, current })
    }

    /// Returns the schema of the patched kind. Only strategic merge patches need a schema, so no
    /// source is queried for other types.
    fn schema(&self, modified: &Node, sources: &SourceMap) -> Result<WithWarnings<Schema>> {
        let is_needed = self.patch_type == PatchType::Strategic || self.schema.schema != SchemaChoice::Auto;
        if !is_needed {
            return Ok(Schema::embedded().into());
        }
        let mut chain = self.schema.chain(sources, ChainPurpose::Manifests)?;
        let value = chain.resolve(gvk_of(modified).as_ref())?;
        Ok(WithWarnings { value, warnings: chain.take_warnings() })
    }
}

/// Prints the patch that turns the original into the modified manifest.
pub(super) fn run(args: &CreatePatchArgs, sources: &SourceMap) -> Outcome {
    args.schema.check_no_namespace()?;
    let options = args.options()?;
    let Manifests { original, modified, current } = args.manifests(sources)?;
    let WithWarnings { value: schema, mut warnings } = args.schema(&modified, sources)?;
    let known = resolve_type(&modified, &schema, args.schema_type.as_deref())?;
    if args.patch_type == PatchType::Strategic && options.rules == PatchRules::Apiserver {
        check_strategic_kind(&modified, &args.schema, args.schema_type.as_deref())?;
    }
    let sides = PatchInputs { original: &original, modified: &modified, current: current.as_ref() };
    let kind = known.unwrap_or_else(Cursor::unknown);
    let patch = create_verified(&sides, args.patch_type, kind, &options);
    let patch = patch.map_err(|error| with_alternatives(error, &sides, args.patch_type, kind, options))?;
    warnings.extend(patch.warnings);
    warnings.extend(type_warnings(&modified, kind));
    render::print_or_reject(&warnings, sources)?;
    print(&match args.output {
        PatchOutput::Yaml => yaml::to_yaml(&patch.value)?,
        PatchOutput::Json => yaml::to_json_pretty(&patch.value)?,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn explain_missing_annotation(error: Diagnostic) -> Diagnostic {
    match error.code() {
        Code::MissingField => error.help(
            "the object has no copy of the manifest of its last `kubectl apply`: pass the last-applied manifest as ORIGINAL, and this one as \
             --current",
        ),
        _ => error,
    }
}

/// Adds the flags with which a patch can be created to an error. Only flags with which the creation
/// succeeded are added.
fn with_alternatives(
    error: Diagnostic,
    sides: &PatchInputs<'_>,
    patch_type: PatchType,
    kind: Cursor<'_>,
    options: CreateOptions,
) -> Diagnostic {
    if error.code() == Code::Conflict {
        let overwriting = options.three_way(options.three_way.overwrite(true));
        let is_alternative =
            !options.three_way.overwrite && create_verified(sides, patch_type, kind, &overwriting).is_ok();
        return if is_alternative {
            error.help("use --overwrite to undo the change in the cluster, or copy the value of the cluster to the manifest")
        } else {
            error
        };
    }
    let flags: Vec<&str> =
        alternative_forms(sides, patch_type, kind, &options).into_iter().map(flag).collect();
    let help = match flags.as_slice() {
        [] => return error,
        [one] => format!("`{one}` can express this change"),
        [some @ .., last] => format!("`{}` or `{last}` can express this change", some.join("`, `")),
    };
    if error.help_text().is_some() { error.note(help) } else { error.help(help) }
}

/// Returns the flag for an alternative type of patch.
fn flag(way: PatchForm) -> &'static str {
    match way.patch_type {
        PatchType::Strategic => "--dialect schema",
        PatchType::Merge => "--type merge",
        PatchType::Json => "--type json",
    }
}
