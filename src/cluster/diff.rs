//! What applying would change: live objects beside the server's answer to a dry run.

use futures::StreamExt as _;
use futures::future::join;

use serde_json::Value;

use super::apply::{ApplyRequest, FieldValidation, PARALLEL, is_being_deleted, left_behind};
use super::client::Cluster;
use super::conflict::ApplyConflict;
use super::exchange::{Answer, Ask};
use super::failure::{Refusal, not_understood};
use super::plan::{Object, ObjectPlan, PlannedObject};
use super::{field_set, json, secret};
use crate::diagnostic::{Diagnostic, Result};
use crate::diff::canonical;
use crate::patch::LAST_APPLIED;
use crate::resource::Resource;
use crate::yaml::Node;

/// How to compare.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Who would own the fields.
    pub field_manager: String,
    /// Whether conflicts are passed over in silence, as applying with the same option would.
    pub force_conflicts: bool,
    /// Whether the values of Secrets are shown.
    pub show_secrets: bool,
    /// Whether managed fields are shown.
    pub show_managed_fields: bool,
    /// The most objects at a time; at least one.
    pub parallel: usize,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            field_manager: super::FIELD_MANAGER.into(),
            force_conflicts: false,
            show_secrets: false,
            show_managed_fields: false,
            parallel: PARALLEL,
        }
    }
}

/// Two versions of one object, without the noise that servers add and, unless asked for, without
/// the values of Secrets.
#[derive(Debug, Clone)]
pub struct ObjectDiff {
    /// The object.
    pub object: Object,
    /// What is there; none when it would be created.
    pub live: Option<Node>,
    /// What would be there after applying.
    pub merged: Node,
}

impl ObjectDiff {
    /// Whether applying would change anything that is shown.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.live.as_ref() != Some(&self.merged)
    }

    /// Both versions as canonical YAML; the first is empty when there is no live object.
    pub fn texts(&self) -> Result<(String, String)> {
        Ok((canonical(self.live.as_ref())?, canonical(Some(&self.merged))?))
    }
}

/// What came of a comparison.
#[derive(Debug, Clone, Default)]
pub struct DiffReport {
    /// All objects that could be compared, changed or not, in their order.
    pub objects: Vec<ObjectDiff>,
    /// Fields that applying would take from other managers, if it were forced to.
    pub conflicts: Vec<ApplyConflict>,
    /// What is worth knowing, such as namespaces that do not exist; each text comes once.
    pub warnings: Vec<String>,
    /// Why objects could not be compared.
    pub problems: Vec<Diagnostic>,
}

/// Compares objects with what is live.
///
/// Nothing is changed. An object whose namespace or kind the server does not have yet is an
/// addition, as it stands in its manifest.
///
/// # Errors
/// The server cannot be reached, or an object is not fit to be sent.
pub fn diff(cluster: &Cluster, resources: &[Resource], options: &DiffOptions) -> Result<DiffReport> {
    cluster.wait(async {
        let plan = ObjectPlan::make(cluster, resources).await?;
        let run = &DiffRun { cluster, options, plan: &plan };
        let compared =
            (0..plan.targets.len()).map(|i| async move { run.compare(&run.plan.targets[i]).await });
        let mut compared = futures::stream::iter(compared).buffered(options.parallel.max(1));
        let mut report = DiffReport::default();
        while let Some(result) = compared.next().await {
            match result {
                Ok(compared) => report.add(compared),
                Err(Stop::Object(problem)) => report.problems.push(problem),
                Err(Stop::All(problem)) => return Err(problem),
            }
        }
        Ok(report)
    })
}

impl DiffReport {
    fn add(&mut self, compared: Compared) {
        self.objects.push(compared.diff);
        self.conflicts.extend(compared.conflict);
        for text in compared.warnings {
            if !self.warnings.contains(&text) {
                self.warnings.push(text);
            }
        }
    }
}

struct Compared {
    diff: ObjectDiff,
    conflict: Option<ApplyConflict>,
    warnings: Vec<String>,
}

