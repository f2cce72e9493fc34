//! `kubectl smp create-patch`: patches between manifests, and from what was applied last to a live object.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::document::{gvk_of, read_document, stdin_twice, type_of};
use super::package::print;
use super::patch::{PatchOutput, check_servers_kind, dialect_of_no_strategic, patch_type};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_merge::merge::PatchRules;
use smp_merge::patch::{
    CreateOptions, PatchSides, PatchType, PatchWay, ThreeWayOptions, create_verified, last_applied,
    share_namespace, ways_out, with_last_applied,
};
use smp_merge::schema::{Cursor, Schema};
use smp_overlay::overlay::ChainUse;
use smp_overlay::package::wrong_types;
use smp_overlay::schema_chain::SchemaChoice;
use smp_text::diagnostic::{Code, Diagnostic, Result, Warned};
use smp_text::source::SourceMap;
use smp_text::yaml::{self, Node};

/// Make the patch that turns one manifest into another.
///
/// The patch is tried before it is printed: what it makes of the manifest is what was wanted.
#[derive(Debug, Args)]
pub(super) struct CreatePatchArgs {
    /// File with the manifest as it is, or as it was last applied; with --from-last-applied the live object
    #[arg(value_name = "ORIGINAL")]
    original: PathBuf,

    /// File with the manifest as it shall be
    #[arg(value_name = "MODIFIED")]
    modified: PathBuf,

    /// File with the live object: the patch is made for it, and removes what MODIFIED has no more
    ///
    /// Where others changed since ORIGINAL what MODIFIED still names, or names no more, to something else, that is a
    /// conflict: an error without --overwrite. Null in ORIGINAL or MODIFIED counts as absent.
    #[arg(long, value_name = "FILE")]
    current: Option<PathBuf>,

    /// ORIGINAL is the live object: what was applied last stands in its annotation, which the patch renews
    #[arg(long, conflicts_with = "current")]
    from_last_applied: bool,

    /// Undo what others changed in the live object; without it such a conflict is an error
    #[arg(long)]
    overwrite: bool,

    /// Type of the patch
    #[arg(long = "type", value_parser = patch_type(), default_value = "strategic")]
    patch_type: PatchType,

    /// By whose rules the strategic patch will be applied; without it the API server's
    #[arg(long, value_enum)]
    dialect: Option<CreateDialect>,

    /// Name all merge keys of an entry under `$patchMergeKey` where the default key is shared: `port,protocol` of ports
    ///
    /// No released API server knows `$patchMergeKey`; `kubectl smp` does. `--dialect overlay` always names them.
    #[arg(long)]
    recommended_keys: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = PatchOutput::Yaml)]
    output: PatchOutput,

    #[command(flatten)]
    schema: SchemaArgs,

    /// Definition that describes documents without a kind
    #[arg(long, value_name = "NAME")]
    schema_type: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CreateDialect {
    /// As the API server
    Apiserver,
    /// By list map keys with their defaults, sets, atomic lists and maps; any kind
    Overlay,
}

/// The manifests that a patch is made of.
struct Manifests {
    original: Node,
    modified: Node,
    current: Option<Node>,
}

