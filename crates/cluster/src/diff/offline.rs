//! Applies objects to those of a dump, without a server. Returns the changes that an apply would make, including
//! conflicts and defaults.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::DiffReport;
use super::compare::{Compared, tidied};
use super::conversion::Conversions;
use super::report::DiffOptions;
use crate::apply::{
    ANNOTATION_MANAGER, ApplyChange, ServerSideApplyOptions, annotation_to_keep, takes_client_side_fields,
};
use crate::conflict::ApplyConflict;
use crate::kubeconfig::ConnectOptions;
use crate::plan::{KUBECTL, Object, ObjectPlan, ObjectTarget};
use crate::secret;
use smp_merge::defaults::{
    self, has_generation, is_new_generation, set_template_generation, template_generation,
};
use smp_merge::managed_fields::{
    Applied, Conflicts, FieldSet, ManagedFields, Options, Path, apply, conflicts, keep_times,
};
use smp_merge::patch::LAST_APPLIED;
use smp_merge::schema::{Gvk, Schema, is_built_in};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// The result of an apply to one object of a dump.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OfflineApply {
    /// The object.
    pub object: Object,
    /// The object in the dump, if it contains the object.
    pub live: Option<Node>,
    /// The object as the server would return it, except for times and values that servers allocate. Conflicts are
    /// forced.
    pub applied: Node,
    /// The change.
    pub change: ApplyChange,
    /// The fields that would be taken or, without force, that prevent the apply.
    pub conflict: Option<ApplyConflict>,
}

/// The results of an apply to the objects of a dump.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OfflineReport {
    /// The objects that can be applied or have conflicts, in their order.
    pub objects: Vec<OfflineApply>,
    /// The errors of objects that the server would reject, or that cannot be compared without a server.
    pub problems: Vec<Diagnostic>,
    /// The kinds without a schema, whose types are deduced.
    pub warnings: Vec<Diagnostic>,
}

/// Applies objects to those of a dump, as a server would. `schema` contains the kinds of custom resources. CRDs among
/// the objects and in the dump are added to it. `time` is the time of the apply, in RFC 3339.
///
/// # Errors
/// Objects have no API version or name or are duplicates, or a CRD is malformed.
pub fn apply_offline(
    resources: &[Resource],
    live: &[Value],
    connect: &ConnectOptions,
    (schema, time): (Schema, &str),
    options: &ServerSideApplyOptions,
) -> Result<OfflineReport> {
    let (plan, dump) = read(resources, live, connect, schema)?;
    let mut report = OfflineReport { warnings: dump.unknown_kinds(&plan), ..OfflineReport::default() };
    for target in &plan.targets {
        match dump.apply(target, options, time) {
            Ok(applied) => report.objects.push(applied),
            Err(problem) => report.problems.push(rejected(target, problem)),
        }
    }
    Ok(report)
}

/// Compares objects with those of a dump, like [`diff`](super::diff()) with a server.
///
/// # Errors
/// The errors of [`apply_offline`].
pub fn diff_offline(
    resources: &[Resource],
    live: &[Value],
    connect: &ConnectOptions,
    schema: Schema,
    options: &DiffOptions,
) -> Result<DiffReport> {
    let (plan, dump) = read(resources, live, connect, schema)?;
    let mut report = DiffReport { unknown_kinds: dump.unknown_kinds(&plan), ..DiffReport::default() };
    for target in &plan.targets {
        match dump.apply(target, &options.apply, "") {
            Ok(OfflineApply { live, applied, conflict, .. }) => {
                let diff = tidied(target, live, applied, options);
                let (warnings, notes) = (Vec::new(), Vec::new());
                report.add(Compared { diff, conflict, rejection: None, warnings, notes }, options);
            }
            Err(problem) => report.problems.push(rejected(target, problem)),
        }
    }
    Ok(report)
}

/// Returns the error for an object that a server would reject, without the values of a Secret.
fn rejected(target: &ObjectTarget<'_>, problem: Diagnostic) -> Diagnostic {
    target.located(problem.map_text(|text| secret::mask_values(text, target.resource)))
}

/// Resolves the objects with the CRDs in the dump and among the objects.
fn read<'a>(
    resources: &'a [Resource],
    live: &'a [Value],
    connect: &ConnectOptions,
    schema: Schema,
) -> Result<(ObjectPlan<'a>, Dump<'a>)> {
    let dumped = live.iter().filter(|object| Gvk::from_object(object).is_some_and(|gvk| gvk.is_crd()));
    // The server accepted these CRDs, so a malformed one only lacks fields that the schema would need.
    let dumped = dumped.filter_map(|crd| Resource::new(Node::from(crd), &Schema::empty()).ok());
    let own = resources.iter().filter(|resource| resource.id().gvk.is_crd()).cloned();
    let definitions: Vec<Resource> = dumped.chain(own).collect();
    let plan = ObjectPlan::without_server(resources, connect, &definitions)?;
    Ok((plan, Dump::new(&definitions, live, schema)?))
}

