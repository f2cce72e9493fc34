//! Reads lock files, and reports errors with their locations.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use smol_str::SmolStr;

use super::super::repo_spec::{is_commit, is_hex};
use super::{LockFile, RemoteReference, VERSION};
use crate::schema_chain::LockedSchema;
use smp_merge::schema::{Gvk, is_built_in};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{Map, Node, ParseOptions, Resolved, parse_one};

impl LockFile {
    /// Reads the remote references in a lock file. The schemas are not read, except for their kinds; see
    /// [`LockFile::read_schemas`].
    ///
    /// # Errors
    /// The text is not JSON, has another version, lacks a field, or has unknown fields, duplicate entries or a schema
    /// of a kind built into Kubernetes.
    pub fn read(sources: &SourceMap, source: SourceId) -> Result<Self> {
        let text = sources.get(source).map(|source| source.text().clone()).unwrap_or_default();
        if let Some(remotes) = parse_remotes(&text) {
            return Ok(Self { remotes, schemas: Vec::new() });
        }
        // The fast path failed. Parse again with locations to report the error.
        let (_, node) = document(sources, source)?;
        let top = top(&node)?;
        let remotes = remotes_with_locations(top)?;
        list(top, "schemas")?.iter().try_for_each(reject_built_in)?;
        Ok(Self { remotes, schemas: Vec::new() })
    }

    /// Reads the schemas in a lock file.
    ///
    /// # Errors
    /// The errors of [`LockFile::read`], or a schema does not match its checksum.
    pub fn read_schemas(sources: &SourceMap, source: SourceId) -> Result<Vec<LockedSchema>> {
        let (values, node) = document(sources, source)?;
        let (mut schemas, mut kinds) = (Vec::new(), BTreeSet::new());
        for (i, entry) in list(top(&node)?, "schemas")?.iter().enumerate() {
            let schema = locked_schema(entry, &values["schemas"][i]["schema"])?;
            if !kinds.insert(schema.gvk.clone()) {
                return Err(duplicate_error(
                    entry,
                    "duplicate entry: the schema of this kind is already locked",
                ));
            }
            schemas.push(schema);
        }
        Ok(schemas)
    }
}

/// A lock file with only the kinds of its schemas.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadLock {
    version: u32,
    #[serde(default)]
    remotes: Vec<ReadRemote>,
    #[serde(default)]
    schemas: Vec<ReadSchema>,
}

#[derive(Deserialize)]
struct ReadSchema {
    gvk: ReadGvk,
}

#[derive(Deserialize)]
struct ReadGvk {
    group: SmolStr,
    version: SmolStr,
    kind: SmolStr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadRemote {
    url: String,
    #[serde(default, rename = "ref", deserialize_with = "not_null")]
    reference: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    commit: Option<String>,
    #[serde(default, deserialize_with = "not_null")]
    sha256: Option<String>,
}

fn not_null<'de, D: Deserializer<'de>>(value: D) -> std::result::Result<Option<String>, D::Error> {
    String::deserialize(value).map(Some)
}

/// Returns the remote references of a valid lock file, and `None` for an invalid one.
fn parse_remotes(text: &str) -> Option<BTreeMap<RemoteReference, String>> {
    let lock: ReadLock = serde_json::from_str(text).ok().filter(|lock: &ReadLock| lock.version == VERSION)?;
    let kinds = lock.schemas.into_iter().map(|ReadSchema { gvk }| gvk);
    if kinds.map(|ReadGvk { group, version, kind }| Gvk { group, version, kind }).any(|gvk| is_built_in(&gvk))
    {
        return None;
    }
    let mut remotes = BTreeMap::new();
    for ReadRemote { url, reference, commit, sha256 } in &lock.remotes {
        let fields = (reference.as_deref(), commit.as_deref(), sha256.as_deref());
        let (reference, version) = locked_remote(url, fields).ok()?;
        if remotes.insert(reference, version).is_some() {
            return None;
        }
    }
    Some(remotes)
}

fn remotes_with_locations(top: &Map) -> Result<BTreeMap<RemoteReference, String>> {
    let mut remotes = BTreeMap::new();
    for entry in list(top, "remotes")? {
        let (reference, version) = remote(entry)?;
        if remotes.insert(reference, version).is_some() {
            return Err(duplicate_error(entry, "duplicate entry: this reference is already locked"));
        }
    }
    Ok(remotes)
}

/// Parses a text twice, into plain values and into a tree with locations.
fn document(sources: &SourceMap, source: SourceId) -> Result<(Value, Node)> {
    let text = sources.get(source).map(|source| source.text().clone()).unwrap_or_default();
    let values = serde_json::from_str(&text).map_err(|error| {
        let at = offset(&text, error.line(), error.column());
        Diagnostic::error(Code::Syntax, format!("lock file is not valid JSON: {error}"))
            .at(Span::new(source, at, at))
            .help("create the lock file again with `kubectl smp lock`")
    })?;
    Ok((values, parse_one(sources, source, ParseOptions::default())?))
}

/// Returns the fields of a lock file, after checking its version.
fn top(node: &Node) -> Result<&Map> {
    let top = object(node, "a lock file", &["version", "remotes", "schemas"])?;
    version(node, top).map(|()| top)
}

/// Returns the byte offset of a 1-based line and column.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

fn invalid(node: &Node, code: Code, message: String) -> Diagnostic {
    Diagnostic::error(code, message)
        .at(node.span())
        .help("create the lock file again with `kubectl smp lock`")
}

fn duplicate_error(node: &Node, message: &str) -> Diagnostic {
    invalid(node, Code::DuplicateKey, message.to_string())
}

/// Returns the map of a node, which must have only known fields.
fn object<'n>(node: &'n Node, what: &str, known: &[&str]) -> Result<&'n Map> {
    let map =
        node.as_map().ok_or_else(|| invalid(node, Code::WrongType, format!("{what} must be an object")))?;
    match map.iter().find(|(key, _)| !known.contains(key)) {
        Some((key, value)) => {
            Err(invalid(value, Code::UnknownField, format!("unknown field `{key}` in {what}")))
        }
        None => Ok(map),
    }
}

