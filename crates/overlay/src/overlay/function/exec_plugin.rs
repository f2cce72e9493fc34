//! Plugins in the user's plugin directory: exec plugins and Go plugins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::transform::Files;
use smp_files::{DiskTree, FileTree as _};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::{DecodeOptions, Node, Spanned, from_node_with};

/// The fields of a configuration that become arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Arguments {
    args_one_liner: String,
    args_from_file: String,
}

/// Returns the first existing plugin directory, in kustomize's order.
///
/// `variable` returns the value of an environment variable.
pub(super) fn plugin_home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let variable_path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = variable_path(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    let candidates = [
        variable_path("KUSTOMIZE_PLUGIN_HOME"),
        variable_path("XDG_CONFIG_HOME").map(|config| config.join("kustomize").join("plugin")),
        user.as_deref().map(|user| user.join(".config").join("kustomize").join("plugin")),
        user.as_deref().map(|user| user.join("kustomize").join("plugin")),
    ];
    candidates.into_iter().flatten().find(|path| DiskTree.contains(path))
}

/// Returns the executable of a plugin: `PLUGIN_HOME/GROUP/VERSION/LOWERCASE_KIND/KIND`.
///
/// # Errors
/// There is no plugin directory, or the plugin does not exist, is not executable, has an invalid name, or is a Go
/// plugin.
pub(super) fn find_plugin(gvk: &Gvk, home: Option<&Path>) -> Result<PathBuf> {
    let Some(home) = home else {
        return Err(Diagnostic::error(Code::NoMatch, format!("plugin not found: {gvk}"))
            .note("not a function either: it has no annotation config.kubernetes.io/function")
            .note("no plugin directory found, such as ~/.config/kustomize/plugin")
            .help("correct apiVersion and kind, or set KUSTOMIZE_PLUGIN_HOME to the plugin directory"));
    };
    let parts = [gvk.group.as_str(), &gvk.version, &gvk.kind.to_lowercase(), &gvk.kind];
    // Values of the configuration must not refer to files outside the plugin directory.
    if let Some(part) = parts.iter().find(|part| **part == ".." || part.contains(['/', '\\'])) {
        return Err(Diagnostic::error(
            Code::InvalidValue,
            format!("invalid plugin name: `{part}` is not allowed in apiVersion or kind"),
        ));
    }
    let path =
        parts.iter().filter(|part| !part.is_empty()).fold(home.to_path_buf(), |path, part| path.join(part));
    match DiskTree::is_executable(&path) {
        Ok(true) => return Ok(path),
        Ok(false) => {
            let message = format!("the plugin {} is not executable", path.display());
            return Err(Diagnostic::error(Code::Io, message));
        }
        Err(_) => {}
    }
    let go = path.with_file_name(format!("{}.so", gvk.kind));
    if DiskTree.contains(&go) {
        let message = format!("{} is a Go plugin, and Go plugins are not supported", go.display());
        return Err(Diagnostic::error(Code::Unsupported, message)
            .note("Go plugins can only be loaded by the program they were compiled with")
            .help("convert it to a KRM function: an executable that reads and writes a ResourceList"));
    }
    Err(Diagnostic::error(Code::NoMatch, format!("plugin not found: {gvk}"))
        .note(format!("looked for {}", path.display()))
        .note("not a function either: it has no annotation config.kubernetes.io/function"))
}

/// Returns the arguments that a configuration passes to its plugin, after the path of the configuration file.
///
/// # Errors
/// A quote is not closed, or the file with arguments cannot be read.
pub(super) fn arguments(config: &Node, files: &dyn Files) -> Result<Vec<String>> {
    let given: Arguments = from_node_with(config, DecodeOptions::plugin())?;
    let location = |field: &str| config.get(field).map_or(Span::default(), Node::span);
    let mut arguments = words(&given.args_one_liner).ok_or_else(|| {
        Diagnostic::error(Code::Syntax, "unclosed quote").at(location("argsOneLiner")).field("argsOneLiner")
    })?;
    if !given.args_from_file.is_empty() {
        let content = files.read(&given.args_from_file, location("argsFromFile"))?;
        let text = String::from_utf8_lossy(&content);
        let lines = text.split('\n').map(|line| line.trim_start_matches(' ')).filter(|line| !line.is_empty());
        arguments.extend(lines.map(ToString::to_string));
    }
    Ok(arguments)
}

/// Returns the file that [`arguments`] reads.
///
/// # Errors
/// The configuration is malformed.
pub(super) fn arguments_file(config: &Node) -> Result<Option<Spanned<String>>> {
    let given: Arguments = from_node_with(config, DecodeOptions::plugin())?;
    let at = config.get("argsFromFile").map_or(Span::default(), Node::span);
    Ok(Some(given.args_from_file).filter(|path| !path.is_empty()).map(|path| Spanned::new(path, at)))
}

/// Splits a line into words like a shell, up to `#`, but drops empty words. Returns `None` if a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut quote, mut escaped) = (None, false);
    for c in line.chars() {
        match (c, quote) {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            ('\\', Some('"') | None) => escaped = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('#', None) => break,
            (c, None) if c.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty()));
            }
            (c, _) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn words_are_split_as_in_a_shell() {
        let table = [
            ("a b  c", Some(vec!["a", "b", "c"])),
            ("a 'b c' \"d e\"", Some(vec!["a", "b c", "d e"])),
            ("a'b'c", Some(vec!["abc"])),
            (r"a\ b \' 'x\y' ", Some(vec!["a b", "'", r"x\y"])),
            ("a # b", Some(vec!["a"])),
            ("a '#' b#c d", Some(vec!["a", "#", "b"])),
            ("''", Some(vec![])),
            ("", Some(vec![])),
            ("a 'b", None),
        ];
        for (line, want) in table {
            let want = want.map(|words| words.into_iter().map(ToString::to_string).collect());
            assert_eq!(words(line), want, "{line}");
        }
    }

    #[test]
    fn first_existing_directory_is_the_plugin_home() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let below = |path: &str| directory.path().join(path);
        for path in ["own", "config/kustomize/plugin", "user/kustomize/plugin"] {
            fs::create_dir_all(below(path)).expect("new");
        }
        let home_with = |variables: &[(&str, &str)]| {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, path)| path);
            plugin_home(|name| {
                find(name).map(|path| if path.is_empty() { OsString::new() } else { below(path).into() })
            })
        };
        let all = [("KUSTOMIZE_PLUGIN_HOME", "own"), ("XDG_CONFIG_HOME", "config"), ("HOME", "user")];
        assert_eq!(home_with(&all), Some(below("own")));
        assert_eq!(home_with(&all[1..]), Some(below("config/kustomize/plugin")));
        assert_eq!(home_with(&[("KUSTOMIZE_PLUGIN_HOME", ""), ("XDG_CONFIG_HOME", "nope")]), None);
        if !cfg!(windows) {
            assert_eq!(home_with(&all[2..]), Some(below("user/kustomize/plugin")));
        }
    }
}