/// The group, kind, namespace and name of an object.
type ObjectKey = (SmolStr, SmolStr, SmolStr, SmolStr);

/// The objects of a dump, and their types.
struct Dump<'v> {
    /// Each object in those versions in which the dump contains it.
    objects: FxHashMap<ObjectKey, Vec<&'v Value>>,
    schema: Schema,
    conversions: Conversions,
    /// The custom kinds whose status is a subresource.
    with_status: FxHashSet<Gvk>,
}

impl<'v> Dump<'v> {
    fn new(definitions: &[Resource], live: &'v [Value], schema: Schema) -> Result<Self> {
        let definitions: Vec<Value> =
            definitions.iter().map(|definition| definition.node().to_json_value()).collect();
        Ok(Self {
            objects: by_key(live)?,
            with_status: definitions.iter().flat_map(kinds_with_status).collect(),
            conversions: Conversions::new(&definitions),
            schema: schema.with_crds(&definitions)?,
        })
    }

    /// Returns the object in the dump. If the dump contains it in several versions, returns the one in the version of
    /// the manifest.
    fn find(&self, target: &ObjectTarget<'_>) -> Option<&'v Value> {
        let Object { gvk, namespace, name } = &target.object;
        let key = (gvk.group.clone(), gvk.kind.clone(), namespace.clone(), name.clone());
        let versions = self.objects.get(&key)?;
        let is_own = |object: &&&Value| object["apiVersion"] == *gvk.api_version();
        versions.iter().find(is_own).or_else(|| versions.first()).copied()
    }

    /// Returns a warning for each kind of the objects that has no schema.
    fn unknown_kinds(&self, plan: &ObjectPlan<'_>) -> Vec<Diagnostic> {
        let mut seen = FxHashSet::default();
        let kinds = plan.targets.iter().map(|target| &target.object.gvk);
        let unknown = kinds.filter(|gvk| self.schema.kind(gvk).is_none() && seen.insert(*gvk));
        let warning = |gvk: &Gvk| {
            let message =
                format!("no schema for {gvk}: its lists count as one value, and it gets no defaults");
            Diagnostic::warning(Code::NoSchema, message).help("add its CRD with --schema FILE")
        };
        unknown.map(warning).collect()
    }

    fn apply(
        &self,
        target: &ObjectTarget<'_>,
        options: &ServerSideApplyOptions,
        time: &str,
    ) -> Result<OfflineApply> {
        let (gvk, found) = (&target.object.gvk, self.find(target));
        if let Some(problem) = found.and_then(|live| self.conversions.problem(gvk, live, &self.schema)) {
            return Err(problem);
        }
        let manager = options.field_manager.as_str();
        let live = found.map(|live| migrated(live, manager));
        let manifest = target.manifest(manager).to_json_value();
        let mut rules = self.rules(gvk, live.as_ref());
        if !time.is_empty() {
            rules = rules.time(time);
        }
        let live = live.map(|live| with_annotation(live, manager, &rules)).transpose()?;
        // Other managers take the fields of client-side appliers after an apply without conflicts.
        let before = if takes_client_side_fields(manager) { live.as_ref() } else { found };
        let taken = conflicts(before, &manifest, manager, &rules)?;
        let applied = apply(live.as_ref(), &manifest, manager, &rules.force(true))?;
        let Applied::Object(mut applied) = applied else {
            return Err(Conflicts::default().to_diagnostic());
        };
        self.reset(gvk, live.as_ref(), &mut applied);
        defaults::encode_string_data(&mut applied);
        defaults::fill(&mut applied, &self.schema);
        self.raise_generation(gvk, found, &mut applied);
        if let Some(live) = found {
            keep_times(live, &mut applied);
        }
        let change = match found {
            None => ApplyChange::Created,
            Some(live) if *live == applied => ApplyChange::Unchanged,
            Some(_) => ApplyChange::Configured,
        };
        let conflict = ApplyConflict::from_conflicts(&target.object, &taken);
        let conflict = found.filter(|_| !taken.is_empty()).map(|live| conflict.with_live(live));
        Ok(OfflineApply {
            object: target.object.clone(),
            live: found.map(Node::from),
            applied: Node::from(&applied),
            change,
            conflict,
        })
    }

    fn rules(&self, gvk: &Gvk, live: Option<&Value>) -> Options<'_> {
        let rules = Options::new(&self.schema).reset_fields(self.reset_fields(gvk));
        let managed = live.map(ManagedFields::from_object).and_then(Result::ok).unwrap_or_default();
        let versions = managed.sorted().into_iter().map(|owner| owner.api_version.to_string());
        versions.fold(rules, |rules, version| {
            let fields = self.reset_fields(&Gvk::from_manifest(&version, &gvk.kind));
            rules.reset_fields_in(version, fields)
        })
    }

