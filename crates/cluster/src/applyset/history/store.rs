//! The Secrets that store revisions. They are in the namespace of the parent, or in the one that an annotation of a
//! cluster-scoped parent names.
//!
//! A revision may need several Secrets. The first one has the annotations and is written last, so that a revision is
//! either complete or not visible.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Map, Value, json};

use super::revision::Revision;
use crate::apply::{APPLY, patch_request};
use crate::applyset::id::{CHUNKS, DIGEST, HISTORY_OF, OBJECTS, REVISION, ROLLBACK_OF, SIZE, TARGET, TIME};
use crate::applyset::parent_ref::ParentRef;
use crate::client::Cluster;
use crate::errors::ApiError;
use crate::listing::list_metadata;
use crate::mapping::encode_segment;
use crate::request::ApiRequest;
use smp_text::diagnostic::Result;

/// The size of a chunk in bytes. A Secret can contain at most 1 MiB, and etcd accepts objects of 1.5 MiB, in base64.
const CHUNK_SIZE: usize = 700 << 10;

/// The maximum size of all revisions of a set in bytes. Older revisions are deleted.
const TOTAL_SIZE: usize = 16 << 20;

/// The field manager of the Secrets.
const MANAGER: &str = "kubectl-smp-history";

/// The type of the Secrets.
const SECRET_TYPE: &str = "smp.kubectl.dev/applyset-revision.v1";

/// The result of a request that may be forbidden.
pub(super) type Answered<T> = std::result::Result<T, ApiError>;

/// The history of a set in the cluster.
pub(super) struct HistoryStore<'s> {
    pub(super) cluster: &'s Cluster,
    pub(super) parent: &'s ParentRef,
    /// The namespace of the Secrets.
    pub(super) namespace: &'s str,
}

/// A Secret of the history.
#[derive(Debug)]
struct Chunk {
    name: String,
    uid: String,
    revision: u64,
    annotations: Value,
}

/// The Secrets of a history.
#[derive(Debug, Default)]
pub(super) struct Chunks(Vec<Chunk>);

impl Chunks {
    /// Returns the complete revisions, the oldest first.
    pub(super) fn revisions(&self) -> Vec<Revision> {
        let mut found: Vec<_> = self.0.iter().filter_map(Chunk::revision).collect();
        found.sort_by_key(|revision| revision.number);
        found
    }

    /// Returns the highest revision number in use, including those of incomplete revisions.
    pub(super) fn last_number(&self) -> u64 {
        self.0.iter().map(|chunk| chunk.revision).max().unwrap_or(0)
    }

    /// Returns the oldest revisions that exceed `limit` or [`TOTAL_SIZE`]. The newest revision is never returned.
    fn outdated(&self, limit: usize) -> Vec<u64> {
        let (mut kept, mut size) = (0, 0);
        let mut outdated = Vec::new();
        for revision in self.revisions().iter().rev() {
            size += revision.size;
            if kept > 0 && (kept >= limit || size > TOTAL_SIZE) {
                outdated.push(revision.number);
            } else {
                kept += 1;
            }
        }
        outdated
    }
}

impl Chunk {
    fn read(item: &Value) -> Option<Self> {
        let metadata = item.get("metadata")?;
        let text = |field: &str| Some(metadata.get(field)?.as_str()?.to_string());
        let revision = metadata.get("labels")?.get(REVISION)?.as_str()?.parse().ok()?;
        let annotations = metadata.get("annotations").cloned().unwrap_or_default();
        Some(Self { name: text("name")?, uid: text("uid")?, revision, annotations })
    }

    /// Returns the revision if this is its first chunk.
    fn revision(&self) -> Option<Revision> {
        let text = |name: &str| self.annotations.get(name).and_then(Value::as_str);
        let number = |name: &str| text(name)?.parse::<usize>().ok();
        Some(Revision {
            number: self.revision,
            time: text(TIME)?.to_string(),
            objects: number(OBJECTS)?,
            size: number(SIZE)?,
            chunks: number(CHUNKS)?,
            digest: text(DIGEST)?.to_string(),
            target: text(TARGET).map(str::to_string),
            rollback_of: text(ROLLBACK_OF).and_then(|text| text.parse().ok()),
        })
    }
}

