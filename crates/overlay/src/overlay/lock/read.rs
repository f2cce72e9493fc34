//! Reading lock files: each mistake with its place.

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
    /// Reads what the text of a lock file says of remote references. Of the schemas only the kinds are looked at:
    /// [`LockFile::read_schemas`] reads them.
    ///
    /// # Errors
    /// It is no JSON, is of another version, lacks something or has something unknown, or has an entry twice; it has a
    /// schema of a kind that is built into Kubernetes.
    pub fn read(sources: &SourceMap, source: SourceId) -> Result<Self> {
        let text = sources.get(source).map(|source| source.text().clone()).unwrap_or_default();
        if let Some(remotes) = remotes_of(&text) {
            return Ok(Self { remotes, schemas: Vec::new() });
        }
        // Something is wrong: what it is, and where, is worth another look.
        let (_, node) = document(sources, source)?;
        let top = top(&node)?;
        let remotes = remotes_with_places(top)?;
        list(top, "schemas")?.iter().try_for_each(refuse_built_in)?;
        Ok(Self { remotes, schemas: Vec::new() })
    }

    /// Reads the schemas that the text of a lock file has.
    ///
    /// # Errors
    /// As [`LockFile::read`]; a schema is not what its checksum says.
    pub fn read_schemas(sources: &SourceMap, source: SourceId) -> Result<Vec<LockedSchema>> {
        let (values, node) = document(sources, source)?;
        let (mut schemas, mut kinds) = (Vec::new(), BTreeSet::new());
        for (i, entry) in list(top(&node)?, "schemas")?.iter().enumerate() {
            let schema = locked_schema(entry, &values["schemas"][i]["schema"])?;
            if !kinds.insert(schema.gvk.clone()) {
                return Err(twice(entry, "the schema of this kind is locked twice"));
            }
            schemas.push(schema);
        }
        Ok(schemas)
    }
}

/// A lock file; of its schemas only the kinds.
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

/// The remote references of a text that has no mistake.
fn remotes_of(text: &str) -> Option<BTreeMap<RemoteReference, String>> {
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

fn remotes_with_places(top: &Map) -> Result<BTreeMap<RemoteReference, String>> {
    let mut remotes = BTreeMap::new();
    for entry in list(top, "remotes")? {
        let (reference, version) = remote(entry)?;
        if remotes.insert(reference, version).is_some() {
            return Err(twice(entry, "this reference is locked twice"));
        }
    }
    Ok(remotes)
}

/// The values of a text, and where they stand.
fn document(sources: &SourceMap, source: SourceId) -> Result<(Value, Node)> {
    let text = sources.get(source).map(|source| source.text().clone()).unwrap_or_default();
    let values = serde_json::from_str(&text).map_err(|error| {
        let at = offset(&text, error.line(), error.column());
        Diagnostic::error(Code::Syntax, format!("this lock file is no JSON: {error}"))
            .at(Span::new(source, at, at))
    })?;
    Ok((values, parse_one(sources, source, ParseOptions::default())?))
}

/// The fields of a lock file of the version that is known.
fn top(node: &Node) -> Result<&Map> {
    let top = object(node, "a lock file", &["version", "remotes", "schemas"])?;
    version(node, top).map(|()| top)
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
    locked_remote(url, fields).map_err(|message| wrong(entry, Code::InvalidValue, message))
}

/// What is locked, by the fields `ref`, `commit` and `sha256`; else what is wrong with them.
fn locked_remote(
    url: &str,
    fields: (Option<&str>, Option<&str>, Option<&str>),
) -> std::result::Result<(RemoteReference, String), String> {
    match fields {
        (Some(reference), Some(commit), None) => {
            let locked = RemoteReference::repository(url, reference);
            if !is_commit(commit) {
                return Err(format!("`{commit}` is no full hash of a commit"));
            }
            if locked.is_fixed() && reference != commit {
                return Err(format!("the commit {reference} cannot be {commit}"));
            }
            Ok((locked, commit.to_string()))
        }
        (None, None, Some(sha256)) if sha256.len() == 64 && is_hex(sha256) => {
            Ok((RemoteReference::file(url), sha256.to_string()))
        }
        (None, None, Some(sha256)) => Err(format!("`{sha256}` is no SHA-256")),
        _ => Err("a locked reference has `ref` and `commit`, or `sha256`".into()),
    }
}

fn kind_of(node: &Node) -> Result<Gvk> {
    let names = object(node, "a kind", &["group", "version", "kind"])?;
    let name = |field: &str| needed(node, names, field).map(SmolStr::from);
    Ok(Gvk { group: name("group")?, version: name("version")?, kind: name("kind")? })
}

/// Refuses an entry of `schemas` for a kind whose schema is embedded. Whether an entry is complete is checked when
/// the schemas are read.
fn refuse_built_in(entry: &Node) -> Result<()> {
    let gvk = entry.get("gvk").and_then(|kind| kind_of(kind).ok());
    match gvk.filter(is_built_in) {
        None => Ok(()),
        Some(gvk) => {
            let message = format!("{gvk} is built into Kubernetes: a lock file cannot change its schema");
            Err(Diagnostic::error(Code::Locked, message)
                .at(entry.get("gvk").map_or(entry.span(), Node::span))
                .help("remove this entry, or write the file again with `kubectl smp lock`"))
        }
    }
}

fn locked_schema(entry: &Node, schema: &Value) -> Result<LockedSchema> {
    let map = object(entry, "a locked schema", &["gvk", "source", "server_version", "sha256", "schema"])?;
    let needs = |field: &str| {
        map.get(field)
            .ok_or_else(|| wrong(entry, Code::MissingField, format!("this entry must have `{field}`")))
    };
    let (kind, document) = (needs("gvk")?, needs("schema")?);
    let gvk = kind_of(kind)?;
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