    /// Restores the fields that requests for the object itself do not change.
    fn reset(&self, gvk: &Gvk, live: Option<&Value>, applied: &mut Value) {
        let Some(fields) = applied.as_object_mut().filter(|_| !self.reset_fields(gvk).is_empty()) else {
            return;
        };
        match live.and_then(|live| live.get("status")) {
            Some(status) => drop(fields.insert("status".into(), status.clone())),
            None => drop(fields.remove("status")),
        }
    }

    /// Sets `metadata.generation` of a new object, and increments that of a live one if the change is a new generation.
    /// Also updates the annotation with the template generation of a DaemonSet.
    fn raise_generation(&self, gvk: &Gvk, live: Option<&Value>, applied: &mut Value) {
        if gvk.group == "apps" && gvk.kind == "DaemonSet" {
            let template = |object: &Value| object["spec"]["template"].clone();
            let changed = |old: &Value| i64::from(template(old) != template(applied));
            let count = live.map_or(1, |old| template_generation(old) + changed(old));
            set_template_generation(applied, count);
        }
        let Some(live) = live else {
            if has_generation(gvk) {
                applied["metadata"]["generation"] = 1.into();
            }
            return;
        };
        let keeps_status = is_built_in(gvk) || !self.reset_fields(gvk).is_empty();
        let before = live.pointer("/metadata/generation").and_then(Value::as_i64);
        if let Some(before) = before.filter(|_| is_new_generation(live, applied, keeps_status)) {
            applied["metadata"]["generation"] = (before + 1).into();
        }
    }

    /// Returns the fields that no manager owns through requests for the object itself: its status, if that is a
    /// subresource.
    fn reset_fields(&self, gvk: &Gvk) -> FieldSet {
        let has_status = || self.schema.kind(gvk).is_some_and(|kind| kind.has_field("status"));
        let is_reset = if is_built_in(gvk) { has_status() } else { self.with_status.contains(gvk) };
        is_reset.then(|| Path::fields(["status"])).into_iter().collect()
    }
}

/// Returns the objects of a dump by their keys.
///
/// # Errors
/// Two of the objects are the same object at different times, so it is unknown which one is live.
fn by_key(live: &[Value]) -> Result<FxHashMap<ObjectKey, Vec<&Value>>> {
    let text = |value: &Value, pointer: &str| {
        SmolStr::from(value.pointer(pointer).and_then(Value::as_str).unwrap_or_default())
    };
    let mut objects: FxHashMap<ObjectKey, Vec<&Value>> = FxHashMap::default();
    for object in live {
        let Some(gvk) = Gvk::from_object(object) else { continue };
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let versions =
            objects.entry((gvk.group.clone(), gvk.kind.clone(), namespace, name.clone())).or_default();
        let same = versions.iter().find(|before| before["apiVersion"] == object["apiVersion"]);
        let state = |one: &Value| text(one, "/metadata/resourceVersion");
        let is_outdated = versions.first().is_some_and(|before| state(before) != state(object));
        if is_outdated || same.is_some_and(|before| *before != object) {
            let message = format!("the live objects have {gvk} `{name}` twice, with different contents");
            return Err(Diagnostic::error(Code::DuplicateResource, message).help("remove the outdated one"));
        }
        if same.is_none() {
            versions.push(object);
        }
    }
    Ok(objects)
}

/// Returns the object after the migration from client-side apply. The following apply completes it.
fn migrated(live: &Value, manager: &str) -> Value {
    let mut live = live.clone();
    let Ok(mut managed) = ManagedFields::from_object(&live) else { return live };
    if managed.migrate_to(manager) {
        live["metadata"]["managedFields"] = managed.to_value();
        let annotations = live.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations.filter(|_| manager != KUBECTL) {
            annotations.remove(LAST_APPLIED);
        }
    }
    live
}

/// Returns the object after another manager has taken over the last-applied annotation, so that an apply as kubectl
/// keeps it.
fn with_annotation(live: Value, manager: &str, rules: &Options<'_>) -> Result<Value> {
    let Some(kept) = annotation_to_keep(&live, manager) else { return Ok(live) };
    apply(Some(&live), &kept, ANNOTATION_MANAGER, &rules.clone().force(true))?.into_object()
}

