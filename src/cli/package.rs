//! What the commands on packages share: where they write, and what they report.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use super::target::SchemaArgs;
use super::{Failure, render};
use crate::diagnostic::Result;
use crate::files::replace_file;
use crate::package::{ChangedPackage, Package, write_files};
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
    /// Writes or prints the result, and says what changed.
    pub(super) fn write(&self, changed: &ChangedPackage) -> std::result::Result<(), Failure> {
        if self.in_place {
            write_files(&changed.files)?;
        } else if let Some(path) = &self.output {
            replace_file(path, changed.stream().as_bytes())?;
        } else {
            print(&changed.stream())?;
        }
        report(changed)
    }
}

pub(super) fn print(text: &str) -> std::result::Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Says on stderr what changed, so that it mixes with no output.
pub(super) fn report(changed: &ChangedPackage) -> std::result::Result<(), Failure> {
    let mut stderr = io::stderr().lock();
    for change in &changed.changes {
        writeln!(stderr, "{change}")?;
    }
    let [added, changed, removed] = changed.counts();
    if added + changed + removed == 0 {
        writeln!(stderr, "nothing changed")?;
    } else {
        writeln!(stderr, "{added} added, {changed} changed, {removed} removed")?;
    }
    Ok(())
}

/// The schema for the manifests of packages, CRDs among them included.
pub(super) fn schema_of(packages: &[&Package], args: &SchemaArgs, sources: &SourceMap) -> Result<Schema> {
    let mut chain = args.chain(sources, false)?;
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