fn version(node: &Node, top: &Map) -> Result<()> {
    let Some(version) = top.get("version") else {
        return Err(invalid(node, Code::MissingField, "a lock file must have `version`".into()));
    };
    match version.resolve() {
        Some(Resolved::Int(number)) if number == i64::from(VERSION) => Ok(()),
        Some(Resolved::Int(number)) => {
            let message = format!("unsupported lock file version {number}, expected {VERSION}");
            Err(Diagnostic::error(Code::Unsupported, message)
                .at(version.span())
                .help("use the version of the program that wrote it, or a newer one"))
        }
        _ => Err(invalid(version, Code::WrongType, "`version` must be a number".into())),
    }
}

/// Returns an optional list.
fn list<'n>(map: &'n Map, field: &str) -> Result<&'n [Node]> {
    match map.get(field) {
        None => Ok(&[]),
        Some(list) => match list.as_list() {
            Some(list) => Ok(list.as_slice()),
            None => Err(invalid(list, Code::WrongType, format!("`{field}` must be a list"))),
        },
    }
}

fn text<'n>(map: &'n Map, field: &str) -> Result<Option<&'n str>> {
    let Some(value) = map.get(field) else { return Ok(None) };
    match value.resolve() {
        Some(Resolved::Str(text) | Resolved::Timestamp(text)) => Ok(Some(text)),
        _ => Err(invalid(value, Code::WrongType, format!("`{field}` must be a string"))),
    }
}

fn required_text<'n>(node: &Node, map: &'n Map, field: &str) -> Result<&'n str> {
    text(map, field)?.ok_or_else(|| invalid(node, Code::MissingField, format!("missing field `{field}`")))
}

fn remote(entry: &Node) -> Result<(RemoteReference, String)> {
    let map = object(entry, "a locked reference", &["url", "ref", "commit", "sha256"])?;
    let url = required_text(entry, map, "url")?;
    let fields = (text(map, "ref")?, text(map, "commit")?, text(map, "sha256")?);
    locked_remote(url, fields).map_err(|message| invalid(entry, Code::InvalidValue, message))
}

/// Returns the pinned reference for the fields `ref`, `commit` and `sha256`, or a message about what is invalid.
fn locked_remote(
    url: &str,
    fields: (Option<&str>, Option<&str>, Option<&str>),
) -> std::result::Result<(RemoteReference, String), String> {
    match fields {
        (Some(reference), Some(commit), None) => {
            let locked = RemoteReference::repository(url, reference);
            if !is_commit(commit) {
                return Err(format!("`{commit}` is not a full commit hash"));
            }
            if locked.is_commit_hash() && reference != commit {
                return Err(format!("`ref` is the commit {reference}, but `commit` is {commit}"));
            }
            Ok((locked, commit.to_string()))
        }
        (None, None, Some(sha256)) if sha256.len() == 64 && is_hex(sha256) => {
            Ok((RemoteReference::file(url), sha256.to_string()))
        }
        (None, None, Some(sha256)) => Err(format!("`{sha256}` is not a SHA-256")),
        _ => Err("a locked reference must have `ref` and `commit`, or `sha256`".into()),
    }
}

fn kind_of(node: &Node) -> Result<Gvk> {
    let names = object(node, "a kind", &["group", "version", "kind"])?;
    let name = |field: &str| required_text(node, names, field).map(SmolStr::from);
    Ok(Gvk { group: name("group")?, version: name("version")?, kind: name("kind")? })
}

/// Rejects an entry of `schemas` for a kind with an embedded schema. Whether the entry is complete is checked
/// when the schemas are read.
fn reject_built_in(entry: &Node) -> Result<()> {
    let gvk = entry.get("gvk").and_then(|kind| kind_of(kind).ok());
    match gvk.filter(is_built_in) {
        None => Ok(()),
        Some(gvk) => {
            let message = format!("{gvk} is built into Kubernetes: a lock file cannot change its schema");
            Err(Diagnostic::error(Code::Locked, message)
                .at(entry.get("gvk").map_or(entry.span(), Node::span))
                .help("remove this entry, or create the lock file again with `kubectl smp lock`"))
        }
    }
}

fn locked_schema(entry: &Node, schema: &Value) -> Result<LockedSchema> {
    let map = object(entry, "a locked schema", &["gvk", "source", "server_version", "sha256", "schema"])?;
    let required = |field: &str| {
        map.get(field).ok_or_else(|| invalid(entry, Code::MissingField, format!("missing field `{field}`")))
    };
    let (kind, document) = (required("gvk")?, required("schema")?);
    let gvk = kind_of(kind)?;
    if document.as_map().is_none() {
        return Err(invalid(document, Code::WrongType, "`schema` must be an object".into()));
    }
    let source = required_text(entry, map, "source")?.to_string();
    let server_version = required_text(entry, map, "server_version")?.to_string();
    let locked = LockedSchema::new(gvk, source, server_version, schema.clone());
    if locked.sha256 != required_text(entry, map, "sha256")? {
        let message = format!("schema of {} does not match its `sha256`", locked.gvk);
        return Err(invalid(entry, Code::Locked, message));
    }
    Ok(locked)
}