impl HistoryStore<'_> {
    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", encode_segment(self.namespace))
    }

    fn name(&self, revision: u64, chunk: usize) -> String {
        let id = self.parent.id();
        let hash: String =
            id.chars().filter(char::is_ascii_alphanumeric).skip("applyset".len()).take(10).collect();
        format!("smp-history-{}.v{revision}.{chunk}", hash.to_lowercase())
    }

    /// Lists the Secrets of the history.
    pub(super) async fn list(&self) -> Result<Answered<Chunks>> {
        let selector = format!("{HISTORY_OF}={}", self.parent.id());
        let items = list_metadata(self.cluster, &self.collection(), &selector).await?;
        Ok(items.map(|items| Chunks(items.iter().filter_map(Chunk::read).collect())))
    }

    /// Stores a revision, and deletes outdated ones.
    pub(super) async fn write(
        &self,
        revision: &Revision,
        content: &[u8],
        parent_uid: &str,
        (known, limit): (&Chunks, usize),
    ) -> Result<Answered<()>> {
        let parts: Vec<&[u8]> = content.chunks(CHUNK_SIZE).collect();
        for (index, part) in parts.iter().enumerate().rev() {
            let body = self.secret(revision, index, part, parent_uid);
            let path = format!("{}/{}", self.collection(), self.name(revision.number, index));
            let request = patch_request(&path, MANAGER, &body, APPLY);
            if let Err(api_error) = self.cluster.send(&request).await?.into_result() {
                return Ok(Err(api_error));
            }
        }
        let outdated = known.outdated(limit.saturating_sub(1));
        for chunk in known.0.iter().filter(|chunk| outdated.contains(&chunk.revision)) {
            let path = format!("{}/{}", self.collection(), chunk.name);
            let request = ApiRequest::delete(path, json!({"preconditions": {"uid": chunk.uid}}));
            match self.cluster.send(&request).await?.into_result() {
                Err(api_error) if !api_error.is_not_found() => return Ok(Err(api_error)),
                _ => {}
            }
        }
        Ok(Ok(()))
    }

    fn secret(&self, revision: &Revision, index: usize, part: &[u8], parent_uid: &str) -> Value {
        let gvk = &self.parent.mapping.gvk;
        let owner = json!({
            "apiVersion": gvk.api_version().as_str(), "kind": gvk.kind.as_str(), "name": self.parent.name.as_str(),
            "uid": parent_uid,
        });
        let annotations = if index == 0 { annotations(revision) } else { Map::new() };
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": SECRET_TYPE,
            "metadata": {
                "name": self.name(revision.number, index),
                "namespace": self.namespace,
                "labels": {HISTORY_OF: self.parent.id(), REVISION: revision.number.to_string()},
                "annotations": annotations,
                "ownerReferences": [owner],
            },
            "data": {"content": STANDARD.encode(part)},
        })
    }

    /// Reads the content of a revision. Returns `None` if a chunk is missing or malformed.
    pub(super) async fn read(&self, revision: &Revision) -> Result<Option<Vec<u8>>> {
        let mut content = Vec::new();
        for index in 0..revision.chunks {
            let path = format!("{}/{}", self.collection(), self.name(revision.number, index));
            let request = ApiRequest { method: Method::GET, ..ApiRequest::object(path) };
            let Some(secret) = self.cluster.find_json::<Value>(&request).await? else { return Ok(None) };
            let text = secret.pointer("/data/content").and_then(Value::as_str).unwrap_or_default();
            let Ok(part) = STANDARD.decode(text) else { return Ok(None) };
            content.extend(part);
        }
        Ok(Some(content))
    }
}

fn annotations(revision: &Revision) -> Map<String, Value> {
    let numbers = [(OBJECTS, revision.objects), (SIZE, revision.size), (CHUNKS, revision.chunks)];
    let mut all: Map<String, Value> =
        numbers.into_iter().map(|(name, number)| (name.to_string(), number.to_string().into())).collect();
    all.insert(TIME.into(), revision.time.as_str().into());
    all.insert(DIGEST.into(), revision.digest.as_str().into());
    if let Some(target) = &revision.target {
        all.insert(TARGET.into(), target.as_str().into());
    }
    if let Some(number) = revision.rollback_of {
        all.insert(ROLLBACK_OF.into(), number.to_string().into());
    }
    all
}

/// Returns the number of Secrets needed for content of `size` bytes.
pub(super) fn chunk_count(size: usize) -> usize {
    size.div_ceil(CHUNK_SIZE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(revision: u64, size: usize) -> Chunk {
        let revision_of = Revision { number: revision, size, chunks: 1, ..Revision::default() };
        Chunk {
            name: String::new(),
            uid: String::new(),
            revision,
            annotations: Value::Object(annotations(&revision_of)),
        }
    }

    #[test]
    fn oldest_revisions_are_outdated() {
        let sizes = [5, 5, 5, 5].map(|mib| mib << 20);
        let chunks = Chunks((1..).zip(sizes).map(|(number, size)| chunk(number, size)).collect());
        assert_eq!(chunks.outdated(10), [1], "by size");
        assert_eq!(chunks.outdated(2), [2, 1], "by number");
        assert_eq!(chunks.outdated(0), [3, 2, 1], "the newest one stays");
        assert_eq!(chunks.last_number(), 4);
        let large = Chunks(vec![chunk(1, 100 << 20)]);
        assert!(large.outdated(1).is_empty());
    }

    #[test]
    fn chunks_without_annotations_are_no_revisions() {
        let later = Chunk { annotations: json!({}), ..chunk(3, 1) };
        let chunks = Chunks(vec![chunk(2, 1), later]);
        let numbers: Vec<_> = chunks.revisions().iter().map(|revision| revision.number).collect();
        assert_eq!((numbers, chunks.last_number()), (vec![2], 3), "an incomplete number is not used again");
    }
}
