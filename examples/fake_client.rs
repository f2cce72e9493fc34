//! A `kube::Client` without a cluster, whose patches do what the API server does with them.
//!
//!     cargo run --example fake_client
//!
//! It serves the built-in kinds and those that it is given CRDs of, and answers what a server refuses with the server's
//! `Status`. It validates and defaults nothing. `tests/live` sends it and a real server the same requests.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, header::CONTENT_TYPE, request::Parts};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use kubectl_smp::diagnostic::{Code, Diagnostic, Result};
use kubectl_smp::patch::json::{self, PatchType};
use kubectl_smp::schema::{Gvk, Schema, find_kind};
use serde_json::{Value, json};

/// What a program ends with.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A client of a new server that serves the built-in kinds and those that CRDs define.
///
/// # Errors
/// Something that is no CustomResourceDefinition.
pub fn client(definitions: &[Value]) -> Result<Client> {
    let (built_in, kinds) = (Schema::embedded(), Schema::embedded().with_crds(definitions)?);
    let server = Arc::new(Mutex::new(Server { kinds, built_in, objects: BTreeMap::new(), revision: 0 }));
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let (code, answer) = server.lock().unwrap_or_else(PoisonError::into_inner).answer(&head, &body);
            let response = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
            Ok::<_, Problem>(response.body(Body::from(answer.to_string().into_bytes()))?)
        }
    });
    Ok(Client::new(service, "default"))
}

/// A controller's work in small: it makes an object, patches it, and meets an error.
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
    /// All kinds that are served.
    kinds: Schema,
    /// Those that strategic merge patches are for.
    built_in: Schema,
    objects: BTreeMap<Target, Value>,
    revision: u64,
}

/// What a path names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    gvk: Gvk,
    /// Empty for all of them, and for objects without one.
    namespace: String,
    /// Empty for a collection.
    name: String,
}

impl Target {
    fn problem(&self, code: Code, what: &str) -> Diagnostic {
        Diagnostic::error(code, format!("{} \"{}\" {what}", self.gvk.kind, self.name))
    }
}

