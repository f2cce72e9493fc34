//! `kubectl smp create-patch`: patches between manifests, and from what was applied last to a live object.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::document::{gvk_of, read_document, type_of};
use super::package::print;
use super::patch::{PatchOutput, TypeArg, check_servers_kind, dialect_of_no_strategic};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Rules;
use crate::overlay::ChainUse;
use crate::patch::{
    PatchKind, PatchSides, ThreeWayOptions, create_verified, last_applied, with_last_applied,
};
use crate::schema::{Cursor, Schema, SchemaChoice};
use crate::source::SourceMap;
use crate::yaml::{self, Node};

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
    #[arg(long, value_name = "FILE")]
    current: Option<PathBuf>,

    /// ORIGINAL is the live object: what was applied last stands in its annotation, which the patch renews
    #[arg(long, conflicts_with = "current")]
    from_last_applied: bool,

    /// Undo what others changed in the live object; otherwise that is an error
    #[arg(long)]
    overwrite: bool,

    /// Type of the patch
    #[arg(long = "type", value_enum, default_value_t = TypeArg::Strategic)]
    patch_type: TypeArg,

    /// By whose rules the strategic patch will be applied; without it the API server's
    #[arg(long, value_enum)]
    dialect: Option<CreateDialect>,

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
    fn kind(&self) -> std::result::Result<PatchKind, Failure> {
        if self.overwrite && self.current.is_none() && !self.from_last_applied {
            let message = "`--overwrite` is for three-way patches: give --current or --from-last-applied";
            return Err(Failure::Usage(message.into()));
        }
        Ok(match (self.patch_type, self.dialect) {
            (TypeArg::Strategic, Some(CreateDialect::Overlay)) => PatchKind::Strategic(Rules::Overlay),
            (TypeArg::Strategic, _) => PatchKind::Strategic(Rules::Apiserver),
            (_, Some(_)) => return Err(dialect_of_no_strategic()),
            (TypeArg::Merge, None) => PatchKind::Merge,
            (TypeArg::Json, None) => PatchKind::Json,
        })
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
        let (original, modified) = (read(&self.original)?, read(&self.modified)?);
        if self.from_last_applied {
            let (modified, current) = (with_last_applied(&modified)?, Some(original));
            let original = current.as_ref().map_or_else(|| Ok(Node::null()), last_applied)?;
            return Ok(Manifests { original, modified, current });
        }
        let current = self.current.as_deref().map(read).transpose()?;
        Ok(Manifests { original, modified, current })
    }

    /// The schema that the patch goes by. What is no strategic patch needs none, so nobody is asked for one.
    fn schema(&self, kind: PatchKind, modified: &Node, sources: &SourceMap) -> Result<Schema> {
        let is_needed = matches!(kind, PatchKind::Strategic(_)) || self.schema.schema != SchemaChoice::Auto;
        if !is_needed {
            return Ok(Schema::embedded());
        }
        let mut chain = self.schema.chain(sources, ChainUse::Manifests)?;
        let schema = chain.resolve(gvk_of(modified).as_ref())?;
        render::print(&chain.take_warnings(), sources);
        Ok(schema)
    }
}

/// Prints the patch that turns the original into the modified manifest.
pub(super) fn run(args: &CreatePatchArgs, sources: &SourceMap) -> Outcome {
    let kind = args.kind()?;
    let Manifests { original, modified, current } = args.manifests(sources)?;
    let schema = args.schema(kind, &modified, sources)?;
    let known = type_of(&modified, &schema, args.schema_type.as_deref())?;
    if kind == PatchKind::Strategic(Rules::Apiserver) {
        check_servers_kind(&modified, &args.schema, args.schema_type.as_deref())?;
    }
    let sides = PatchSides { original: &original, modified: &modified, current: current.as_ref() };
    let options = ThreeWayOptions::default().overwrite(args.overwrite);
    let patch = create_verified(&sides, kind, known.unwrap_or_else(Cursor::unknown), &options)?;
    render::print(&patch.warnings, sources);
    print(&match args.output {
        PatchOutput::Yaml => yaml::to_yaml(&patch.value)?,
        PatchOutput::Json => yaml::to_json_pretty(&patch.value)?,
    })?;
    Ok(ExitCode::SUCCESS)
}
