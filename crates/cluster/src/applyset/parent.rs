//! The parent as the server has it: reading, checking and writing what it says of its set.
//!
//! It is written as kubectl writes it: server-side applied with its labels and annotations alone, without force first.
//! Each write names the version that it is based on.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Map, Value, json};
use smol_str::SmolStr;

use super::claim::{CLAIM, SetClaim};
use super::id::{GROUP_KINDS, GROUP_RESOURCES, ID, NAMESPACES, TOOLING};
use super::parent_ref::ParentRef;
use super::scope::{GroupKind, SetScope, entries};
use super::tooling::{ApplySetTooling, tool_name};
use crate::apply::APPLY;
use crate::client::Cluster;
use crate::conflict::ApplyConflict;
use crate::exchange::{Answer, Ask};
use crate::failure::{Refusal, not_understood};
use crate::json;
use crate::mapping::encode;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A parent, and who works on its set.
#[derive(Debug, Clone)]
pub(super) struct SetParent {
    pub(super) at: ParentRef,
    pub(super) tooling: ApplySetTooling,
}

/// What a parent says of its set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParentState {
    pub(super) scope: SetScope,
    pub(super) claim: Option<SetClaim>,
}

/// A parent that is there.
#[derive(Debug, Clone)]
pub(super) struct LiveParent {
    pub(super) uid: String,
    version: String,
    pub(super) state: ParentState,
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum ParentWrite {
    Done(LiveParent),
    /// It is another one than the write was based on.
    Changed,
}

impl SetParent {
    /// What is there of it.
    ///
    /// # Errors
    /// It cannot be read; it is missing and cannot be made; it is another tool's, or no parent of this set.
    pub(super) async fn read(&self, cluster: &Cluster) -> Result<Option<LiveParent>> {
        match self.look(cluster).await? {
            Some(answer) => self.understood(cluster, &answer).map(Some),
            None => Ok(None),
        }
    }

    /// The parent as it stands, whose ever it is.
    pub(super) async fn look(&self, cluster: &Cluster) -> Result<Option<Answer>> {
        match cluster.ask(&Ask::metadata(self.at.path())).await?.accepted() {
            Ok(answer) => Ok(Some(answer)),
            Err(refusal) if refusal.is_not_found() && self.at.is_built_in() => Ok(None),
            Err(refusal) if refusal.is_not_found() => {
                let message = format!("the parent {} of the ApplySet is not there", self.at.object());
                let what = "create it: a custom resource may need more than a name";
                Err(Diagnostic::error(Code::NoMatch, message).help(format!("{what}, and {}", self.needed())))
            }
            Err(refusal) => Err(self.refused(cluster, &refusal)),
        }
    }

    /// What somebody must write who makes a parent himself.
    fn needed(&self) -> String {
        let (id, tooling) = (self.at.id(), self.tooling.text());
        format!(
            "a parent has the label {ID}: {id} and the annotations {TOOLING}: {tooling} and {GROUP_KINDS}: \"\""
        )
    }

    /// Writes what the set is now, based on what was there.
    ///
    /// # Errors
    /// The server refuses.
    pub(super) async fn write(
        &self,
        cluster: &Cluster,
        basis: Option<&LiveParent>,
        state: &ParentState,
    ) -> Result<ParentWrite> {
        let body = self.manifest(basis, state);
        let mut refusal = None;
        for force in [false, true] {
            let path = format!(
                "{}?fieldManager={}&force={force}",
                self.at.path(),
                encode(self.tooling.field_manager())
            );
            match cluster.ask(&Ask::change(Method::PATCH, path, APPLY, &body)).await?.accepted() {
                Ok(answer) => return self.understood(cluster, &answer).map(ParentWrite::Done),
                // As kubectl, which warns and takes the fields: they are of nobody else.
                Err(other) if ApplyConflict::read(&self.at.object(), &other).is_some() => {
                    refusal = Some(other);
                }
                Err(other) if other.http == 409 => return self.meanwhile(cluster, state).await,
                Err(other) => return Err(self.refused(cluster, &other)),
            }
        }
        Err(refusal
            .map_or_else(|| Diagnostic::error(Code::Remote, "no answer"), |r| self.refused(cluster, &r)))
    }

    /// What is there after a conflict: a write whose answer was lost has done what it should.
    async fn meanwhile(&self, cluster: &Cluster, wanted: &ParentState) -> Result<ParentWrite> {
        let now = self.read(cluster).await?;
        let own = self.at.namespace.as_str();
        let said = |state: &ParentState| {
            (state.scope.kinds_text(), state.scope.namespaces_text(own), state.claim.clone())
        };
        let is_done = now.filter(|now| said(&now.state) == said(wanted));
        Ok(is_done.map_or(ParentWrite::Changed, ParentWrite::Done))
    }