fn bad_request(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::Usage, message)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Server {
    fn answer(&mut self, head: &Parts, body: &[u8]) -> (u16, Value) {
        let served = self.target(&head.uri).and_then(|at| match (head.method.as_str(), at.name.as_str()) {
            ("GET", "") => Ok((200, self.list(&at))),
            ("GET", _) => Ok((200, self.live(&at)?.clone())),
            ("POST", "") => Ok((201, self.create(&at, parsed(body)?)?)),
            ("PUT", _) => Ok((200, self.update(&at, parsed(body)?)?)),
            ("PATCH", _) => Ok((200, self.patch(&at, head, body)?)),
            ("DELETE", _) => Ok((200, self.delete(&at)?)),
            (method, _) => Err(bad_request(format!("{method} is not served for {}", head.uri))),
        });
        served.unwrap_or_else(|problem| {
            let status = problem.to_status();
            (status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500), status)
        })
    }

    fn live(&self, target: &Target) -> Result<&Value> {
        self.objects.get(target).ok_or_else(|| target.problem(Code::NoMatch, "not found"))
    }

    fn delete(&mut self, target: &Target) -> Result<Value> {
        let object = self.live(target)?.clone();
        self.objects.remove(target);
        Ok(object)
    }

    fn target(&self, uri: &http::Uri) -> Result<Target> {
        if uri.query().is_some_and(|query| query.contains("elector=") || query.contains("watch=true")) {
            return Err(bad_request("selectors and watches are not served"));
        }
        let nothing = || Diagnostic::error(Code::NoMatch, "the server could not find the requested resource");
        let parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
        let (api_version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_string(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return Err(nothing()),
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        // What stands behind the name is served by nobody here, such as a subresource.
        let named = rest.split_first().filter(|(_, name)| name.len() < 2).ok_or_else(nothing)?;
        let (plural, name) = (*named.0, named.1.concat());
        let (gvk, _) = find_kind(&self.kinds, &[plural], Some(&api_version)).map_err(|_| nothing())?;
        Ok(Target { gvk, namespace: namespace.into(), name })
    }

    fn list(&self, target: &Target) -> Value {
        let is_in = |one: &Target| target.namespace.is_empty() || one.namespace == target.namespace;
        let all = self.objects.iter().filter(|(one, _)| one.gvk == target.gvk && is_in(one));
        let mut items: Vec<_> = all.map(|(_, object)| object.clone()).collect();
        if self.built_in.kind(&target.gvk).is_some() {
            // Of these the list alone says the kind.
            for fields in items.iter_mut().filter_map(Value::as_object_mut) {
                fields.retain(|name, _| name != "kind" && name != "apiVersion");
            }
        }
        json!({
            "kind": format!("{}List", target.gvk.kind), "apiVersion": target.gvk.api_version(),
            "metadata": {"resourceVersion": self.revision.to_string()}, "items": items,
        })
    }

    fn create(&mut self, target: &Target, mut object: Value) -> Result<Value> {
        check_kind(target, &object)?;
        let name = match (text(&object, "/metadata/name"), text(&object, "/metadata/generateName")) {
            ("", "") => return Err(Diagnostic::error(Code::MissingField, "required").field("metadata.name")),
            ("", prefix) => format!("{prefix}{:05}", self.revision),
            (name, _) => name.to_string(),
        };
        let target = Target { name, ..target.clone() };
        if self.live(&target).is_ok() {
            return Err(target.problem(Code::DuplicateResource, "already exists"));
        }
        let (uid, time) =
            (format!("00000000-0000-0000-0000-{:012x}", self.revision + 1), "2026-01-01T00:00:00Z");
        for (field, value) in [("name", target.name.as_str()), ("uid", &uid), ("creationTimestamp", time)] {
            object["metadata"][field] = value.into();
        }
        check_place(&target, &mut object)?;
        Ok(self.store(&target, object))
    }

    fn update(&mut self, target: &Target, mut object: Value) -> Result<Value> {
        check_kind(target, &object)?;
        let live = self.live(target)?;
        check_place(target, &mut object)?;
        check_revision(target, &mut object, live)?;
        Ok(self.store(target, object))
    }

    fn patch(&mut self, target: &Target, head: &Parts, body: &[u8]) -> Result<Value> {
        let unknown = || Diagnostic::error(Code::NoSchema, "this format of patches is not known");
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let patch_type = content_type.and_then(PatchType::from_content_type).ok_or_else(unknown)?;
        let live = self.live(target)?;
        let patch = parsed(body)?;
        if patch.is_array() != (patch_type == PatchType::Json) {
            return Err(bad_request("error decoding patch"));
        }
        let mut object = live.clone();
        json::apply(&mut object, &patch, patch_type, &self.built_in)?;
        check_place(target, &mut object)?;
        check_revision(target, &mut object, live)?;
        Ok(self.store(target, object))
    }

    /// Gives an object its revision, unless nothing changed.
    fn store(&mut self, target: &Target, mut object: Value) -> Value {
        if self.objects.get(target) != Some(&object) {
            self.revision += 1;
            object["metadata"]["resourceVersion"] = self.revision.to_string().into();
            self.objects.insert(target.clone(), object.clone());
        }
        object
    }
}

fn parsed(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| bad_request(error.to_string()))
}

fn check_kind(target: &Target, object: &Value) -> Result<()> {
    let is_of_kind = Gvk::of(object).as_ref() == Some(&target.gvk);
    is_of_kind.then_some(()).ok_or_else(|| bad_request(format!("this is no {}", target.gvk)))
}

/// An object is what its path says, and nothing makes it another one.
fn check_place(target: &Target, object: &mut Value) -> Result<()> {
    if text(object, "/metadata/name") != target.name {
        return Err(bad_request(format!("the URL names {}, and the object is another one", target.name)));
    }
    object["apiVersion"] = target.gvk.api_version().as_str().into();
    object["kind"] = target.gvk.kind.as_str().into();
    match text(object, "/metadata/namespace") {
        namespace if namespace == target.namespace => {}
        "" => object["metadata"]["namespace"] = target.namespace.as_str().into(),
        _ => return Err(bad_request("the URL names another namespace than the object")),
    }
    Ok(())
}

/// Who changes a revision must have seen it.
fn check_revision(target: &Target, object: &mut Value, live: &Value) -> Result<()> {
    let (own, there) = (text(object, "/metadata/resourceVersion"), text(live, "/metadata/resourceVersion"));
    if !own.is_empty() && own != there {
        return Err(target.problem(Code::Conflict, "has been modified"));
    }
    if !text(object, "/metadata/uid").is_empty() && object["metadata"]["uid"] != live["metadata"]["uid"] {
        return Err(Diagnostic::error(Code::InvalidValue, "field is immutable").field("metadata.uid"));
    }
    for field in ["resourceVersion", "uid", "creationTimestamp"] {
        object["metadata"][field] = live["metadata"][field].clone();
    }
    Ok(())
}
