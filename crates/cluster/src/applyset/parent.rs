//! The parent on the server: reads, validates and writes its ApplySet label and annotations.
//!
//! The parent is written as kubectl writes it: by a server-side apply of only its label and annotations, first without
//! force. Each write is conditional on the resource version on which it is based.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Map, Value, json};
use smol_str::SmolStr;

use super::events::ApplySetSource;
use super::id::{
    GROUP_KINDS, GROUP_RESOURCES, HISTORY_NAMESPACE, ID, NAMESPACES, REPOSITORY, TARGET, TOOLING,
};
use super::lock_record::{LOCK_ANNOTATION, LockRecord};
use super::parent_ref::ParentRef;
use super::scope::{GroupKind, SetScope, split_annotation};
use super::tooling::{ApplySetTooling, tool_name};
use crate::apply::APPLY;
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::errors::{ApiError, invalid_response};
use crate::json;
use crate::mapping::encode_segment;
use crate::request::{ApiRequest, ApiResponse};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A parent, and the tool that manages its set.
#[derive(Debug, Clone)]
pub(super) struct SetParent {
    pub(super) parent_ref: ParentRef,
    pub(super) tooling: ApplySetTooling,
}

/// The state of a set according to its parent's annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParentState {
    pub(super) scope: SetScope,
    pub(super) lock: Option<LockRecord>,
    /// The target from which the set was last applied, if known.
    pub(super) source: Option<ApplySetSource>,
}

/// An existing parent.
#[derive(Debug, Clone)]
pub(super) struct LiveParent {
    pub(super) uid: String,
    version: String,
    pub(super) state: ParentState,
    /// The namespace of the history; empty if the set has none.
    pub(super) history_namespace: SmolStr,
}

/// Result of a write.
#[derive(Debug)]
pub(super) enum ParentWrite {
    Done(LiveParent),
    /// The parent has changed since it was read.
    Changed,
}

