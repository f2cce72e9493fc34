//! Existing objects that a run adds to the set: the tools that manage them, and whether the set may prune them later.

use futures::StreamExt as _;
use serde_json::Value;

use super::id::PART_OF;
use super::members::label;
use crate::apply::{Adoption, DryRun, PreviousObject, was_applied_by};
use crate::client::Cluster;
use crate::listing::{ListOptions, ListedObject, ListedObjects};
use crate::plan::{KUBECTL, Object, ObjectPlan, ObjectTarget, with_nothing_sent_note};
use crate::request::unordered;
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::yaml::Node;

/// A label or annotation with which another tool marks the objects that it manages.
struct OwnerMark {
    /// `labels` or `annotations`.
    field: &'static str,
    key: &'static str,
    /// An annotation without which the mark is ignored.
    required_annotation: Option<&'static str>,
    /// The kind of owner.
    owner: &'static str,
    /// The annotation or label with the namespace of the owner.
    namespace_key: Option<&'static str>,
}

const MARKS: [OwnerMark; 6] = [
    OwnerMark {
        field: "annotations",
        key: "meta.helm.sh/release-name",
        required_annotation: None,
        owner: "Helm release",
        namespace_key: Some("meta.helm.sh/release-namespace"),
    },
    OwnerMark {
        field: "annotations",
        key: "argocd.argoproj.io/tracking-id",
        required_annotation: None,
        owner: "Argo CD application",
        namespace_key: None,
    },
    OwnerMark {
        field: "labels",
        key: "argocd.argoproj.io/instance",
        required_annotation: None,
        owner: "Argo CD application",
        namespace_key: None,
    },
    // Many manifests have this label. If Argo CD tracks objects by the label, it also adds the annotation.
    OwnerMark {
        field: "labels",
        key: "app.kubernetes.io/instance",
        required_annotation: Some("argocd.argoproj.io/installation-id"),
        owner: "Argo CD application",
        namespace_key: None,
    },
    OwnerMark {
        field: "labels",
        key: "kustomize.toolkit.fluxcd.io/name",
        required_annotation: None,
        owner: "Flux Kustomization",
        namespace_key: Some("kustomize.toolkit.fluxcd.io/namespace"),
    },
    OwnerMark {
        field: "labels",
        key: "helm.toolkit.fluxcd.io/name",
        required_annotation: None,
        owner: "Flux HelmRelease",
        namespace_key: Some("helm.toolkit.fluxcd.io/namespace"),
    },
];

impl OwnerMark {
    /// Returns the owner of a live object, such as ``the Helm release `web` in shop``. Marks in the manifest are
    /// ignored, since they were copied.
    fn owner(&self, metadata: &Value, manifest: &Node) -> Option<String> {
        let text = |field: &str, key: &str| metadata.get(field)?.get(key)?.as_str();
        let value = text(self.field, self.key)?;
        if self.required_annotation.is_some_and(|key| text("annotations", key).is_none())
            || manifest.get_path(&["metadata", self.field, self.key]).is_some()
        {
            return None;
        }
        // The format of a tracking ID is `application:group/kind:namespace/name`.
        let name = value.split(':').next().unwrap_or(value);
        let namespace = self.namespace_key.and_then(|key| text(self.field, key));
        let namespace = namespace.map(|namespace| format!(" in {namespace}")).unwrap_or_default();
        Some(format!("the {} `{name}`{namespace}", self.owner))
    }
}

/// Existing objects that become members of a set.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// Objects that were not created by applying manifests. The set only prunes them if the user agrees.
    pub(super) adopted: Vec<Object>,
    /// Objects that `kubectl apply` or this program previously applied without the set.
    pub(super) formerly_applied: Vec<Object>,
}

/// The set, and the options that determine which objects may be taken over.
pub(super) struct TakeoverOptions<'o> {
    pub(super) id: &'o str,
    /// The field manager of the run.
    pub(super) field_manager: &'o str,
    /// True to take over objects that other tools own.
    pub(super) adopt: bool,
    pub(super) parallel: usize,
}

