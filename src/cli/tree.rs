//! `kubectl smp tree`: show the parts of a target.

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

/// Show the bases, patches and generators of an overlay.
#[derive(Debug, Args)]
pub(super) struct TreeArgs {
    /// Directory, kustomization file or manifest to build, or - (stdin)
    #[arg(value_name = "TARGET", default_value = ".")]
    path: PathBuf,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: TreeFormat,

    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TreeFormat {
    /// Indented tree
    Text,
    /// JSON object with nested `children`
    Json,
    /// Graphviz graph
    Dot,
    /// Mermaid flowchart
    Mermaid,
}

/// Prints the parts of a target.
pub(super) fn run(args: &TreeArgs, sources: &SourceMap) -> Outcome {
    let builder = args.target.builder(
        Histories::Enabled,
        sources,
        std::slice::from_ref(&args.path),
        ClusterUse::Optional,
    )?;
    let built = Selection::single(&args.path, args.target.bases())?.build(&builder, &args.path)?;
    render::print_or_reject(&built.warnings, sources)?;
    let tree = build_tree(&built, sources, &render::location_renderer(sources));
    let text = match args.output {
        TreeFormat::Text => tree_to_text(&tree, line_style(|name| std::env::var(name).ok())),
        TreeFormat::Json => {
            print(&sources.json_without_hidden_values(&tree_to_json(&tree)?))?;
            return Ok(ExitCode::SUCCESS);
        }
        TreeFormat::Dot => tree_to_dot(&tree),
        TreeFormat::Mermaid => tree_to_mermaid(&tree),
    };
    print(&sources.without_hidden_values(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Selects the line style by the locale and terminal in the environment. The default is box-drawing
/// characters.
fn line_style(variable: impl Fn(&str) -> Option<String>) -> TreeLines {
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
    fn line_style_follows_locale_and_terminal() {
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
            assert_eq!(line_style(variable), want, "{environment:?}");
        }
    }
}