/// Returns the kinds of a CRD that have a status subresource.
fn kinds_with_status(definition: &Value) -> Vec<Gvk> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let (group, kind) = (text(definition, "/spec/group"), text(definition, "/spec/names/kind"));
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let with_status = versions.filter(|version| version.pointer("/subresources/status").is_some());
    with_status
        .map(|version| Gvk::from_manifest(&format!("{group}/{}", text(version, "/name")), &kind))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(object: &Value) -> Resource {
        Resource::new(Node::from(object), &Schema::embedded()).expect("an object")
    }

    fn service(ports: &Value) -> Value {
        let metadata = json!({"name": "web", "namespace": "shop"});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}})
    }

    fn run(object: &Value, live: &[Value], options: &ServerSideApplyOptions) -> OfflineReport {
        let at = (Schema::embedded(), "2026-01-02T00:00:00Z");
        apply_offline(&[resource(object)], live, &ConnectOptions::default(), at, options).expect("valid")
    }

    #[test]
    fn objects_of_a_dump_are_applied_with_defaults() {
        let options = ServerSideApplyOptions::default();
        let created = run(&service(&json!([{"port": 80}])), &[], &options);
        assert_eq!(created.objects[0].change, ApplyChange::Created);
        let live = created.objects[0].applied.to_json_value();
        assert_eq!(live["spec"]["ports"], json!([{"port": 80, "protocol": "TCP", "targetPort": 80}]));
        let again = run(&service(&json!([{"port": 80}])), std::slice::from_ref(&live), &options);
        assert_eq!(again.objects[0].change, ApplyChange::Unchanged, "{:?}", again.objects[0].applied);
        let named = service(&json!([{"port": 80, "name": "http"}]));
        let other = ServerSideApplyOptions { field_manager: "other".into(), ..options.clone() };
        let changed = run(&named, std::slice::from_ref(&live), &other);
        assert_eq!(
            (changed.objects[0].change, &changed.objects[0].conflict),
            (ApplyChange::Configured, &None)
        );
        let unknown = run(&service(&json!([{"prt": 80}])), &[], &options);
        assert!(unknown.problems[0].message().contains("field not declared in schema"));
    }

    #[test]
    fn secrets_and_generations_are_those_of_a_server() {
        let options = ServerSideApplyOptions::default();
        let secret = |text: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "shop"}, "stringData": {"pw": text}});
        let live = run(&secret("old"), &[], &options).objects[0].applied.to_json_value();
        assert_eq!((&live["data"], live.get("stringData")), (&json!({"pw": "b2xk"}), None));
        let again = run(&secret("old"), std::slice::from_ref(&live), &options);
        assert_eq!(again.objects[0].change, ApplyChange::Unchanged);
        let changed = run(&secret("new"), &[live], &options);
        assert_eq!(changed.objects[0].applied.to_json_value()["data"], json!({"pw": "bmV3"}));

        let deployment = |replicas: u32| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "shop"}, "spec": {"replicas": replicas}});
        let mut live = run(&deployment(1), &[], &options).objects[0].applied.to_json_value();
        live["metadata"]["generation"] = 3.into();
        let generation = |replicas, live: &Value| {
            let applied = run(&deployment(replicas), std::slice::from_ref(live), &options);
            applied.objects[0].applied.to_json_value()["metadata"]["generation"].clone()
        };
        assert_eq!((generation(1, &live), generation(2, &live)), (json!(3), json!(4)));
    }

    #[test]
    fn conflicts_have_the_value_that_is_lost() {
        let settings = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"a": value}});
        let options = ServerSideApplyOptions { field_manager: "first".into(), ..Default::default() };
        let live = run(&settings("1"), &[], &options).objects[0].applied.to_json_value();
        let found = run(&settings("2"), &[live], &ServerSideApplyOptions::default());
        let conflict = found.objects[0].conflict.as_ref().expect("a conflict");
        let field = &conflict.fields[0];
        assert_eq!((field.path.as_str(), field.manager.as_str()), ("data.a", "first"));
        assert_eq!(field.value.as_ref().and_then(Node::as_str), Some("1"));
        assert_eq!(field.time.as_deref(), Some("2026-01-02T00:00:00Z"));
        assert!(!options.takes(conflict));
        let with = ServerSideApplyOptions { force_conflicts_with: vec!["first".into()], ..options };
        assert!(with.takes(conflict));
    }

    #[test]
    fn dump_may_have_the_definitions_of_custom_kinds() {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "scope": "Cluster",
                "versions": [{"name": "v1", "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"size": {"type": "integer", "default": 3}, "status": {"type": "object",
                        "properties": {"ready": {"type": "boolean"}}}}}}}]},
        });
        let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "status": {"ready": true}});
        let resources = [resource(&crd), resource(&thing)];
        let at = (Schema::embedded(), "");
        let found = apply_offline(
            &resources,
            &[],
            &ConnectOptions::default(),
            at,
            &ServerSideApplyOptions::default(),
        );
        let found = found.expect("valid");
        let applied = found.objects[1].applied.to_json_value();
        assert_eq!(applied["size"], 3);
        assert_eq!(applied["metadata"].get("managedFields"), None, "the status is reset");
    }
}
