//! What the commands on packages share: where they write, and what they report.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use super::target::SchemaArgs;
use super::{Failure, render};
use crate::diagnostic::Result;
use crate::files::replace_file;
use crate::overlay::ChainUse;
use crate::package::{ChangedPackage, Package, recover_target, write_files};
use crate::schema::{Gvk, Schema};
use crate::source::SourceMap;

/// Where the result goes.
#[derive(Debug, Args)]
pub(super) struct WriteArgs {
    /// Write the result to a file instead of printing it
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    output: Option<PathBuf>,

    /// Change the files themselves: all of them, or none when something fails
    #[arg(long)]
    in_place: bool,
}

impl WriteArgs {
    /// Ends what a stopped program began to change, before the files are read.
    pub(super) fn recover(&self, target: &Path) -> Result<()> {
        if self.in_place { recover_target(target) } else { Ok(()) }
    }

    /// Writes or prints the result, and says what changed.
    pub(super) fn write(&self, target: &Path, changed: &ChangedPackage) -> std::result::Result<(), Failure> {
        if self.in_place {
            write_files(target, &changed.files)?;
        } else if let Some(path) = &self.output {
            replace_file(path, changed.stream().as_bytes())?;
        } else {
            print(&changed.stream())?;
        }
        report(changed);
        Ok(())
    }
}

pub(super) fn print(text: &str) -> std::result::Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Says on stderr what changed, so that it mixes with no output.
pub(super) fn report(changed: &ChangedPackage) {
    let mut lines: Vec<_> = changed.changes.iter().map(ToString::to_string).collect();
    lines.push(match changed.counts() {
        [0, 0, 0] => "nothing changed".to_string(),
        [added, changed, removed] => format!("{added} added, {changed} changed, {removed} removed"),
    });
    // When stderr is closed there is nobody left to tell.
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// The schema for the manifests of packages, CRDs among them included.
pub(super) fn schema_of(packages: &[&Package], args: &SchemaArgs, sources: &SourceMap) -> Result<Schema> {
    let mut chain = args.chain(sources, ChainUse::Manifests)?;
    let mut own = Schema::none();
    for package in packages {
        package.add_types(&mut own)?;
    }
    let kinds: Vec<Gvk> =
        packages.iter().flat_map(|p| p.kinds()).filter(|gvk| own.kind(gvk).is_none()).collect();
    let mut schema = chain.resolve(&kinds)?;
    render::print(&chain.take_warnings(), sources);
    // Kustomization files and the like, which are no kinds of a cluster.
    for (name, graph) in Schema::kustomize().graphs() {
        schema.push_back(name, graph.clone());
    }
    for (name, graph) in own.graphs() {
        schema.push_types(name, graph.clone());
    }
    Ok(schema)
}