/// Why an object could not be compared.
enum Stop {
    Object(Diagnostic),
    /// The connection is lost.
    All(Diagnostic),
}

struct DiffRun<'a> {
    cluster: &'a Cluster,
    options: &'a DiffOptions,
    plan: &'a ObjectPlan<'a>,
}

impl DiffRun<'_> {
    async fn compare(&self, target: &PlannedObject<'_>) -> std::result::Result<Compared, Stop> {
        let stop = |problem: Diagnostic| {
            let place = target.resource.node().span().at_start();
            let problem = problem.reworded(|text| secret::without_values(text, target.resource));
            Stop::Object(problem.resource(target.resource.id()).at(place))
        };
        let Some(mapping) = target.mapping.as_ref().filter(|_| target.served) else {
            return Ok(self.addition(target, self.no_kind(target)));
        };
        let get = Ask::get(mapping.path(&target.object.namespace, &target.object.name));
        let body = target.body().map_err(stop)?;
        let (live, merged) = join(self.cluster.ask(&get), self.dry_run(target, body)).await;
        let (live, (merged, conflict)) = (live.map_err(Stop::All)?, merged.map_err(Stop::All)?);
        let merged = match merged {
            Ok(answer) => answer,
            Err(refusal) if refusal.lacks_namespace(&target.object.namespace) => {
                return Ok(self.addition(target, self.no_namespace(&target.object.namespace)));
            }
            Err(refusal) => return Err(stop(refusal.diagnostic(&self.cluster.endpoint))),
        };
        let live = match live.accepted() {
            Ok(answer) => Some(answer),
            Err(refusal) if refusal.is_not_found() => None,
            Err(refusal) => return Err(stop(refusal.diagnostic(&self.cluster.endpoint))),
        };
        let said = merged.warnings.iter();
        let mut warnings: Vec<_> = said.map(|text| secret::without_values(text, target.resource)).collect();
        let read = |answer: &Answer| self.read(target, &get.path, answer).map_err(stop);
        let mut after = read(&merged)?;
        if let Some(left) = live.as_ref().and_then(|live| self.left_behind(live, &merged)) {
            field_set::remove(&mut after, &left);
        }
        let (live, merged) = (live.as_ref().map(read).transpose()?, after);
        if live.as_ref().is_some_and(is_being_deleted) {
            warnings.push(format!("{} is being deleted", target.object));
        }
        Ok(Compared { diff: self.tidy(target, live, merged), conflict, warnings })
    }

    /// The server's answer to a dry run that takes over all fields, and whose these are now.
    async fn dry_run(
        &self,
        target: &PlannedObject<'_>,
        body: Vec<u8>,
    ) -> Result<(std::result::Result<Answer, Refusal>, Option<ApplyConflict>)> {
        let request = |force| ApplyRequest {
            field_manager: &self.options.field_manager,
            force,
            dry_run: true,
            // What is wrong with the fields is said, and what would change without them is shown.
            field_validation: FieldValidation::Warn,
        };
        let mut force = self.options.force_conflicts;
        let mut conflict = None;
        loop {
            let Some(ask) = request(force).ask(target, body.clone()) else {
                return Err(self.cluster.unknown_kind(&target.object.gvk));
            };
            let answer = self.cluster.ask(&ask).await?.accepted();
            if !force && let Err(refusal) = &answer {
                conflict = ApplyConflict::read(&target.object, refusal);
                force = conflict.is_some();
                if force {
                    continue;
                }
            }
            return Ok((answer, conflict));
        }
    }

    /// What goes when the fields of client-side appliers become those of the manager that applies, as applying
    /// has it before it applies. A dry run cannot do one after the other.
    fn left_behind(&self, live: &Answer, merged: &Answer) -> Option<Value> {
        memchr::memmem::find(&live.body, LAST_APPLIED.as_bytes())?;
        let manager = &self.options.field_manager;
        let (live, merged) =
            (json::decode::<Value>(&live.body).ok()?, json::decode::<Value>(&merged.body).ok()?);
        let entries = merged.pointer("/metadata/managedFields")?.as_array()?;
        let is_own = |entry: &&Value| entry["manager"] == **manager && entry["operation"] == "Apply";
        let applied = entries.iter().find(is_own).map_or(&Value::Null, |entry| &entry["fieldsV1"]);
        left_behind(&live, manager, applied)
    }

    /// The object that was asked for. Anything else would look like one without changes.
    fn read(&self, target: &PlannedObject<'_>, path: &str, answer: &Answer) -> Result<Node> {
        let object = json::read_object(&answer.body)
            .map_err(|error| not_understood(&self.cluster.endpoint, path, &error))?;
        let text = |path: &[&str]| object.get_path(path).and_then(Node::as_str);
        let is_asked_for = text(&["kind"]) == Some(target.object.gvk.kind.as_str())
            && text(&["metadata", "name"]) == Some(target.object.name.as_str());
        if is_asked_for {
            return Ok(object);
        }
        Err(not_understood(&self.cluster.endpoint, path, &format!("it is not {}", target.object)))
    }

    /// An object that is shown as its manifest has it.
    fn addition(&self, target: &PlannedObject<'_>, warning: Option<String>) -> Compared {
        let diff = self.tidy(target, None, target.manifest());
        Compared { diff, conflict: None, warnings: warning.into_iter().collect() }
    }

    fn no_kind(&self, target: &PlannedObject<'_>) -> Option<String> {
        let gvk = &target.object.gvk;
        let missing = !self.plan.defined.contains_key(gvk);
        missing.then(|| {
            let version = gvk.api_version();
            format!("the server has no kind {} in {version}, and none of the objects defines it", gvk.kind)
        })
    }

    fn no_namespace(&self, namespace: &str) -> Option<String> {
        let missing = !self.plan.namespaces.contains(namespace);
        missing.then(|| format!("the namespace {namespace} does not exist, and is not among the objects"))
    }

    fn tidy(&self, target: &PlannedObject<'_>, mut live: Option<Node>, mut merged: Node) -> ObjectDiff {
        let shown = Shown {
            status: target.resource.node().get("status").is_some(),
            managed_fields: self.options.show_managed_fields,
        };
        for node in live.iter_mut().chain([&mut merged]) {
            strip(node, shown);
        }
        if !self.options.show_secrets && secret::is_secret(&target.object.gvk) {
            secret::mask(live.as_mut(), Some(&mut merged));
        }
        ObjectDiff { object: target.object.clone(), live, merged }
    }
}

