//! Server-side apply conflicts: fields that another field manager owns.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::errors::{ApiError, ErrorCause};
use super::plan::Object;
use super::secret::{is_secret, is_secret_field};
use smp_merge::managed_fields::{Conflict, Conflicts, ManagedFields};
use smp_merge::patch::LAST_APPLIED;
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::yaml::Node;

/// A server-side apply conflict: other field managers own fields that would change.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApplyConflict {
    /// The object.
    pub object: Object,
    /// The conflicting fields, in the server's order.
    pub fields: Vec<FieldConflict>,
}

/// One conflicting field and its owner.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FieldConflict {
    /// The field path as the server writes it, without the leading dot:
    /// `spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// The field manager that owns the field.
    pub manager: String,
    /// The API version, subresource and time of the manager's last write, such as `using apps/v1 at
    /// 2026-01-02T03:04:05Z`. May be empty.
    pub detail: String,
    /// The time of the manager's last write, in RFC 3339, if the live object is known.
    pub time: Option<String>,
    /// The live value, if the live object is known. Values of Secrets are masked.
    pub value: Option<Node>,
}

/// Field managers of kubectl commands that do not apply server-side. They own fields of objects that were created or
/// edited before server-side apply was used.
const NON_APPLY_MANAGERS: [&str; 6] = [
    "before-first-apply",
    "kubectl-client-side-apply",
    "kubectl-create",
    "kubectl-edit",
    "kubectl-patch",
    "kubectl-replace",
];

impl ApplyConflict {
    /// Parses the conflict of a server's error response. Returns `None` if the error is not a field manager conflict.
    pub(super) fn from_error(object: &Object, api_error: &ApiError) -> Option<Self> {
        let causes = api_error.details.iter().flat_map(|details| &details.causes);
        let causes = causes.filter(|cause| cause.reason == "FieldManagerConflict");
        let fields: Vec<_> = causes.map(FieldConflict::read).collect();
        let found = api_error.http == 409 && !fields.is_empty();
        found.then(|| Self { object: object.clone(), fields })
    }

    /// Converts the conflicts of an apply that was computed locally.
    pub(super) fn from_conflicts(object: &Object, conflicts: &Conflicts) -> Self {
        let cause = |conflict: &Conflict| ErrorCause {
            reason: String::new(),
            message: conflict.message(),
            field: conflict.path.to_string(),
        };
        let fields = conflicts.as_slice().iter().map(|conflict| FieldConflict::read(&cause(conflict)));
        Self { object: object.clone(), fields: fields.collect() }
    }

    /// Adds the live values that would be lost, and the times at which they were written.
    pub(super) fn with_live(mut self, live: &Value) -> Self {
        let managed = ManagedFields::from_object(live).unwrap_or_default();
        for owner in managed.sorted() {
            let is_own = |field: &&mut FieldConflict| field.manager == owner.manager.name.as_str();
            let mut fields: FxHashMap<String, &mut FieldConflict> =
                self.fields.iter_mut().filter(is_own).map(|field| (field.path.clone(), field)).collect();
            if fields.is_empty() {
                continue;
            }
            for path in owner.fields.paths() {
                let text = path.to_string();
                let Some(field) = fields.remove(text.strip_prefix('.').unwrap_or(&text)) else { continue };
                let value = path.0.iter().try_fold(live, |value, element| element.find(value));
                let is_hidden = is_secret(&self.object.gvk)
                    && (text.ends_with(LAST_APPLIED)
                        || path
                            .0
                            .first()
                            .is_some_and(|first| is_secret_field(first.to_string().trim_start_matches('.'))));
                field.value =
                    value.map(|value| if is_hidden { Node::string("***") } else { Node::from(value) });
                field.time.clone_from(&owner.time);
            }
        }
        self
    }

    /// Returns true if all fields belong to some of these managers.
    pub(super) fn is_only_with(&self, managers: &[String]) -> bool {
        self.fields.iter().all(|field| managers.contains(&field.manager))
    }

    /// Removes the fields of some managers. Returns `None` if no fields remain.
    pub(super) fn without(mut self, managers: &[&str]) -> Option<Self> {
        self.fields.retain(|field| !managers.contains(&field.manager.as_str()));
        (!self.fields.is_empty()).then_some(self)
    }

    /// Removes the last-applied annotation, whose value need not be kept. Returns `None` if no fields remain.
    pub(super) fn without_last_applied(mut self) -> Option<Self> {
        let path = format!("metadata.annotations.{LAST_APPLIED}");
        self.fields.retain(|field| field.path != path);
        (!self.fields.is_empty()).then_some(self)
    }

    /// Adds a note for each field.
    fn describe(&self, diagnostic: Diagnostic) -> Diagnostic {
        let line = |f: &FieldConflict| match f.detail.as_str() {
            "" => format!(".{}: owned by `{}`", f.path, f.manager),
            detail => format!(".{}: owned by `{}` {detail}", f.path, f.manager),
        };
        self.fields.iter().fold(diagnostic, |d, field| d.note(line(field)))
    }