    /// The labels and annotations, as kubectl applies them, and the mark of a run.
    fn manifest(&self, basis: Option<&LiveParent>, state: &ParentState) -> Value {
        let gvk = &self.at.mapping.gvk;
        let mut annotations = Map::new();
        annotations.insert(TOOLING.into(), self.tooling.text().into());
        annotations.insert(GROUP_KINDS.into(), state.scope.kinds_text().into());
        annotations.insert(NAMESPACES.into(), state.scope.namespaces_text(&self.at.namespace).into());
        if let Some(claim) = &state.claim {
            annotations.insert(CLAIM.into(), claim.to_string().into());
        }
        let mut metadata = Map::new();
        metadata.insert("name".into(), self.at.name.as_str().into());
        if !self.at.namespace.is_empty() {
            metadata.insert("namespace".into(), self.at.namespace.as_str().into());
        }
        if let Some(basis) = basis {
            metadata.insert("uid".into(), basis.uid.as_str().into());
            metadata.insert("resourceVersion".into(), basis.version.as_str().into());
        }
        metadata.insert("labels".into(), json!({ID: self.at.id()}));
        metadata.insert("annotations".into(), Value::Object(annotations));
        json!({"apiVersion": gvk.api_version().as_str(), "kind": gvk.kind.as_str(), "metadata": metadata})
    }

    fn understood(&self, cluster: &Cluster, answer: &Answer) -> Result<LiveParent> {
        let strange =
            |error: &dyn std::fmt::Display| not_understood(&cluster.endpoint, &self.at.path(), error);
        let object: Value = json::decode(&answer.body).map_err(|error| strange(&error))?;
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_string);
        let (Some(uid), Some(version)) = (text("/metadata/uid"), text("/metadata/resourceVersion")) else {
            return Err(strange(&"it is no object"));
        };
        if text("/metadata/name").as_deref() != Some(self.at.name.as_str()) {
            return Err(strange(&"it is another object"));
        }
        let state = self.state(cluster, &object)?;
        Ok(LiveParent { uid, version, state })
    }

    /// What the parent says of its set, if it is one that may be worked on.
    fn state(&self, cluster: &Cluster, object: &Value) -> Result<ParentState> {
        let annotation = |key: &str| part(object, "annotations", key);
        self.check(annotation(TOOLING), part(object, "labels", ID))?;
        let kinds = match (annotation(GROUP_KINDS), annotation(GROUP_RESOURCES)) {
            (Some(kinds), _) => entries(kinds).map(GroupKind::read).collect(),
            (None, Some(resources)) if !resources.is_empty() => {
                entries(resources).map(|one| self.kind_of(cluster, one)).collect::<Result<_>>()?
            }
            _ => {
                let problem = self.wrong(&format!("lacks the annotation {GROUP_KINDS}"));
                let way_out = "without it nobody knows where to look for members: write the kinds of all members into it";
                return Err(problem.help(way_out));
            }
        };
        let mut namespaces: BTreeSet<_> =
            annotation(NAMESPACES).into_iter().flat_map(entries).map(SmolStr::from).collect();
        namespaces.extend(Some(self.at.namespace.clone()).filter(|own| !own.is_empty()));
        let claim = annotation(CLAIM).map(SetClaim::read);
        Ok(ParentState { scope: SetScope { kinds, namespaces }, claim })
    }

    /// Whether it is the parent of this set, and this tool's.
    fn check(&self, tooling: Option<&str>, id: Option<&str>) -> Result<()> {
        let Some(tooling) = tooling else {
            let problem = self.wrong(&format!("is there already, and lacks the annotation {TOOLING}"));
            let choose = || "choose another name: it is no parent of an ApplySet".to_string();
            return Err(problem.help(if self.at.is_built_in() { choose() } else { self.needed() }));
        };
        if tool_name(tooling) != self.tooling.name() {
            let (its, ours) = (tool_name(tooling), self.tooling.name());
            let problem = self.wrong(&format!("is managed by the tooling `{its}` and not by `{ours}`"));
            return Err(problem.help(match its {
                "kubectl-smp" => "give --applyset-tooling=smp",
                "kubectl" => "leave --applyset-tooling out",
                _ => "use that tool, or choose another name",
            }));
        }
        match id {
            Some(id) if id == self.at.id() => Ok(()),
            Some(id) => {
                let want = self.at.id();
                Err(self.wrong(&format!("has another value of the label {ID}: {id} and not {want}")).help(
                    "it was copied or renamed: choose another name, or take its labels and annotations off",
                ))
            }
            None => Err(self.wrong(&format!("lacks the label {ID}")).help(self.needed())),
        }
    }

    /// The kind of a resource such as `deployments.apps`, as older parents name them.
    fn kind_of(&self, cluster: &Cluster, resource: &str) -> Result<GroupKind> {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let known = cluster.known_mappings();
        let found = known.iter().find(|one| one.plural == plural && one.gvk.group == group);
        found.map(|one| GroupKind { kind: one.gvk.kind.clone(), group: group.into() }).ok_or_else(|| {
            self.wrong(&format!("names the resource {resource} in the annotation {GROUP_RESOURCES}, which the server does not have"))
                .help(format!("write the kinds of all members into the annotation {GROUP_KINDS}"))
        })
    }

    fn wrong(&self, what: &str) -> Diagnostic {
        Diagnostic::error(Code::Conflict, format!("the parent {} of the ApplySet {what}", self.at.object()))
    }

    fn refused(&self, cluster: &Cluster, refusal: &Refusal) -> Diagnostic {
        let problem =
            refusal.diagnostic(&cluster.endpoint).note(format!("asked of the parent {}", self.at.object()));
        if refusal.lacks_namespace(&self.at.namespace) {
            return problem.help("create the namespace first: the parent of the ApplySet is in it");
        }
        problem
    }
}

/// A label or annotation of an object.
fn part<'v>(object: &'v Value, part: &str, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get(part)?.get(key)?.as_str()
}
