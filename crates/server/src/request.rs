//! Requests: the resource of a path, the verb, and the options of the query.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Map, Value};
use smp_merge::schema::PathParts;

use crate::accept::Form;
use crate::faults::Effect;
use crate::resources::{Resource, Resources, Subresource, Verb};
use crate::status::{Cause, Failure, Named, Result};

/// A request whose body has arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The path with the query.
    pub(crate) uri: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The fault for the request.
    pub(crate) effect: Effect,
}

impl Request {
    /// Creates a request.
    ///
    /// # Errors
    /// The path cannot be decoded.
    pub(crate) fn new(head: Parts, body: Bytes) -> Result<Self> {
        let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let query = query.into_owned().collect();
        let path = decode_path(head.uri.path()).ok_or_else(|| Failure::bad_request("400 Bad Request"))?;
        let uri = head.uri.path_and_query().map_or_else(String::new, ToString::to_string);
        Ok(Self { method: head.method, path, uri, query, headers: head.headers, body, effect: Effect::None })
    }

    /// Returns a parameter of the query; an empty text if it is absent.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.query.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns the values of a parameter.
    pub(crate) fn values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns true for a parameter such as `watch=1`. As in servers, all values except `0` and `false` are true.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        let value = self.values(name).next();
        value.is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Checks that a parameter is an integer, if the request has it.
    pub(crate) fn check_integer(&self, name: &str) -> Result<()> {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let text = self.parameter(name);
        let Err(error) = text.parse::<i64>() else { return Ok(()) };
        if text.is_empty() {
            return Ok(());
        }
        let is_large = matches!(error.kind(), NegOverflow | PosOverflow);
        let why = if is_large { "value out of range" } else { "invalid syntax" };
        Err(Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}")))
    }

    fn header(&self, name: &http::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the media type of the body without parameters. Servers ignore its case, except for patches.
    pub(crate) fn content_type(&self) -> &str {
        self.header(&CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    pub(crate) fn accept(&self) -> &str {
        self.header(&ACCEPT)
    }

    /// Returns the options of a change from the query.
    pub(crate) fn sent_options(&self) -> Value {
        let mut options = Map::new();
        for name in ["fieldManager", "fieldValidation"] {
            let text = self.parameter(name);
            if !text.is_empty() {
                options.insert(name.into(), text.into());
            }
        }
        let dry_run = self.parameter("dryRun");
        if !dry_run.is_empty() {
            options.insert("dryRun".into(), vec![dry_run].into());
        }
        Value::Object(options)
    }

    /// Returns the representation of objects that the client requests; `None` if servers support none of the requested
    /// ones.
    pub(crate) fn form(&self) -> Option<Form> {
        Form::accepted(self.accept())
    }

    /// Returns the field manager: that of the query, or the user agent up to its first slash.
    pub(crate) fn manager(&self) -> String {
        let named = self.parameter("fieldManager");
        if !named.is_empty() {
            return named.into();
        }
        let agent = self.header(&USER_AGENT).split('/').next().unwrap_or_default();
        agent.chars().filter(|c| !c.is_control()).take(128).collect()
    }
}

/// Decodes the path of a URL. Returns `None` if a `%` is not followed by two hexadecimal digits.
fn decode_path(path: &str) -> Option<String> {
    if !path.contains('%') {
        return Some(path.into());
    }
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(part.bytes().skip(2));
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The target of a request: a resource, and an object, a subresource or a collection.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    /// The name of the object; empty for a collection.
    pub(crate) name: String,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) verb: Verb,
}

impl Target {
    /// Finds the target of a request. Returns `None` if nothing is served at its path.
    pub(crate) fn find(resources: &Resources, request: &Request) -> Option<Result<Self>> {
        let PathParts { api_version, namespace, plural, name, subresource } =
            PathParts::parse(request.path.strip_suffix('/').unwrap_or(&request.path))?;
        let resource = Arc::clone(resources.find(api_version, plural)?);
        let is_there = if resource.is_namespaced {
            name.is_empty() || !namespace.is_empty()
        } else {
            namespace.is_empty()
        };
        if !is_there {
            return None;
        }
        let sub = match subresource {
            "" => None,
            name => Some(resource.subresource(name.split('/').next().unwrap_or_default())?.clone()),
        };
        let is_collection = name.is_empty();
        let Some(verb) = verb(request, is_collection) else {
            return Some(Err(Failure::method_not_allowed()));
        };
        let is_served = match &sub {
            None => resource.has_verb(verb),
            Some(sub) if STREAMS.contains(&&*sub.name) => {
                return Some(Err(Failure::not_implemented(&format!("{plural}/{}", sub.name))));
            }
            Some(sub) => sub.has_verb(verb),
        };
        let needs_namespace =
            verb == Verb::Create && is_collection && resource.is_namespaced && namespace.is_empty();
        let is_of_other_path = match verb {
            Verb::Create => !is_collection && sub.is_none(),
            Verb::Update | Verb::Patch => is_collection,
            _ => false,
        };
        if !is_served || needs_namespace || is_of_other_path {
            return Some(Err(Failure::method_not_allowed()));
        }
        let (namespace, name) = (namespace.into(), name.into());
        Some(Ok(Self { resource, namespace, name, subresource: sub, verb }))
    }

    /// Returns the resource with the name of the object, for messages.
    pub(crate) fn named(&self) -> Named<'_> {
        self.resource.named(&self.name)
    }

    pub(crate) fn subresource_name(&self) -> &str {
        self.subresource.as_ref().map_or("", |sub| &sub.name)
    }
}

/// The subresources that need containers or keys, which are not supported.
const STREAMS: [&str; 6] = ["attach", "exec", "log", "portforward", "proxy", "token"];

fn verb(request: &Request, is_collection: bool) -> Option<Verb> {
    Some(match (&request.method, is_collection) {
        (&Method::GET, true) if request.is_set("watch") => Verb::Watch,
        (&Method::GET, true) => Verb::List,
        (&Method::GET, false) => Verb::Get,
        (&Method::POST, _) => Verb::Create,
        (&Method::PUT, _) => Verb::Update,
        (&Method::PATCH, _) => Verb::Patch,
        (&Method::DELETE, true) => Verb::DeleteCollection,
        (&Method::DELETE, false) => Verb::Delete,
        _ => return None,
    })
}

/// Policy for unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options of a request that changes objects, and the warnings of its response.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) is_dry: bool,
    pub(crate) is_forced: bool,
    pub(crate) manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) warnings: Vec<String>,
    #[cfg_attr(not(feature = "cel"), expect(dead_code, reason = "only policies read it"))]
    pub(crate) sender: Sender,
    /// The options that the client sent, for policies.
    pub(crate) sent: Value,
}

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The client.
    Client,
    /// A stand-in for a controller.
    Controller,
}

