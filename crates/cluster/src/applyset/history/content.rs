//! The content of a revision: the applied manifests as compressed JSON. The values of Secrets are only stored if the
//! user enables that. Otherwise a hash is stored, with which a live value can be compared.

use std::io::{self, Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use smp_files::cache_key as content_digest;

/// The version of the format.
const VERSION: u32 = 1;

/// Maximum size of uncompressed content in bytes.
const MAX_CONTENT: u64 = 256 << 20;

/// The content of a revision.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RevisionContent {
    version: u32,
    pub(super) objects: Vec<Value>,
    pub(super) withheld: Vec<WithheldValue>,
}

/// A value of a Secret that is not stored.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WithheldValue {
    /// The index of the Secret among the objects.
    pub(super) object: usize,
    /// The key in `data` or `stringData`.
    pub(super) key: String,
    /// The hash of the value.
    pub(super) hash: String,
}

impl RevisionContent {
    /// Creates the content for manifests. `with_secrets` keeps the values of Secrets.
    pub(super) fn new(mut objects: Vec<Value>, with_secrets: bool) -> Self {
        let mut withheld = Vec::new();
        if !with_secrets {
            for (position, object) in objects.iter_mut().enumerate().filter(|(_, object)| is_secret(object)) {
                withhold(position, object, &mut withheld);
            }
        }
        Self { version: VERSION, objects, withheld }
    }

    pub(super) fn encode(&self) -> io::Result<(String, Vec<u8>)> {
        let json = serde_json::to_vec(self)?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&json)?;
        Ok((content_digest(&[&json]), encoder.finish()?))
    }

    /// Decodes a revision.
    ///
    /// # Errors
    /// The bytes are not an encoded revision, or its format version is not supported.
    pub(super) fn decode(bytes: &[u8]) -> io::Result<Self> {
        let mut json = Vec::new();
        GzDecoder::new(bytes).take(MAX_CONTENT).read_to_end(&mut json)?;
        let content: Self = serde_json::from_slice(&json)?;
        if content.version != VERSION {
            let message = format!("version {} of the format is not known", content.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(content)
    }
}

impl WithheldValue {
    /// Returns true if the `data` of a live Secret still has the value.
    pub(super) fn is_unchanged_in(&self, live: &Value) -> bool {
        let encoded = live.get("data").and_then(|data| data.get(&self.key)).and_then(Value::as_str);
        encoded.and_then(|text| STANDARD.decode(text).ok()).is_some_and(|value| hash(&value) == self.hash)
    }
}

fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

/// Removes the values of a Secret. `stringData` overrides `data`, as on servers.
fn withhold(position: usize, object: &mut Value, withheld: &mut Vec<WithheldValue>) {
    let take = |object: &mut Value, field: &str| {
        object.as_object_mut().and_then(|fields| fields.remove(field)).and_then(|value| match value {
            Value::Object(values) => Some(values),
            _ => None,
        })
    };
    let (data, text) = (take(object, "data"), take(object, "stringData"));
    let bytes_of = |value: &Value| STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
    let mut values: std::collections::BTreeMap<String, Vec<u8>> =
        data.into_iter().flatten().map(|(key, value)| (key, bytes_of(&value))).collect();
    let text = text.into_iter().flatten();
    values.extend(text.map(|(key, value)| (key, value.as_str().unwrap_or_default().as_bytes().to_vec())));
    withheld.extend(values.into_iter().map(|(key, value)| WithheldValue {
        object: position,
        key,
        hash: hash(&value),
    }));
}

fn hash(value: &[u8]) -> String {
    content_digest(&[b"withheld", value])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret() -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            "data": {"k": "dg==", "both": "b2xk"}, "stringData": {"s": "plain", "both": "new"}})
    }

    #[test]
    fn content_survives_encoding() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
        for with_secrets in [true, false] {
            let content = RevisionContent::new(vec![map.clone(), secret()], with_secrets);
            let (digest, bytes) = content.encode().expect("encoded");
            assert_eq!(RevisionContent::decode(&bytes).expect("decoded"), content);
            assert_eq!(content.encode().expect("encoded").0, digest);
            assert_eq!(content.objects[0], map);
            assert_eq!(content.objects[1] == secret(), with_secrets);
        }
        let newer = RevisionContent { version: 2, objects: Vec::new(), withheld: Vec::new() };
        assert!(RevisionContent::decode(&newer.encode().expect("encoded").1).is_err());
        assert!(RevisionContent::decode(b"no gzip").is_err());
    }

    #[test]
    fn values_of_secrets_are_withheld() {
        let content = RevisionContent::new(vec![secret()], false);
        let text = serde_json::to_string(&content).expect("JSON");
        for value in ["dg==", "b2xk", "plain", "new", "old"] {
            assert!(!text.contains(value), "{value}: {text}");
        }
        let keys: Vec<_> = content.withheld.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["both", "k", "s"]);
        let live = json!({"data": {"k": "dg==", "s": "cGxhaW4=", "both": "b2xk"}});
        let is_unchanged_in: Vec<_> = content.withheld.iter().map(|one| one.is_unchanged_in(&live)).collect();
        assert_eq!(is_unchanged_in, [false, true, true], "`stringData` has precedence");
    }
}
