//! A `kube::Client` without a cluster, whose patches do what the API server does with them.
//!
//!     cargo run --example fake_client
//!
//! It serves the built-in kinds and the kinds of the CRDs that it is given. It keeps objects with finalizers until the
//! finalizers are removed, and answers requests that an API server rejects with the server's `Status`.
//!
//! It validates and defaults no fields, namespaces need not exist, and there are no subresources. Server-side apply,
//! watches, deletions of collections and garbage collection are not implemented and answered with 501. `tests/live`
//! sends the same requests to it and to a real server.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "fake_client/metadata.rs"]
mod metadata;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, header::CONTENT_TYPE, request::Parts};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use kubectl_smp::diagnostic::{Code, Diagnostic, Result};
use kubectl_smp::patch::json::{self, PatchType};
use kubectl_smp::resource::LabelSelector;
use kubectl_smp::schema::{ResourcePath, Schema};
use serde_json::{Value, json};

use self::metadata::{bad_request, is_custom, problem, text};

/// The error type of the example.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Returns a client of a new server that serves the built-in kinds and the kinds of the CRDs.
///
/// # Errors
/// Fails if a definition is not a CustomResourceDefinition.
pub fn client(definitions: &[Value]) -> Result<Client> {
    let schema = Schema::embedded().with_crds(definitions)?;
    let server = Arc::new(Mutex::new(Server { schema, objects: BTreeMap::new(), revision: 0 }));
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
            let (code, answer) = server.answer(&head, &body).unwrap_or_else(|problem| {
                let status = problem.to_status();
                (status["code"].as_u64().unwrap_or(500), status)
            });
            let response = Response::builder().status(u16::try_from(code)?);
            let response = response.header(CONTENT_TYPE, "application/json");
            Ok::<_, Problem>(response.body(Body::from(answer.to_string().into_bytes()))?)
        }
    });
    Ok(Client::new(service, "default"))
}

/// Does what a controller does: creates an object, patches it, and handles an error.
fn main() -> std::result::Result<(), Problem> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(client(&[])?);
        let map = json!({"metadata": {"name": "a", "finalizers": ["x/y"]}, "data": {"k": "v"}});
        maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
        let patch = Patch::Strategic(json!({"metadata": {"finalizers": ["z/y"]}, "data": {"k": null}}));
        println!("{:#?}", maps.patch("a", &PatchParams::default(), &patch).await?);
        println!("{:?}", maps.get("b").await);
        Ok(())
    })
}

struct Server {
    schema: Schema,
    objects: BTreeMap<ResourcePath, Value>,
    revision: u64,
}

fn not_served(what: &str) -> Diagnostic {
    Diagnostic::error(Code::Unsupported, format!("this server in memory has no {what}"))
}

fn parsed(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| bad_request(&error.to_string()))
}

impl Server {
    fn answer(&mut self, head: &Parts, body: &[u8]) -> Result<(u64, Value)> {
        let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let query: BTreeMap<_, _> = query.collect();
        let get = |name: &str| query.get(name).map_or("", |value| &**value);
        let is_dry = !get("dryRun").is_empty();
        let at = ResourcePath::parse(&self.schema, head.uri.path()).filter(|at| at.subresource.is_empty());
        let nothing = || Diagnostic::error(Code::NoMatch, "the server could not find the requested resource");
        let at = at.ok_or_else(nothing)?;
        match (head.method.as_str(), at.name.is_empty()) {
            ("GET", true) if !get("watch").is_empty() => Err(not_served("watches")),
            ("GET", true) => Ok((200, self.list(&at, get("labelSelector"), get("fieldSelector"))?)),
            ("GET", false) => Ok((200, self.live(&at)?.clone())),
            ("POST", true) if !at.is_of_all_namespaces(&self.schema) => {
                Ok((201, self.create(at, parsed(body)?, is_dry)?))
            }
            ("PUT", false) => Ok((200, self.update(&at, parsed(body)?, is_dry)?)),
            ("PATCH", false) => {
                let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
                Ok((200, self.patch(&at, content_type.unwrap_or_default(), body, is_dry)?))
            }
            ("DELETE", false) => Ok((200, self.delete(&at, body, is_dry)?)),
            ("DELETE", true) => Err(not_served("deletions of collections")),
            _ => Ok((405, metadata::method_not_allowed())),
        }
    }

    fn live(&self, at: &ResourcePath) -> Result<&Value> {
        self.objects.get(at).ok_or_else(|| problem(at, Code::NoMatch, &at.plural, "not found"))
    }