/// What servers set and nobody applies.
const NOISE: [&str; 5] = ["creationTimestamp", "generation", "resourceVersion", "selfLink", "uid"];

/// What is shown of all that only the server writes.
#[derive(Clone, Copy)]
struct Shown {
    status: bool,
    managed_fields: bool,
}

fn strip(node: &mut Node, shown: Shown) {
    if let Some(map) = node.as_map_mut()
        && !shown.status
    {
        map.remove("status");
    }
    let Some(metadata) = node.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    let noise = |name: &str| NOISE.contains(&name) || (name == "managedFields" && !shown.managed_fields);
    metadata.entries_mut().retain(|entry| !noise(&entry.key.text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::to_json;

    #[test]
    fn noise_is_left_out() {
        let text = r#"{"metadata":{"name":"a","uid":"u","generation":2,"managedFields":[],"labels":{"uid":"x"}},
            "spec":{"uid":1},"status":{"a":1}}"#;
        let stripped = |status, managed_fields| {
            let mut node = json::read(text.as_bytes()).expect("the test's JSON");
            strip(&mut node, Shown { status, managed_fields });
            to_json(&node).expect("JSON")
        };
        let want = r#"{"metadata":{"labels":{"uid":"x"},"name":"a"},"spec":{"uid":1}}"#;
        assert_eq!(stripped(false, false), want);
        assert!(stripped(true, false).ends_with(r#""status":{"a":1}}"#));
        assert!(stripped(false, true).contains("managedFields"));
    }
}
