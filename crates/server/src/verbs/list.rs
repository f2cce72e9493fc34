//! Lists collections, in pages and at earlier revisions.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::faults::Effect;
use crate::request::{Request, Target};
use crate::selectors::Selectors;
use crate::state::{State, in_version};
use crate::status::{Cause, Failure, Named, Result};
use crate::store::key;

/// The state of a list that is read in pages.
struct Page {
    revision: u64,
    start: String,
}

/// Returns a list of objects in the API's format.
pub(crate) fn list_of(target: &Target, items: Vec<Value>, metadata: &Value) -> Value {
    let resource = &target.resource;
    let item = |object: Value| {
        let mut object = in_version(&object, &resource.gvk);
        // Items of built-in lists have no kind and apiVersion.
        if !resource.is_custom
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        object
    };
    let items: Vec<Value> = items.into_iter().map(item).collect();
    json!({
        "kind": resource.list_kind, "apiVersion": resource.gvk.api_version(),
        "metadata": metadata, "items": items,
    })
}

impl State {
    /// Returns the selected objects of a collection.
    pub(crate) fn selected(&self, target: &Target, request: &Request) -> Result<Vec<Arc<Value>>> {
        let selectors = Selectors::of(request, target)?;
        let all = self.store.list(&target.resource.collection(), &target.namespace, "");
        Ok(all.map(|(_, object)| object).filter(|object| selectors.matches(object)).cloned().collect())
    }

    /// Returns the object to read: the current one, unless a fault hides the last changes.
    pub(crate) fn read_object_of(&self, target: &Target, request: &Request) -> Result<Arc<Value>> {
        let Effect::Stale(revision) = request.effect else { return self.object(target) };
        let all = self.store.at(&target.resource.collection(), revision.min(self.store.revision()));
        let key = key(&target.namespace, &target.name);
        let found = all.map_err(|_| expired(request))?.get(&key).cloned();
        found.ok_or_else(|| Failure::not_found(target.named()))
    }

    /// Lists a collection.
    pub(crate) fn list(&self, target: &Target, request: &Request) -> Result<Value> {
        let (items, metadata) = self.page(target, request)?;
        let items = items.iter().map(|object| Value::clone(object)).collect();
        Ok(list_of(target, items, &metadata))
    }