    fn list(&self, at: &ResourcePath, labels: &str, fields: &str) -> Result<Value> {
        let parse = |selector| LabelSelector::parse(selector).map_err(|error| bad_request(error.message()));
        let (labels, fields) = (parse(labels)?, parse(fields)?);
        let is_in = |one: &ResourcePath, object: &Value| {
            let label = |name: &str| object["metadata"]["labels"][name].as_str();
            let field = |name: &str| Some(text(object, name.strip_prefix("metadata.")?));
            let is_there = at.namespace.is_empty() || one.namespace == at.namespace;
            one.gvk == at.gvk && is_there && labels.matches(label) && fields.matches(field)
        };
        let found = self.objects.iter().filter(|(one, object)| is_in(one, object));
        let mut items: Vec<Value> = found.map(|(_, object)| object.clone()).collect();
        // In lists of built-in kinds, the items have no `kind` and `apiVersion`.
        for item in items.iter_mut().filter(|_| !is_custom(at)).filter_map(Value::as_object_mut) {
            item.retain(|name, _| name != "kind" && name != "apiVersion");
        }
        let metadata = json!({"resourceVersion": self.revision.to_string()});
        let (kind, api_version) = (format!("{}List", at.gvk.kind), at.gvk.api_version());
        Ok(json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items}))
    }

    fn create(&mut self, mut at: ResourcePath, mut object: Value, is_dry: bool) -> Result<Value> {
        metadata::check_kind(&at, &mut object)?;
        at.name = metadata::name(&at, &object, self.revision)?;
        object["metadata"]["name"] = at.name.as_str().into();
        metadata::check_identity(&at, &mut object)?;
        if self.objects.contains_key(&at) {
            return Err(problem(&at, Code::DuplicateResource, &at.plural, "already exists"));
        }
        metadata::set_new_metadata(&at, &mut object, self.revision);
        Ok(self.store(&at, object, is_dry))
    }

    fn update(&mut self, at: &ResourcePath, mut object: Value, is_dry: bool) -> Result<Value> {
        metadata::check_kind(at, &mut object)?;
        metadata::check_identity(at, &mut object)?;
        metadata::check_replacement(at, &object, self.live(at)?)?;
        self.change(at, object, is_dry)
    }

    fn patch(&mut self, at: &ResourcePath, content_type: &str, body: &[u8], is_dry: bool) -> Result<Value> {
        if content_type.starts_with("application/apply-patch") {
            return Err(not_served("server-side apply, which needs the managers of all fields"));
        }
        let unknown = || Diagnostic::error(Code::NoSchema, "415: Unsupported Media Type");
        let patch_type = PatchType::from_content_type(content_type).ok_or_else(unknown)?;
        let live = self.live(at)?;
        let mut object = live.clone();
        json::apply(&mut object, &parsed(body)?, patch_type, &self.schema)?;
        metadata::check_identity(at, &mut object)?;
        metadata::check_uid(at, &object, live)?;
        self.change(at, object, is_dry)
    }

    /// Stores a changed object, or removes it if it is marked as deleted and has no finalizers.
    ///
    /// Fails if the object was modified since the client read it.
    fn change(&mut self, at: &ResourcePath, mut object: Value, is_dry: bool) -> Result<Value> {
        let live = self.live(at)?;
        metadata::check_change(at, &object, live)?;
        metadata::carry_over_metadata(&mut object, live);
        if !metadata::is_deleted(&object) || metadata::has_finalizers(&object) {
            return Ok(self.store(at, object, is_dry));
        }
        if !is_dry {
            self.objects.remove(at);
        }
        Ok(object)
    }

    fn delete(&mut self, at: &ResourcePath, body: &[u8], is_dry: bool) -> Result<Value> {
        let options = if body.is_empty() { Value::Null } else { parsed(body)? };
        let is_dry = is_dry || options["dryRun"].is_array();
        if ["Foreground", "Orphan"].contains(&options["propagationPolicy"].as_str().unwrap_or_default()) {
            return Err(not_served("garbage collector"));
        }
        let mut object = self.live(at)?.clone();
        metadata::check_preconditions(at, &options["preconditions"], &object)?;
        if metadata::has_finalizers(&object) {
            metadata::mark_deleted(&mut object);
            return Ok(self.store(at, object, is_dry));
        }
        if !is_dry {
            self.objects.remove(at);
        }
        Ok(metadata::deletion_response(at, object))
    }

    /// Stores an object under a new resource version, unless nothing changed.
    fn store(&mut self, at: &ResourcePath, mut object: Value, is_dry: bool) -> Value {
        if !is_dry && self.objects.get(at) != Some(&object) {
            self.revision += 1;
            object["metadata"]["resourceVersion"] = self.revision.to_string().into();
            self.objects.insert(at.clone(), object.clone());
        }
        object
    }
}
