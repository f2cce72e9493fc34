//! Reads the bodies of requests into objects of the served kind.

use std::borrow::Cow;

use serde_json::Value;
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

use crate::request::{FieldValidation, Request, WriteOptions};
use crate::resources::Resource;
use crate::state::State;
use crate::status::{Failure, Result};
use crate::typed;
use crate::verbs::{json, kinds};

/// The media types of bodies.
const ACCEPTED: [&str; 2] = ["application/json", "application/yaml"];

/// Parses the body of a request, which is JSON or YAML. Returns null for an empty body.
pub(crate) fn parse(request: &Request) -> Result<Value> {
    Ok(parse_with_repeated(request)?.0)
}

/// Parses the body of a request. Returns the paths of its repeated fields as well.
fn parse_with_repeated(request: &Request) -> Result<(Value, Vec<String>)> {
    let is_yaml = match &*request.content_type().to_ascii_lowercase() {
        "" | "application/json" => false,
        "application/yaml" => true,
        _ => return Err(Failure::unsupported_media_type(&ACCEPTED)),
    };
    if request.body.is_empty() {
        return Ok((Value::Null, Vec::new()));
    }
    if is_yaml {
        return Ok((parse_yaml(&request.body)?, Vec::new()));
    }
    json::parse(&request.body).map_err(|error| Failure::bad_request(error.to_string()))
}

pub(crate) fn parse_json(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))
}

/// Parses YAML like servers do, which also accept JSON.
pub(crate) fn parse_yaml(body: &[u8]) -> Result<Value> {
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text = String::from_utf8_lossy(body);
    let node: Node = text.parse().map_err(|error: smp_text::diagnostic::Diagnostic| {
        Failure::bad_request(format!("error decoding YAML: {}", error.message()))
    })?;
    Ok(node.to_json_value())
}

impl State {
    /// Decodes the body of a create or update.
    pub(crate) fn read_object(
        &self,
        request: &Request,
        resource: &Resource,
        gvk: &Gvk,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let (mut value, repeated) =
            parse_with_repeated(request).map_err(|failure| unrecognized(gvk, &request.body, &failure))?;
        self.check_kind(&mut value, resource, gvk, &request.body)?;
        let repeated = repeated.into_iter().map(|path| format!("duplicate field {path:?}")).collect();
        self.decode_strictly(value, repeated, resource.is_custom, gvk, options)
    }

    /// Checks that an object has the kind of its resource or none, and sets the kind.
    fn check_kind(&self, value: &mut Value, resource: &Resource, gvk: &Gvk, body: &[u8]) -> Result<()> {
        if value.is_null() {
            let message = if resource.is_custom { "unexpected end of JSON input" } else { "EOF" };
            return Err(Failure::bad_request(message));
        }
        if !value.is_object() {
            return Err(unrecognized_kind(value, gvk, body));
        }
        let (api_version, kind) = kinds::read(value).map_err(|why| unrecognized_type(gvk, body, &why))?;
        if resource.is_custom {
            return check_custom_kind(api_version, kind, gvk, body);
        }
        if let Some(why) = self.mismatch(api_version, kind, gvk) {
            let (api_version, kind) = kinds::with_defaults(api_version, kind, gvk);
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let message = format!("{kind} in version {version:?} cannot be handled as a {}: {why}", gvk.kind);
            return Err(Failure::bad_request(message));
        }
        kinds::set(value, gvk);
        Ok(())
    }

    /// Decodes an object, with its defaults.
    pub(crate) fn decode(
        &self,
        value: Value,
        is_custom: bool,
        gvk: &Gvk,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        self.decode_strictly(value, Vec::new(), is_custom, gvk, options)
    }

    /// Decodes an object, with its defaults. Repeated and unknown fields are handled according to `fieldValidation`.
    fn decode_strictly(
        &self,
        value: Value,
        repeated: Vec<String>,
        is_custom: bool,
        gvk: &Gvk,
        options: &mut WriteOptions,
    ) -> Result<Value> {
        let decoded =
            typed::decode(value, self.cursor(gvk), is_custom).map_err(|error| not_handled(gvk, &error))?;
        let mut unknown = repeated;
        unknown.extend(decoded.unknown);
        match options.field_validation {
            FieldValidation::Strict if !unknown.is_empty() => {
                let error = format!("strict decoding error: {}", unknown.join(", "));
                return Err(not_handled(gvk, &error));
            }
            FieldValidation::Warn => options.warnings.extend(unknown),
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        let mut object = decoded.object;
        self.set_defaults(&mut object, gvk, is_custom);
        Ok(object)
    }
}

fn not_handled(gvk: &Gvk, error: &str) -> Failure {
    let Gvk { version, kind, .. } = gvk;
    Failure::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}"))
}

fn unrecognized(gvk: &Gvk, body: &[u8], failure: &Failure) -> Failure {
    if failure.code != 400 {
        return failure.clone();
    }
    let status = failure.to_status();
    let message = status["message"].as_str().unwrap_or_default();
    unrecognized_type(gvk, body, &format!("couldn't get version/kind; json parse error: {message}"))
}

/// Returns the start of a body in the format of messages: as text, or as hexadecimal digits.
fn summary(body: &[u8]) -> Cow<'static, str> {
    use std::fmt::Write as _;
    const MAX: usize = 30;
    let shown = body.get(..MAX).unwrap_or(body);
    let is_long = body.len() > MAX;
    if body.is_empty() {
        return "<empty>".into();
    }
    if body.first() == Some(&b'{') {
        let text = String::from_utf8_lossy(shown);
        return if is_long { format!("{text} ...").into() } else { text.into_owned().into() };
    }
    let digits = shown.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    if is_long { format!("{digits} ...").into() } else { digits.into() }
}

/// Checks that a custom resource has a `kind`, and that its `apiVersion` is that of the request path. The kind is
/// compared later.
fn check_custom_kind(api_version: &str, kind: &str, gvk: &Gvk, body: &[u8]) -> Result<()> {
    if kind.is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
        return Err(unrecognized_type(gvk, body, &why));
    }
    let wanted = gvk.api_version();
    if api_version == wanted {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "the API version in the data ({api_version}) does not match the expected API version ({wanted})"
    )))
}

/// Returns the error for a body without a readable version and kind.
fn unrecognized_type(gvk: &Gvk, body: &[u8], why: &str) -> Failure {
    let shown = summary(body);
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({shown})",
        gvk.kind
    ))
}

fn unrecognized_kind(value: &Value, gvk: &Gvk, body: &[u8]) -> Failure {
    let error = kinds::not_a_type(value);
    unrecognized_type(gvk, body, &format!("couldn't get version/kind; json parse error: {error}"))
}