    /// Returns the conflict as an error.
    #[must_use]
    pub fn error(&self) -> Diagnostic {
        let message = format!("{}: {}", self.object, self.summary());
        self.describe(Diagnostic::error(Code::Conflict, message)).help(if self.is_migration() {
            "kubectl commands set these fields before the object was applied server-side: take ownership once with \
             --force-conflicts, or use --field-manager=kubectl if `kubectl apply` still manages the object"
        } else {
            "take ownership with --force-conflicts, remove the fields from the manifest, or set them to their \
             live values"
        })
    }

    /// Describes the conflict in one line, such as "2 fields are owned by `hpa`".
    pub(super) fn summary(&self) -> String {
        let (count, managers) = (self.fields.len(), self.managers());
        let fields = if count == 1 { "1 field is".into() } else { format!("{count} fields are") };
        format!("{fields} owned by {managers}")
    }

    /// Returns true if all owners are kubectl commands that do not apply server-side, such as `kubectl create`.
    fn is_migration(&self) -> bool {
        self.fields.iter().all(|field| NON_APPLY_MANAGERS.contains(&field.manager.as_str()))
    }

    fn managers(&self) -> String {
        let mut managers: Vec<&str> = self.fields.iter().map(|f| f.manager.as_str()).collect();
        managers.sort_unstable();
        managers.dedup();
        managers.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")
    }
}

impl FieldConflict {
    /// Parses `conflict with "manager" using apps/v1 at 2026-01-02T03:04:05Z`. The manager is quoted as in Go.
    fn read(cause: &ErrorCause) -> Self {
        let rest = cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message);
        // A JSON parser finds the end of the quoted text, since Go's escapes are nearly the same as those of JSON.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let (manager, detail) = match values.next() {
            Some(Ok(manager)) => (manager, rest.get(values.byte_offset()..).unwrap_or_default()),
            _ => (rest.to_string(), ""),
        };
        let path = cause.field.strip_prefix('.').unwrap_or(&cause.field).to_string();
        Self { path, manager, detail: detail.trim().to_string(), time: None, value: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Gvk;

    fn cause(message: &str, field: &str) -> ErrorCause {
        ErrorCause { reason: "FieldManagerConflict".into(), message: message.into(), field: field.into() }
    }

    #[test]
    fn managers_are_parsed_from_server_messages() {
        let table = [
            (r#"conflict with "kubectl""#, "kubectl", ""),
            (
                r#"conflict with "a \"b\"" with subresource "scale" using apps/v1"#,
                r#"a "b""#,
                r#"with subresource "scale" using apps/v1"#,
            ),
            ("something new", "something new", ""),
        ];
        for (message, manager, detail) in table {
            let read = FieldConflict::read(&cause(message, ".spec.replicas"));
            assert_eq!((read.manager.as_str(), read.detail.as_str()), (manager, detail), "{message}");
            assert_eq!(read.path, "spec.replicas");
        }
    }

    #[test]
    fn conflict_with_kubectl_commands_suggests_the_kubectl_manager() {
        let help = |managers: &[&str]| {
            let gvk = Gvk::from_manifest("v1", "ConfigMap");
            let field = |manager: &&str| {
                FieldConflict::read(&cause(&format!("conflict with \"{manager}\""), ".data"))
            };
            let object = Object { gvk, namespace: "a".into(), name: "web".into() };
            let conflict = ApplyConflict { object, fields: managers.iter().map(field).collect() };
            conflict.error().help_text().expect("a help").to_string()
        };
        for managers in
            [&["kubectl-create"][..], &["before-first-apply"], &["kubectl-edit", "kubectl-create"]]
        {
            let help = help(managers);
            assert!(help.contains("--force-conflicts") && help.contains("--field-manager=kubectl"), "{help}");
        }
        for managers in [&["hpa"][..], &["kubectl-create", "hpa"], &["kubectl"], &["kubectl-smp"]] {
            assert!(!help(managers).contains("--field-manager"), "{managers:?}");
        }
    }

    #[test]
    fn error_lists_each_field_with_its_manager() {
        let object = Object {
            gvk: Gvk::from_manifest("apps/v1", "Deployment"),
            namespace: "a".into(),
            name: "web".into(),
        };
        let body = br#"{"message":"Apply failed","reason":"ApplyConflict","details":{"causes":[
            {"reason":"FieldManagerConflict","message":"conflict with \"hpa\"","field":".spec.replicas"},
            {"reason":"FieldManagerConflict","message":"conflict with \"ci\" using apps/v1","field":".spec.paused"}]}}"#;
        let conflict = ApplyConflict::from_error(&object, &ApiError::parse(409, body)).expect("a conflict");
        let error = conflict.error();
        assert_eq!(error.message(), "deployment.apps/web: 2 fields are owned by `ci`, `hpa`");
        assert_eq!(
            error.notes(),
            [".spec.replicas: owned by `hpa`", ".spec.paused: owned by `ci` using apps/v1"]
        );
        let stale = br#"{"message":"the object has been modified","reason":"ApplyConflict","details":{}}"#;
        assert_eq!(ApplyConflict::from_error(&object, &ApiError::parse(409, stale)), None);
    }
}