impl CreatePatchArgs {
    /// # Errors
    /// Arguments that would have no effect.
    fn options(&self) -> std::result::Result<CreateOptions, Failure> {
        if self.overwrite && self.current.is_none() && !self.from_last_applied {
            let message = "`--overwrite` is for three-way patches: give --current or --from-last-applied";
            return Err(Failure::Usage(message.into()));
        }
        let files = [Some(&self.original), Some(&self.modified), self.current.as_ref()];
        if files.into_iter().flatten().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
            return Err(stdin_twice());
        }
        if self.recommended_keys && self.patch_type != PatchType::Strategic {
            let message =
                "`--recommended-keys` is for strategic merge patches: leave it out, or use --type=strategic";
            return Err(Failure::Usage(message.into()));
        }
        if self.dialect.is_some() && self.patch_type != PatchType::Strategic {
            return Err(dialect_of_no_strategic());
        }
        let rules = match self.dialect {
            Some(CreateDialect::Overlay) => PatchRules::Overlay,
            Some(CreateDialect::Apiserver) | None => PatchRules::Apiserver,
        };
        let three_way = ThreeWayOptions::default().overwrite(self.overwrite);
        Ok(CreateOptions::default().rules(rules).three_way(three_way).recommended_keys(self.recommended_keys))
    }

    fn manifests(&self, sources: &SourceMap) -> Result<Manifests> {
        let read = |path: &Path| {
            let node = read_document(path, sources)?;
            if node.is_null() && path != self.original {
                let message = format!("{} has no manifest", path.display());
                return Err(Diagnostic::error(Code::MissingField, message));
            }
            Ok(node)
        };
        let (mut original, mut modified) = (read(&self.original)?, read(&self.modified)?);
        if self.from_last_applied {
            let mut current = original;
            let mut original = last_applied(&current).map_err(without_annotation)?;
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

    /// The schema that the patch goes by. What is no strategic patch needs none, so nobody is asked for one.
    fn schema(&self, modified: &Node, sources: &SourceMap) -> Result<Warned<Schema>> {
        let is_needed = self.patch_type == PatchType::Strategic || self.schema.schema != SchemaChoice::Auto;
        if !is_needed {
            return Ok(Schema::embedded().into());
        }
        let mut chain = self.schema.chain(sources, ChainUse::Manifests)?;
        let value = chain.resolve(gvk_of(modified).as_ref())?;
        Ok(Warned { value, warnings: chain.take_warnings() })
    }
}

/// Prints the patch that turns the original into the modified manifest.
pub(super) fn run(args: &CreatePatchArgs, sources: &SourceMap) -> Outcome {
    args.schema.check_no_namespace()?;
    let options = args.options()?;
    let Manifests { original, modified, current } = args.manifests(sources)?;
    let Warned { value: schema, mut warnings } = args.schema(&modified, sources)?;
    let known = type_of(&modified, &schema, args.schema_type.as_deref())?;
    if args.patch_type == PatchType::Strategic && options.rules == PatchRules::Apiserver {
        check_servers_kind(&modified, &args.schema, args.schema_type.as_deref())?;
    }
    let sides = PatchSides { original: &original, modified: &modified, current: current.as_ref() };
    let kind = known.unwrap_or_else(Cursor::unknown);
    let patch = create_verified(&sides, args.patch_type, kind, &options);
    let patch = patch.map_err(|error| with_way_out(error, &sides, args.patch_type, kind, options))?;
    warnings.extend(patch.warnings);
    warnings.extend(wrong_types(&modified, kind));
    render::print_before(&warnings, sources)?;
    print(&match args.output {
        PatchOutput::Yaml => yaml::to_yaml(&patch.value)?,
        PatchOutput::Json => yaml::to_json_pretty(&patch.value)?,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn without_annotation(error: Diagnostic) -> Diagnostic {
    match error.code() {
        Code::MissingField => error.help(
            "kubectl apply did not make it: give what was applied last as a file, and this one as --current",
        ),
        _ => error,
    }
}

/// The same error with the flags by which a patch can be made. All that it names was tried.
fn with_way_out(
    error: Diagnostic,
    sides: &PatchSides<'_>,
    patch_type: PatchType,
    kind: Cursor<'_>,
    options: CreateOptions,
) -> Diagnostic {
    if error.code() == Code::Conflict {
        let overwriting = options.three_way(options.three_way.overwrite(true));
        let is_way =
            !options.three_way.overwrite && create_verified(sides, patch_type, kind, &overwriting).is_ok();
        return if is_way {
            error.help("--overwrite undoes the other change; or take it over into the manifest")
        } else {
            error
        };
    }
    let flags: Vec<&str> = ways_out(sides, patch_type, kind, &options).into_iter().map(flag).collect();
    let way = match flags.as_slice() {
        [] => return error,
        [one] => format!("`{one}` makes a patch that says it"),
        [some @ .., last] => format!("`{}` or `{last}` makes a patch that says it", some.join("`, `")),
    };
    if error.help_text().is_some() { error.note(way) } else { error.help(way) }
}

/// The flag that asks for a patch of some sort.
fn flag(way: PatchWay) -> &'static str {
    match way.patch_type {
        PatchType::Strategic => "--dialect overlay",
        PatchType::Merge => "--type merge",
        PatchType::Json => "--type json",
    }
}
