//! `kubectl smp tree`: what a target is made of.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::report::print;
use super::select::Selection;
use super::target::{ClusterUse, TargetArgs};
use super::{Outcome, render};
use smp_inspect::explain::{TreeLines, build_tree, tree_to_dot, tree_to_json, tree_to_mermaid, tree_to_text};
use smp_overlay::overlay::Histories;
use smp_text::source::SourceMap;

/// Build an overlay and show what it is made of: files, bases, components, patches, generators, transformers, and
/// which objects each of them made or changed.
///
/// Objects are told by the names that they have at the end. A directory that is used more than once is shown the first time.
#[derive(Debug, Args)]
pub(super) struct TreeArgs {
    /// Target: a directory, a kustomization file, a manifest, or - for a stream of manifests
    #[arg(value_name = "TARGET", default_value = ".")]
    path: PathBuf,

    /// Form of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: TreeForm,

    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TreeForm {
    /// A line for each part
    Text,
    /// A JSON object with its parts under `children`
    Json,
    /// A graph for Graphviz
    Dot,
    /// A flowchart for Mermaid
    Mermaid,
}

/// Shows what a target is made of.
pub(super) fn run(args: &TreeArgs, sources: &SourceMap) -> Outcome {
    let builder =
        args.target.builder(Histories::Kept, sources, std::slice::from_ref(&args.path), ClusterUse::Asked)?;
    let built = Selection::of(&args.path, args.target.bases())?.build(&builder, &args.path)?;
    render::print_before(&built.warnings, sources)?;
    let tree = build_tree(&built, sources, &render::place_names(sources));
    let text = match args.output {
        TreeForm::Text => tree_to_text(&tree, lines(|name| std::env::var(name).ok())),
        TreeForm::Json => tree_to_json(&tree)?,
        TreeForm::Dot => tree_to_dot(&tree),
        TreeForm::Mermaid => tree_to_mermaid(&tree),
    };
    print(&sources.without_hidden_values(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The lines that can be shown, by what the environment says of characters; where it says nothing, boxes.
fn lines(variable: impl Fn(&str) -> Option<String>) -> TreeLines {
    let given = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(given).unwrap_or_else(|| "UTF-8".into());
    let locale = locale.to_lowercase();
    let is_simple = given(&"TERM").is_some_and(|terminal| terminal == "dumb");
    if is_simple || !(locale.contains("utf-8") || locale.contains("utf8")) {
        TreeLines::Ascii
    } else {
        TreeLines::Box
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_that_can_be_shown() {
        let table: [(&[(&str, &str)], TreeLines); 6] = [
            (&[], TreeLines::Box),
            (&[("LANG", "en_US.UTF-8")], TreeLines::Box),
            (&[("LANG", "C.utf8"), ("LC_ALL", "")], TreeLines::Box),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")], TreeLines::Ascii),
            (&[("LC_CTYPE", "de_DE.ISO-8859-1")], TreeLines::Ascii),
            (&[("LANG", "en_US.UTF-8"), ("TERM", "dumb")], TreeLines::Ascii),
        ];
        for (environment, want) in table {
            let variable = |name: &str| {
                environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
            };
            assert_eq!(lines(variable), want, "{environment:?}");
        }
    }
}