impl WriteOptions {
    pub(crate) fn parse(request: &Request, options_kind: &str) -> Result<Self> {
        let field_validation = match request.parameter("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                return Err(unsupported(
                    options_kind,
                    "fieldValidation",
                    other,
                    &["Ignore", "Warn", "Strict"],
                ));
            }
        };
        let stages: Vec<&str> = request.values("dryRun").collect();
        if stages.iter().any(|stage| *stage != "All") {
            let shown = format!("Unsupported value: {}: supported values: \"All\"", Value::from(stages));
            return Err(invalid_option(options_kind, "dryRun", &shown));
        }
        let is_forced = request.is_set("force");
        check_manager(options_kind, request.parameter("fieldManager"))?;
        Ok(Self {
            is_dry: !stages.is_empty(),
            is_forced,
            manager: request.manager(),
            field_validation,
            warnings: Vec::new(),
            sender: Sender::Client,
            sent: Value::Null,
        })
    }
}

/// Checks the name of a field manager.
fn check_manager(options_kind: &str, name: &str) -> Result<()> {
    const LONGEST: usize = 128;
    let cause = |reason, message: String| {
        let named = Named { group: "meta.k8s.io", what: options_kind, name: "" };
        Failure::invalid_named(named, &[Cause::new(reason, "fieldManager", message)])
    };
    if name.len() > LONGEST {
        return Err(cause("FieldValueTooLong", format!("Too long: may not be more than {LONGEST} bytes")));
    }
    let Some((at, control)) = name.chars().enumerate().find(|(_, c)| c.is_control()) else { return Ok(()) };
    let code = u32::from(control);
    let shown = Value::from(name);
    let message = format!("Invalid value: {shown}: invalid character U+{code:04X} (at position {at})");
    Err(cause("FieldValueInvalid", message))
}

fn unsupported(kind: &str, field: &str, value: &str, supported: &[&str]) -> Failure {
    let supported: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
    let mut supported = supported;
    supported.sort();
    invalid_option(
        kind,
        field,
        &format!("Unsupported value: {value:?}: supported values: {}", supported.join(", ")),
    )
}

/// Returns the error for a value of an option that is not supported.
pub(crate) fn invalid_option(kind: &str, field: &str, message: &str) -> Failure {
    let named = Named { group: "meta.k8s.io", what: kind, name: "" };
    Failure::invalid_named(named, &[Cause::new("FieldValueNotSupported", field, message)])
}