    /// Returns a page of a collection, and the metadata of the list.
    pub(crate) fn page(&self, target: &Target, request: &Request) -> Result<(Vec<Arc<Value>>, Value)> {
        let selectors = Selectors::of(request, target)?;
        check_options(request)?;
        let page = self.page_of(request)?;
        let collection = target.resource.collection();
        let objects: Vec<_> = if page.revision == self.store.revision() {
            let all = self.store.list(&collection, &target.namespace, &page.start);
            all.map(|(key, object)| (key.clone(), Arc::clone(object))).collect()
        } else {
            let prefix = format!("{}/", target.namespace);
            let all = self.store.at(&collection, page.revision).map_err(|_| expired(request))?;
            let is_there = |key: &str| target.namespace.is_empty() || key.starts_with(&prefix);
            all.into_iter().filter(|(key, _)| **key >= *page.start && is_there(key)).collect()
        };
        let limit: usize = request.parameter("limit").parse().unwrap_or(0);
        let mut matching = objects.into_iter().filter(|(_, object)| selectors.matches(object));
        let mut items: Vec<_> = matching.by_ref().take(if limit == 0 { usize::MAX } else { limit }).collect();
        let mut metadata = json!({"resourceVersion": page.revision.to_string()});
        if let Some((next, _)) = matching.next() {
            let remaining = 1 + matching.count();
            let _ = next;
            let last = items.last().map(|(key, _)| key.as_str()).unwrap_or_default();
            metadata["continue"] = token(page.revision, last).into();
            if selectors.is_any() {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        Ok((items.drain(..).map(|(_, object)| object).collect(), metadata))
    }

    /// Returns the revision and the start of the page that a request asks for.
    fn page_of(&self, request: &Request) -> Result<Page> {
        let token = request.parameter("continue");
        if !token.is_empty() {
            return read_token(token)
                .ok_or_else(|| Failure::bad_request("continue key is not valid: illegal base64 data"));
        }
        let current = self.store.revision();
        if let Effect::Stale(revision) = request.effect {
            return Ok(Page { revision: revision.min(current), start: String::new() });
        }
        let version = request.parameter("resourceVersion");
        let revision = match version {
            "" | "0" => current,
            text => text.parse::<u64>().map_err(|_| {
                Failure::bad_request(format!("invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"))
            })?,
        };
        if revision > current {
            return Err(too_large(revision, current));
        }
        let is_exact = match request.parameter("resourceVersionMatch") {
            "Exact" => true,
            "" => !request.parameter("limit").is_empty() && !matches!(version, "" | "0"),
            _ => false,
        };
        Ok(Page { revision: if is_exact { revision } else { current }, start: String::new() })
    }
}

/// Checks combinations of options that servers reject.
pub(crate) fn check_options(request: &Request) -> Result<()> {
    let set = |name: &str| !request.parameter(name).is_empty();
    request.check_integer("limit")?;
    request.check_integer("timeoutSeconds")?;
    if set("continue") && set("resourceVersion") && request.parameter("resourceVersion") != "0" {
        return Err(Failure::bad_request("specifying resource version is not allowed when using continue"));
    }
    let causes = if request.is_set("watch") { watch_causes(request) } else { list_causes(request) };
    if causes.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid_named(Named { group: "meta.k8s.io", what: "ListOptions", name: "" }, &causes))
}

fn watch_causes(request: &Request) -> Vec<Cause> {
    let has_initial = !request.parameter("sendInitialEvents").is_empty();
    let is_matched = request.parameter("resourceVersionMatch") == "NotOlderThan";
    let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    let mut causes: Vec<Cause> =
        (has_initial && !is_matched).then(|| Cause::forbidden(MATCH, why)).into_iter().collect();
    if !has_initial && !request.parameter(MATCH).is_empty() {
        let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        causes.push(Cause::forbidden(MATCH, why));
    }
    causes
}

const MATCH: &str = "resourceVersionMatch";

fn list_causes(request: &Request) -> Vec<Cause> {
    let set = |name: &str| !request.parameter(name).is_empty();
    let mut causes = Vec::new();
    let matching = request.parameter(MATCH);
    if set(MATCH) {
        if !set("resourceVersion") {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            causes.push(Cause::forbidden(MATCH, why));
        }
        if set("continue") {
            causes
                .push(Cause::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let why = format!(
                "Unsupported value: {matching:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
            );
            causes.push(Cause::new("FieldValueNotSupported", MATCH, why));
        } else if matching == "Exact" && request.parameter("resourceVersion") == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(Cause::forbidden(MATCH, why));
        }
    }
    if set("sendInitialEvents") {
        causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    causes
}

fn too_large(revision: u64, current: u64) -> Failure {
    let message = format!("Timeout: Too large resource version: {revision}, current: {current}");
    Failure::new(504, "Timeout", message).causes(&[Cause::new(
        "ResourceVersionTooLarge",
        "",
        "Too large resource version",
    )])
}

fn expired(request: &Request) -> Failure {
    if request.parameter("continue").is_empty() {
        return Failure::expired("The resourceVersion for the provided list is too old.");
    }
    Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter.",
    )
}

/// Returns the continue token for the page after a key. Clients treat it as opaque.
fn token(revision: u64, last: &str) -> String {
    let text = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{last}\0")}).to_string();
    text.bytes().fold(String::new(), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    })
}

fn read_token(token: &str) -> Option<Page> {
    let pairs = token.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    let value: Value = serde_json::from_slice(&bytes?).ok()?;
    Some(Page { revision: value["rv"].as_u64()?, start: value["start"].as_str()?.into() })
}