impl TakeoverOptions<'_> {
    /// Finds the existing objects that are not members yet. `is_member` returns true for objects that need not be read.
    ///
    /// # Errors
    /// An object belongs to another tool or set, or cannot be read. Nothing was sent.
    pub(super) async fn find(
        &self,
        cluster: &Cluster,
        plan: &ObjectPlan<'_>,
        is_member: impl Fn(&Object) -> bool,
    ) -> Result<Takeover> {
        let targets: Vec<&ObjectTarget<'_>> =
            plan.targets.iter().filter(|target| target.served && !is_member(&target.object)).collect();
        let listed = ListedObjects::list(cluster, &targets, ListOptions::METADATA, |_, metadata| metadata);
        let listed = &listed.await.map_err(with_nothing_sent_note)?;
        let read = targets.iter().enumerate().map(|(index, target)| async move {
            let metadata = match listed.get(target) {
                Some(ListedObject::Present(item)) => Ok(Some(item.clone())),
                Some(ListedObject::Absent) => Ok(None),
                None => read_metadata(cluster, target).await,
            };
            (index, metadata)
        });
        let mut read = unordered(read, self.parallel).collect::<Vec<_>>().await;
        read.sort_unstable_by_key(|(index, _)| *index);
        let (mut found, mut problems) = (Takeover::default(), Problems::default());
        for (index, live) in read {
            if let Some(live) = live.map_err(with_nothing_sent_note)? {
                self.add(targets[index], &live, &mut found, &mut problems);
            }
        }
        problems.into_result(found).map_err(with_nothing_sent_note)
    }

    fn add(&self, target: &ObjectTarget<'_>, live: &Value, found: &mut Takeover, problems: &mut Problems) {
        let Some(metadata) = live.get("metadata") else { return };
        let set = label(metadata);
        if set == Some(self.id) {
            return;
        }
        if !self.adopt {
            if let Some(set) = set {
                return problems.add(member_of_other_set(target, set));
            }
            if let Some(owner) = MARKS.iter().find_map(|mark| mark.owner(metadata, target.resource.node())) {
                return problems.add(owned_by_other_tool(target, &owner));
            }
        }
        let managers = [self.field_manager, KUBECTL];
        let all =
            if was_applied_by(live, &managers) { &mut found.formerly_applied } else { &mut found.adopted };
        all.push(target.object.clone());
    }
}

async fn read_metadata(cluster: &Cluster, target: &ObjectTarget<'_>) -> Result<Option<Value>> {
    let Some(path) = target.served_path() else { return Ok(None) };
    match PreviousObject::read(cluster, &path, DryRun::None).await {
        Ok(PreviousObject::Present(live)) => Ok(Some(live)),
        Ok(PreviousObject::Absent) => Ok(None),
        Ok(PreviousObject::Unknown) => {
            let message = format!("cannot read {}: whether another tool owns it is unknown", target.object);
            let problem = target.located(Diagnostic::error(Code::Remote, message));
            Err(problem.help("an ApplySet requires permission to get, list and patch its objects"))
        }
        Err(error) => Err(error.into_problem(cluster)),
    }
}

impl Takeover {
    /// Returns the adopted objects and the ID of the set that adopts them.
    pub(super) fn adoption(&self, id: &str) -> Adoption {
        Adoption { set: id.to_string(), objects: self.adopted.iter().cloned().collect() }
    }
}

/// Returns the error for an object of another set, since that set would prune it.
pub(super) fn member_of_other_set(target: &ObjectTarget<'_>, set: &str) -> Diagnostic {
    let message = format!("{} belongs to another ApplySet", target.object);
    let problem = target.located(Diagnostic::error(Code::Conflict, message));
    let namespace = match target.object.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    let help = format!("kubectl label{namespace} {} {PART_OF}-", target.object);
    let problem = problem.note(format!("its label {PART_OF} is {set}"));
    problem
        .help(format!("apply it with that ApplySet, take it over with --adopt, or remove the label: {help}"))
}

fn owned_by_other_tool(target: &ObjectTarget<'_>, owner: &str) -> Diagnostic {
    let message = format!("{} belongs to {owner}", target.object);
    target
        .located(Diagnostic::error(Code::Conflict, message))
        .note("both tools would change the object, and either could delete it")
        .help("remove it from the manifests or from the other tool, or take it over with --adopt")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(metadata: &Value, manifest: &str) -> Option<String> {
        let manifest: Node = manifest.parse().expect("YAML");
        MARKS.iter().find_map(|mark| mark.owner(metadata, &manifest))
    }

    #[test]
    fn owners_are_known_by_their_marks() {
        let table = [
            (
                json!({"annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}}),
                Some("the Helm release `web` in shop"),
            ),
            (
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "web:apps/Deployment:shop/web"}}),
                Some("the Argo CD application `web`"),
            ),
            (
                json!({"labels": {"argocd.argoproj.io/instance": "web"}}),
                Some("the Argo CD application `web`"),
            ),
            (
                json!({"labels": {"app.kubernetes.io/instance": "web"},
                    "annotations": {"argocd.argoproj.io/installation-id": "x"}}),
                Some("the Argo CD application `web`"),
            ),
            (json!({"labels": {"app.kubernetes.io/instance": "web"}}), None),
            (
                json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps",
                    "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}),
                Some("the Flux Kustomization `apps` in flux-system"),
            ),
            (json!({"labels": {"helm.toolkit.fluxcd.io/name": "web"}}), Some("the Flux HelmRelease `web`")),
            (json!({"labels": {"app": "web"}}), None),
        ];
        for (metadata, want) in table {
            assert_eq!(owner(&metadata, "{}").as_deref(), want, "{metadata}");
        }
    }

    #[test]
    fn marks_in_the_manifest_do_not_count() {
        let metadata = json!({"labels": {"argocd.argoproj.io/instance": "web"}});
        let manifest = "{metadata: {labels: {argocd.argoproj.io/instance: web}}}";
        assert_eq!(owner(&metadata, manifest), None);
    }
}
