//! Reading lock files: each mistake with its place.

use serde_json::Value;

use super::super::repo_spec::{is_commit, is_hex};
use super::{LockFile, RemoteReference, VERSION};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::{Gvk, LockedSchema};
use crate::source::{SourceId, SourceMap, Span};
use crate::yaml::{Map, Node, ParseOptions, Resolved, parse_one};

impl LockFile {
    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// It is no JSON, is of another version, lacks something or has something unknown, has an entry twice,
    /// or a schema that is not what its checksum says.
    pub fn read(sources: &SourceMap, source: SourceId) -> Result<Self> {
        let text = sources.get(source).map(|source| source.text().clone()).unwrap_or_default();
        let values: Value = serde_json::from_str(&text).map_err(|error| {
            let at = offset(&text, error.line(), error.column());
            Diagnostic::error(Code::Syntax, format!("this lock file is no JSON: {error}"))
                .at(Span::new(source, at, at))
        })?;
        let node = parse_one(sources, source, ParseOptions::default())?;
        let top = object(&node, "a lock file", &["version", "remotes", "schemas"])?;
        version(&node, top)?;
        let mut lock = Self::default();
        for entry in list(top, "remotes")? {
            let (reference, version) = remote(entry)?;
            if lock.remotes.insert(reference, version).is_some() {
                return Err(twice(entry, "this reference is locked twice"));
            }
        }
        for (i, entry) in list(top, "schemas")?.iter().enumerate() {
            let schema = locked_schema(entry, &values["schemas"][i]["schema"])?;
            if lock.schemas.iter().any(|known| known.gvk == schema.gvk) {
                return Err(twice(entry, "the schema of this kind is locked twice"));
            }
            lock.schemas.push(schema);
        }
        Ok(lock)
    }
}

/// The byte of a line and column, both from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

fn wrong(node: &Node, code: Code, message: String) -> Diagnostic {
    Diagnostic::error(code, message).at(node.span()).help("lock files are written by `kubectl smp lock`")
}

fn twice(node: &Node, message: &str) -> Diagnostic {
    wrong(node, Code::DuplicateKey, message.to_string())
}

/// A map that has none but known fields.
fn object<'n>(node: &'n Node, what: &str, known: &[&str]) -> Result<&'n Map> {
    let map =
        node.as_map().ok_or_else(|| wrong(node, Code::WrongType, format!("{what} must be an object")))?;
    match map.iter().find(|(key, _)| !known.contains(key)) {
        Some((key, value)) => Err(wrong(value, Code::UnknownField, format!("{what} has no field `{key}`"))),
        None => Ok(map),
    }
}

fn version(node: &Node, top: &Map) -> Result<()> {
    let Some(version) = top.get("version") else {
        return Err(wrong(node, Code::MissingField, "a lock file must have `version`".into()));
    };
    match version.resolve() {
        Some(Resolved::Int(number)) if number == i64::from(VERSION) => Ok(()),
        Some(Resolved::Int(number)) => {
            let message = format!("this lock file is of version {number}; known is version {VERSION}");
            Err(Diagnostic::error(Code::Unsupported, message)
                .at(version.span())
                .help("use the program that wrote it, or a newer one"))
        }
        _ => Err(wrong(version, Code::WrongType, "`version` must be a number".into())),
    }
}

/// A list, which may be left out.
fn list<'n>(map: &'n Map, field: &str) -> Result<&'n [Node]> {
    match map.get(field) {
        None => Ok(&[]),
        Some(list) => match list.as_list() {
            Some(list) => Ok(list.as_slice()),
            None => Err(wrong(list, Code::WrongType, format!("`{field}` must be a list"))),
        },
    }
}

fn text<'n>(map: &'n Map, field: &str) -> Result<Option<&'n str>> {
    let Some(value) = map.get(field) else { return Ok(None) };
    match value.resolve() {
        Some(Resolved::Str(text) | Resolved::Timestamp(text)) => Ok(Some(text)),
        _ => Err(wrong(value, Code::WrongType, format!("`{field}` must be a string"))),
    }
}

fn needed<'n>(node: &Node, map: &'n Map, field: &str) -> Result<&'n str> {
    text(map, field)?
        .ok_or_else(|| wrong(node, Code::MissingField, format!("this entry must have `{field}`")))
}

fn remote(entry: &Node) -> Result<(RemoteReference, String)> {
    let map = object(entry, "a locked reference", &["url", "ref", "commit", "sha256"])?;
    let url = needed(entry, map, "url")?;
    let fields = (text(map, "ref")?, text(map, "commit")?, text(map, "sha256")?);
    let invalid = |message: String| Err(wrong(entry, Code::InvalidValue, message));
    match fields {
        (Some(reference), Some(commit), None) => {
            let locked = RemoteReference::repository(url, reference);
            if !is_commit(commit) {
                return invalid(format!("`{commit}` is no full hash of a commit"));
            }
            if locked.is_fixed() && reference != commit {
                return invalid(format!("the commit {reference} cannot be {commit}"));
            }
            Ok((locked, commit.to_string()))
        }
        (None, None, Some(sha256)) if sha256.len() == 64 && is_hex(sha256) => {
            Ok((RemoteReference::file(url), sha256.to_string()))
        }
        (None, None, Some(sha256)) => invalid(format!("`{sha256}` is no SHA-256")),
        _ => invalid("a locked reference has `ref` and `commit`, or `sha256`".into()),
    }
}

fn locked_schema(entry: &Node, schema: &Value) -> Result<LockedSchema> {
    let map = object(entry, "a locked schema", &["gvk", "source", "server_version", "sha256", "schema"])?;
    let needs = |field: &str| {
        map.get(field)
            .ok_or_else(|| wrong(entry, Code::MissingField, format!("this entry must have `{field}`")))
    };
    let (kind, document) = (needs("gvk")?, needs("schema")?);
    let names = object(kind, "a kind", &["group", "version", "kind"])?;
    let gvk = Gvk {
        group: needed(kind, names, "group")?.into(),
        version: needed(kind, names, "version")?.into(),
        kind: needed(kind, names, "kind")?.into(),
    };
    if document.as_map().is_none() {
        return Err(wrong(document, Code::WrongType, "`schema` must be an object".into()));
    }
    let source = needed(entry, map, "source")?.to_string();
    let server_version = needed(entry, map, "server_version")?.to_string();
    let locked = LockedSchema::new(gvk, source, server_version, schema.clone());
    if locked.sha256 != needed(entry, map, "sha256")? {
        let message = format!("the schema of {} is not what its `sha256` says", locked.gvk);
        return Err(wrong(entry, Code::Locked, message));
    }
    Ok(locked)
}