impl SetParent {
    /// Reads the parent. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// The parent cannot be read, belongs to another tool, or is not the parent of this set.
    pub(super) async fn read(&self, cluster: &Cluster) -> Result<Option<LiveParent>> {
        match self.get(cluster).await? {
            Some(response) => self.parse(cluster, &response).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the parent without validating it.
    pub(super) async fn get(&self, cluster: &Cluster) -> Result<Option<ApiResponse>> {
        match cluster.send(&ApiRequest::metadata(self.parent_ref.path())).await?.into_result() {
            Ok(response) => Ok(Some(response)),
            Err(api_error) if api_error.is_not_found() && self.parent_ref.is_built_in() => Ok(None),
            Err(api_error) if api_error.is_not_found() => {
                let message =
                    format!("the parent {} of the ApplySet does not exist", self.parent_ref.object());
                let why = "kubectl smp does not know which other fields the custom resource requires";
                Err(Diagnostic::error(Code::NoMatch, message)
                    .help(format!("create it: {}; {why}", self.required_metadata())))
            }
            Err(api_error) => Err(self.rejected(cluster, &api_error)),
        }
    }

    /// Describes the label and annotations that a parent created by the user must have.
    fn required_metadata(&self) -> String {
        let (id, tooling) = (self.parent_ref.id(), self.tooling.annotation());
        format!(
            "a parent has the label {ID}: {id} and the annotations {TOOLING}: {tooling} and {GROUP_KINDS}: \"\""
        )
    }

    /// Writes the state of the set, conditional on the parent that was read.
    ///
    /// # Errors
    /// The server rejects the write.
    pub(super) async fn write(
        &self,
        cluster: &Cluster,
        current: Option<&LiveParent>,
        state: &ParentState,
    ) -> Result<ParentWrite> {
        let body = self.manifest(current, state);
        let mut api_error = None;
        for force in [false, true] {
            let path = format!(
                "{}?fieldManager={}&force={force}",
                self.parent_ref.path(),
                encode_segment(self.tooling.field_manager())
            );
            match cluster.send(&ApiRequest::change(Method::PATCH, path, APPLY, &body)).await?.into_result() {
                Ok(response) => return self.parse(cluster, &response).map(ParentWrite::Done),
                // kubectl also takes ownership, with a warning, since no other manager needs these fields.
                Err(other) if ApplyConflict::from_error(&self.parent_ref.object(), &other).is_some() => {
                    api_error = Some(other);
                }
                Err(other) if other.http == 409 => return self.after_conflict(cluster, state).await,
                Err(other) => return Err(self.rejected(cluster, &other)),
            }
        }
        Err(api_error
            .map_or_else(|| Diagnostic::error(Code::Remote, "no response"), |r| self.rejected(cluster, &r)))
    }

    /// Reads the parent after a conflict. If its state is the intended one, a write whose response was lost has
    /// succeeded.
    async fn after_conflict(&self, cluster: &Cluster, intended: &ParentState) -> Result<ParentWrite> {
        let now = self.read(cluster).await?;
        let own = self.parent_ref.namespace.as_str();
        let annotations_of = |state: &ParentState| {
            (
                state.scope.kinds_annotation(),
                state.scope.namespaces_annotation(own),
                state.lock.clone(),
                state.source.clone(),
            )
        };
        let is_done = now.filter(|now| annotations_of(&now.state) == annotations_of(intended));
        Ok(is_done.map_or(ParentWrite::Changed, ParentWrite::Done))
    }

    /// Returns the label and annotations as kubectl applies them, and the lock annotation.
    fn manifest(&self, current: Option<&LiveParent>, state: &ParentState) -> Value {
        let gvk = &self.parent_ref.mapping.gvk;
        let mut annotations = Map::new();
        annotations.insert(TOOLING.into(), self.tooling.annotation().into());
        annotations.insert(GROUP_KINDS.into(), state.scope.kinds_annotation().into());
        annotations
            .insert(NAMESPACES.into(), state.scope.namespaces_annotation(&self.parent_ref.namespace).into());
        if let Some(lock) = &state.lock {
            annotations.insert(LOCK_ANNOTATION.into(), lock.to_string().into());
        }
        if let Some(source) = &state.source {
            annotations.insert(TARGET.into(), source.target.as_str().into());
            annotations.insert(REPOSITORY.into(), source.repository.as_str().into());
        }
        let mut metadata = Map::new();
        metadata.insert("name".into(), self.parent_ref.name.as_str().into());
        if !self.parent_ref.namespace.is_empty() {
            metadata.insert("namespace".into(), self.parent_ref.namespace.as_str().into());
        }
        if let Some(current) = current {
            metadata.insert("uid".into(), current.uid.as_str().into());
            metadata.insert("resourceVersion".into(), current.version.as_str().into());
        }
        metadata.insert("labels".into(), json!({ID: self.parent_ref.id()}));
        metadata.insert("annotations".into(), Value::Object(annotations));
        json!({"apiVersion": gvk.api_version().as_str(), "kind": gvk.kind.as_str(), "metadata": metadata})
    }

    fn parse(&self, cluster: &Cluster, response: &ApiResponse) -> Result<LiveParent> {
        let invalid = |error: &dyn std::fmt::Display| {
            invalid_response(&cluster.endpoint, &self.parent_ref.path(), error)
        };
        let object: Value = json::decode(&response.body).map_err(|error| invalid(&error))?;
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_string);
        let (Some(uid), Some(version)) = (text("/metadata/uid"), text("/metadata/resourceVersion")) else {
            return Err(invalid(&"the response is not an object"));
        };
        if text("/metadata/name").as_deref() != Some(self.parent_ref.name.as_str()) {
            return Err(invalid(&"the response contains another object"));
        }
        let state = self.state(cluster, &object)?;
        let history_namespace = self.history_namespace(&object);
        Ok(LiveParent { uid, version, state, history_namespace })
    }

    /// Reads the namespace of the history without validating the parent; empty if the set has none.
    ///
    /// # Errors
    /// A cluster-scoped parent cannot be read.
    pub(super) async fn read_history_namespace(&self, cluster: &Cluster) -> Result<SmolStr> {
        if !self.parent_ref.namespace.is_empty() {
            return Ok(self.parent_ref.namespace.clone());
        }
        let Some(response) = self.get(cluster).await? else { return Ok(SmolStr::default()) };
        Ok(self.history_namespace(&cluster.parse_response(json::decode, &response)?))
    }

    /// Returns the namespace of the parent. For a cluster-scoped parent, returns the one in its annotation.
    fn history_namespace(&self, object: &Value) -> SmolStr {
        let own = &self.parent_ref.namespace;
        if own.is_empty() {
            metadata_entry(object, "annotations", HISTORY_NAMESPACE).unwrap_or_default().into()
        } else {
            own.clone()
        }
    }

    /// Validates the parent and parses its annotations.
    fn state(&self, cluster: &Cluster, object: &Value) -> Result<ParentState> {
        let annotation = |key: &str| metadata_entry(object, "annotations", key);
        self.check(annotation(TOOLING), metadata_entry(object, "labels", ID))?;
        let kinds = match (annotation(GROUP_KINDS), annotation(GROUP_RESOURCES)) {
            (Some(kinds), _) => split_annotation(kinds).map(GroupKind::parse).collect(),
            (None, Some(resources)) if !resources.is_empty() => {
                split_annotation(resources).map(|one| self.kind_of(cluster, one)).collect::<Result<_>>()?
            }
            _ => {
                let problem = self.invalid_parent(&format!("lacks the annotation {GROUP_KINDS}"));
                let help =
                    "the annotation lists the kinds of the members: set it to the kinds of all members";
                return Err(problem.help(help));
            }
        };
        let mut namespaces: BTreeSet<_> =
            annotation(NAMESPACES).into_iter().flat_map(split_annotation).map(SmolStr::from).collect();
        namespaces.extend(Some(self.parent_ref.namespace.clone()).filter(|own| !own.is_empty()));
        let lock = annotation(LOCK_ANNOTATION).map(LockRecord::parse);
        let source = annotation(TARGET).zip(annotation(REPOSITORY)).map(|(target, repository)| {
            ApplySetSource { target: target.to_string(), repository: repository.to_string() }
        });
        Ok(ParentState { scope: SetScope { kinds, namespaces }, lock, source })
    }

    /// Checks that the object is the parent of this set and belongs to this tool.
    fn check(&self, tooling: Option<&str>, id: Option<&str>) -> Result<()> {
        let Some(tooling) = tooling else {
            let problem = self.invalid_parent(&format!("already exists and lacks the annotation {TOOLING}"));
            let choose = || "choose another name: the object is not the parent of an ApplySet".to_string();
            return Err(problem.help(if self.parent_ref.is_built_in() {
                choose()
            } else {
                self.required_metadata()
            }));
        };
        if tool_name(tooling) != self.tooling.name() {
            let (its, ours) = (tool_name(tooling), self.tooling.name());
            let problem = self.invalid_parent(&format!("is managed by the tool `{its}`, not by `{ours}`"));
            return Err(problem.help(match its {
                "kubectl-smp" => "use --applyset-tooling=smp",
                "kubectl" => "omit --applyset-tooling",
                _ => "use that tool, or choose another name",
            }));
        }
        match id {
            Some(id) if id == self.parent_ref.id() => Ok(()),
            Some(id) => {
                let want = self.parent_ref.id();
                Err(self.invalid_parent(&format!("has the label {ID}: {id} instead of {want}")).help(
                    "it was copied or renamed: choose another name, or remove its ApplySet label and annotations",
                ))
            }
            None => Err(self.invalid_parent(&format!("lacks the label {ID}")).help(self.required_metadata())),
        }
    }

    /// Returns the kind of a resource such as `deployments.apps`, as older parents list them.
    fn kind_of(&self, cluster: &Cluster, resource: &str) -> Result<GroupKind> {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let known = cluster.known_mappings();
        let found = known.iter().find(|one| one.plural == plural && one.gvk.group == group);
        found.map(|one| GroupKind { kind: one.gvk.kind.clone(), group: group.into() }).ok_or_else(|| {
            let problem = format!(
                "lists the resource {resource} in its annotation {GROUP_RESOURCES}, but the server does not serve it"
            );
            self.invalid_parent(&problem)
                .help(format!("set the annotation {GROUP_KINDS} to the kinds of all members"))
        })
    }

    fn invalid_parent(&self, what: &str) -> Diagnostic {
        Diagnostic::error(
            Code::Conflict,
            format!("the parent {} of the ApplySet {what}", self.parent_ref.object()),
        )
    }

    fn rejected(&self, cluster: &Cluster, api_error: &ApiError) -> Diagnostic {
        let problem = api_error
            .diagnostic(&cluster.endpoint)
            .note(format!("the request was for the parent {}", self.parent_ref.object()));
        if api_error.lacks_namespace(&self.parent_ref.namespace) {
            return problem.help("create the namespace of the ApplySet's parent first");
        }
        problem
    }
}

/// Returns a label or annotation of an object.
fn metadata_entry<'v>(object: &'v Value, section: &str, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get(section)?.get(key)?.as_str()
}
