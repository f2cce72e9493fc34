//! Fields that another manager owns.

use super::failure::{FailureCause, Refusal};
use super::plan::Object;
use smp_merge::patch::LAST_APPLIED;
use smp_text::diagnostic::{Code, Diagnostic};

/// Why an object was not applied: other managers own fields that would change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApplyConflict {
    /// The object.
    pub object: Object,
    /// The fields, in the server's order.
    pub fields: Vec<FieldConflict>,
}

/// One field and who owns it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldConflict {
    /// The path as the server writes it, without the leading dot:
    /// `spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// The manager that owns the field.
    pub manager: String,
    /// How and when it took it, such as `using apps/v1 at 2026-01-02T03:04:05Z`; may be empty.
    pub detail: String,
}

/// The managers by which objects are made and changed by hand, before they are applied server-side.
const FORMER: [&str; 6] = [
    "before-first-apply",
    "kubectl-client-side-apply",
    "kubectl-create",
    "kubectl-edit",
    "kubectl-patch",
    "kubectl-replace",
];

impl ApplyConflict {
    /// From a refusal, when that is what it is about.
    pub(super) fn read(object: &Object, refusal: &Refusal) -> Option<Self> {
        let causes = refusal.details.iter().flat_map(|details| &details.causes);
        let causes = causes.filter(|cause| cause.reason == "FieldManagerConflict");
        let fields: Vec<_> = causes.map(FieldConflict::read).collect();
        let found = refusal.http == 409 && !fields.is_empty();
        found.then(|| Self { object: object.clone(), fields })
    }

    /// The same without the fields of some managers; none when all are theirs.
    pub(super) fn without(mut self, managers: &[&str]) -> Option<Self> {
        self.fields.retain(|field| !managers.contains(&field.manager.as_str()));
        (!self.fields.is_empty()).then_some(self)
    }

    /// The same without the annotation of client-side apply, which is nobody's wish; none when it is all.
    pub(super) fn without_last_applied(mut self) -> Option<Self> {
        let path = format!("metadata.annotations.{LAST_APPLIED}");
        self.fields.retain(|field| field.path != path);
        (!self.fields.is_empty()).then_some(self)
    }

    /// Adds a line for each field.
    fn describe(&self, diagnostic: Diagnostic) -> Diagnostic {
        let line = |f: &FieldConflict| match f.detail.as_str() {
            "" => format!("{}: owned by `{}`", f.path, f.manager),
            detail => format!("{}: owned by `{}` {detail}", f.path, f.manager),
        };
        self.fields.iter().fold(diagnostic, |d, field| d.note(line(field)))
    }

    /// As an error.
    #[must_use]
    pub fn error(&self) -> Diagnostic {
        let (count, managers) = (self.fields.len(), self.managers());
        let fields = if count == 1 { "1 field is".into() } else { format!("{count} fields are") };
        let message = format!("{}: {fields} owned by {managers}", self.object);
        self.describe(Diagnostic::error(Code::Conflict, message)).help(if self.is_migration() {
            "commands of kubectl set them before the object was applied server-side: take them over once with \
             --force-conflicts, or, if `kubectl apply` keeps the object, apply with --field-manager=kubectl as that \
             does"
        } else {
            "take the fields over with --force-conflicts, leave them out of the manifest, or give them the \
             values that they have"
        })
    }

    /// Whether nobody owns the fields but commands of kubectl that do not apply server-side, such as `kubectl create`.
    fn is_migration(&self) -> bool {
        self.fields.iter().all(|field| FORMER.contains(&field.manager.as_str()))
    }

    /// As a warning that says what applying will meet.
    #[must_use]
    pub fn warning(&self) -> Diagnostic {
        let message =
            format!("{}: applying needs --force-conflicts: owned by {}", self.object, self.managers());
        self.describe(Diagnostic::warning(Code::Conflict, message))
    }

    fn managers(&self) -> String {
        let mut managers: Vec<&str> = self.fields.iter().map(|f| f.manager.as_str()).collect();
        managers.sort_unstable();
        managers.dedup();
        managers.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")
    }
}

impl FieldConflict {
    /// `conflict with "manager" using apps/v1 at 2026-01-02T03:04:05Z`, the manager quoted as in Go.
    fn read(cause: &FailureCause) -> Self {
        let rest = cause.message.strip_prefix("conflict with ").unwrap_or(&cause.message);
        // Where quoted text ends, a reader of JSON knows as well; Go escapes hardly more than it.
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let (manager, detail) = match values.next() {
            Some(Ok(manager)) => (manager, rest.get(values.byte_offset()..).unwrap_or_default()),
            _ => (rest.to_string(), ""),
        };
        let path = cause.field.strip_prefix('.').unwrap_or(&cause.field).to_string();
        Self { path, manager, detail: detail.trim().to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::schema::Gvk;

    fn cause(message: &str, field: &str) -> FailureCause {
        FailureCause { reason: "FieldManagerConflict".into(), message: message.into(), field: field.into() }
    }

    #[test]
    fn managers_are_read_from_the_servers_words() {
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
    fn a_migration_is_called_one() {
        let help = |managers: &[&str]| {
            let gvk = Gvk::from_manifest("v1", "ConfigMap");
            let field = |manager: &&str| {
                FieldConflict::read(&cause(&format!("conflict with \"{manager}\""), ".data"))
            };
            let object = Object { gvk, namespace: "a".into(), name: "web".into() };
            let conflict = ApplyConflict { object, fields: managers.iter().map(field).collect() };
            conflict.error().help_text().expect("a way out").to_string()
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
    fn each_field_is_named_with_its_manager() {
        let object = Object {
            gvk: Gvk::from_manifest("apps/v1", "Deployment"),
            namespace: "a".into(),
            name: "web".into(),
        };
        let body = br#"{"message":"Apply failed","reason":"ApplyConflict","details":{"causes":[
            {"reason":"FieldManagerConflict","message":"conflict with \"hpa\"","field":".spec.replicas"},
            {"reason":"FieldManagerConflict","message":"conflict with \"ci\" using apps/v1","field":".spec.paused"}]}}"#;
        let conflict = ApplyConflict::read(&object, &Refusal::read(409, body)).expect("a conflict");
        let error = conflict.error();
        assert_eq!(error.message(), "deployment.apps/web: 2 fields are owned by `ci`, `hpa`");
        assert_eq!(
            error.notes(),
            ["spec.replicas: owned by `hpa`", "spec.paused: owned by `ci` using apps/v1"]
        );
        let stale = br#"{"message":"the object has been modified","reason":"ApplyConflict","details":{}}"#;
        assert_eq!(ApplyConflict::read(&object, &Refusal::read(409, stale)), None);
    }
}
