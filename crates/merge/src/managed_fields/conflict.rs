//! Conflicts: fields that an apply would change although other managers own them.

use std::fmt::Write as _;

use super::field_set::FieldSet;
use super::json_value::{Escape, write_json_string, write_quoted};
use super::managers::{Manager, Operation};
use super::path_element::Path;
use smp_text::diagnostic::{Code, Diagnostic};

/// A field that an apply would change although another manager owns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns the field.
    pub manager: Manager,
    /// The field.
    pub path: Path,
}

impl Conflict {
    /// Returns the API server's message: `conflict with "a" using apps/v1`.
    #[must_use]
    pub fn message(&self) -> String {
        format!("conflict with {}", described(&self.manager))
    }
}

/// The conflicts of an apply, by manager and path.
///
/// ```
/// use strategic_merge_patch::managed_fields::{Options, apply, conflicts};
/// use strategic_merge_patch::schema::Schema;
/// use serde_json::json;
///
/// let schema = Schema::embedded();
/// let options = Options::new(&schema);
/// let web = |replicas| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": replicas}});
/// let live = apply(None, &web(1), "ours", &options)?.into_object()?;
/// let found = conflicts(Some(&live), &web(2), "theirs", &options)?;
/// assert_eq!(found.message(), r#"Apply failed with 1 conflict: conflict with "ours": .spec.replicas"#);
/// assert!(found.to_status().contains(r#""reason":"FieldManagerConflict""#));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conflicts {
    conflicts: Vec<Conflict>,
}

impl Conflicts {
    /// Creates the conflicts for the fields of each manager. In servers the managers have no particular order.
    pub(super) fn new(fields: impl IntoIterator<Item = (Manager, FieldSet)>) -> Self {
        let mut fields: Vec<(Manager, FieldSet)> = fields.into_iter().collect();
        fields.sort_by_cached_key(|(manager, _)| manager.identifier());
        let conflicts_with = |(manager, fields): (Manager, FieldSet)| {
            fields.paths().into_iter().map(move |path| Conflict { manager: manager.clone(), path })
        };
        Self { conflicts: fields.into_iter().flat_map(conflicts_with).collect() }
    }

    /// Returns the conflicts, sorted by manager.
    #[must_use]
    pub fn as_slice(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Returns true if there are no conflicts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conflicts.is_empty()
    }

    /// Returns only the conflicts in fields that are not in `allowed`.
    pub(super) fn outside(&self, allowed: &FieldSet) -> Self {
        let is_outside = |conflict: &&Conflict| !allowed.contains(&conflict.path);
        Self { conflicts: self.conflicts.iter().filter(is_outside).cloned().collect() }
    }

    /// Returns the API server's message.
    #[must_use]
    pub fn message(&self) -> String {
        if let [conflict] = self.as_slice() {
            return format!("Apply failed with 1 conflict: {}: {}", conflict.message(), conflict.path);
        }
        let mut lines: Vec<String> = Vec::new();
        let mut last = None;
        for conflict in &self.conflicts {
            if last != Some(&conflict.manager) {
                lines.push(format!("conflicts with {}:", described(&conflict.manager)));
                last = Some(&conflict.manager);
            }
            lines.push(format!("- {}", conflict.path));
        }
        format!("Apply failed with {} conflicts: {}", self.conflicts.len(), lines.join("\n"))
    }

    /// Returns the body of the server's response with status 409, a `Status` as JSON with a line break at its end.
    #[must_use]
    pub fn to_status(&self) -> String {
        let mut out =
            String::from(r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#);
        write_json_string(&self.message(), Escape::Html, &mut out);
        out.push_str(r#","reason":"Conflict","details":{"causes":["#);
        for (i, conflict) in self.conflicts.iter().enumerate() {
            out.push_str(if i == 0 { "" } else { "," });
            out.push_str(r#"{"reason":"FieldManagerConflict","message":"#);
            write_json_string(&conflict.message(), Escape::Html, &mut out);
            out.push_str(r#","field":"#);
            write_json_string(&conflict.path.to_string(), Escape::Html, &mut out);
            out.push('}');
        }
        out.push_str("]},\"code\":409}\n");
        out
    }

    /// Returns the conflicts as one error.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        Diagnostic::error(Code::Conflict, self.message())
            .help("force the apply to take ownership of these fields, or remove them from the applied object")
    }
}

/// Returns a manager as the API server's messages name it.
fn described(manager: &Manager) -> String {
    let mut out = String::new();
    write_quoted(&manager.name, &mut out);
    if !manager.subresource.is_empty() {
        out.push_str(" with subresource ");
        write_quoted(&manager.subresource, &mut out);
    }
    if manager.operation == Operation::Update {
        let _ = write!(out, " using {}", manager.api_version);
    }
    out
}
