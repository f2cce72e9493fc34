//! Unified diffs of canonical YAML.

use std::fmt::Write as _;
use std::time::Duration;

use similar::TextDiff;

use smp_text::diagnostic::Result;
use smp_text::yaml::{Node, to_json_pretty, to_yaml};

/// The number of unchanged lines around a change.
pub const CONTEXT: usize = 3;

/// The time limit for the search for a minimal diff. When it is exceeded, a longer diff is returned.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Returns a tree as canonical text: YAML with sorted fields. The text is empty if there is no tree.
///
/// A tree with data that YAML cannot contain, such as U+007F in a string, is returned as JSON.
///
/// # Errors
/// The tree contains infinity or NaN, or is nested too deeply.
pub fn canonical(node: Option<&Node>) -> Result<String> {
    let Some(node) = node else { return Ok(String::new()) };
    to_yaml(node).or_else(|_| to_json_pretty(node))
}

/// Returns a unified diff with its two header lines, as `diff -u` prints it. It is empty if the texts are equal.
///
/// ```
/// let text = strategic_merge_patch::diff::unified("a.yaml", "b.yaml", "x: 1\n", "x: 2\n");
/// assert_eq!(text, "--- a.yaml\n+++ b.yaml\n@@ -1 +1 @@\n-x: 1\n+x: 2\n");
/// ```
#[must_use]
pub fn unified(old_name: &str, new_name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(old, new);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(out, "{}", diff.unified_diff().context_radius(CONTEXT).header(old_name, new_name));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_have_no_old_lines() {
        assert_eq!(unified("a", "b", "", "x: 1\ny: 2\n"), "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+x: 1\n+y: 2\n");
        assert_eq!(unified("a", "b", "x: 1\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-x: 1\n");
    }

    #[test]
    fn distant_changes_get_separate_hunks() {
        let lines = |changed: &str| {
            (0..20).fold(String::new(), |text, i| match i {
                2 | 17 => text + changed + "\n",
                _ => text + &format!("line {i}\n"),
            })
        };
        let text = unified("a", "b", &lines("old"), &lines("new"));
        let hunks: Vec<_> = text.lines().filter(|l| l.starts_with("@@")).collect();
        assert_eq!(hunks, ["@@ -1,6 +1,6 @@", "@@ -15,6 +15,6 @@"]);
    }

    #[test]
    fn data_that_yaml_cannot_hold_is_shown_as_json() {
        let node = Node::list(vec![Node::string("\u{7f}")]);
        assert!(canonical(Some(&node)).expect("JSON").starts_with('['));
        assert_eq!(canonical(None).expect("nothing"), "");
    }
}
