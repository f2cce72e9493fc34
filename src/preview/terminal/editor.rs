//! The command that opens an editor at a line.

use std::path::Path;
use std::process::Command;

/// A location in a local file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditorTarget {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Returns the editor of `VISUAL` or `EDITOR`, or the default editor.
pub(super) fn editor_of(variable: impl Fn(&str) -> Option<String>) -> String {
    let is_set = |value: &String| !value.trim().is_empty();
    let named = variable("VISUAL").filter(is_set).or_else(|| variable("EDITOR").filter(is_set));
    named.unwrap_or_else(|| if cfg!(windows) { "notepad".into() } else { "vi".into() })
}

/// Returns the command that opens a file in an editor. As in `kubectl edit`, an editor command with quotes is run by a
/// shell.
pub(super) fn command(editor: &str, target: &EditorTarget) -> Command {
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let arguments = arguments(program, target);
    if cfg!(unix) && editor.contains(['"', '\'', '\\']) {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{editor} \"$@\""), "sh"]).args(arguments);
        return command;
    }
    let mut command = Command::new(program);
    command.args(words).args(arguments);
    command
}

/// Returns the arguments that open a file at a line. An unknown editor only gets the path of the file.
fn arguments(program: &str, target: &EditorTarget) -> Vec<String> {
    let EditorTarget { path, line, column } = target;
    let program = program.trim_matches(['"', '\'']);
    let name = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let location = format!("{path}:{line}:{column}");
    match name {
        "vi" | "vim" | "nvim" | "gvim" | "view" => vec![format!("+{line}"), path.clone()],
        "nano" => vec![format!("+{line},{column}"), path.clone()],
        "emacs" | "emacsclient" | "kak" | "micro" => vec![format!("+{line}:{column}"), path.clone()],
        "hx" | "helix" | "zed" | "subl" => vec![location],
        "code" | "code-insiders" | "codium" | "cursor" => vec!["--goto".into(), location],
        "idea" => {
            vec!["--line".into(), line.to_string(), "--column".into(), column.to_string(), path.clone()]
        }
        _ => vec![path.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(editor: &str) -> Vec<String> {
        let target = EditorTarget { path: "/a b/c.yaml".into(), line: 7, column: 3 };
        let command = command(editor, &target);
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn editors_open_at_the_line() {
        assert_eq!(words("vim"), ["vim", "+7", "/a b/c.yaml"]);
        assert_eq!(words("/usr/bin/nano -w"), ["/usr/bin/nano", "-w", "+7,3", "/a b/c.yaml"]);
        assert_eq!(words("emacsclient -t"), ["emacsclient", "-t", "+7:3", "/a b/c.yaml"]);
        assert_eq!(words("hx"), ["hx", "/a b/c.yaml:7:3"]);
        assert_eq!(words("code --wait"), ["code", "--wait", "--goto", "/a b/c.yaml:7:3"]);
        assert_eq!(words("ed"), ["ed", "/a b/c.yaml"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_shell_runs_an_editor_with_quotes() {
        assert_eq!(words("'vim' -u x"), ["sh", "-c", "'vim' -u x \"$@\"", "sh", "+7", "/a b/c.yaml"]);
    }

    #[test]
    fn visual_comes_before_editor() {
        let both = |name: &str| Some(if name == "VISUAL" { "nvim".to_string() } else { "ed".into() });
        assert_eq!(editor_of(both), "nvim");
        assert_eq!(editor_of(|name| (name == "EDITOR").then(|| "ed".into())), "ed");
        assert_eq!(editor_of(|name| (name == "VISUAL").then(|| " ".into())), editor_of(|_| None));
    }
}
