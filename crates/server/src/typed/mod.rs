//! The form in which servers store objects: built-in kinds like Go's output of their types, custom resources pruned
//! according to their schema.

mod conversion;
mod decoder;
mod go_json;
mod go_types;
mod structs;
mod structural;

use serde_json::Value;
use smp_merge::schema::Cursor;

pub(crate) use conversion::{go_map, unconverted};
use decoder::Decoder;
pub(crate) use go_json::{Touched, go_json};

/// A decoded object, and its unknown fields.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Messages such as `unknown field "spec.size"`, in the order of the fields.
    pub(crate) unknown: Vec<String>,
}

/// Decodes an object into its type.
///
/// # Errors
/// Fails with Go's message if a value of a built-in kind has another type.
pub(crate) fn decode(object: Value, cursor: Cursor<'_>, is_custom: bool) -> Result<Decoded, String> {
    let mut decoder = Decoder::default();
    let mut object = object;
    if is_custom {
        structural::prune_root(&mut decoder, &mut object, cursor)?;
    } else {
        structs::decode_root(&mut decoder, &mut object, cursor)?;
    }
    Ok(Decoded { object, unknown: decoder.unknown })
}

/// Adds the fields of a built-in kind that are always written. Must be called after the defaults, which replace zero
/// values.
pub(crate) fn complete(object: &mut Value, cursor: Cursor<'_>) {
    let mut decoder = Decoder { is_completing: true, ..Decoder::default() };
    // The object was decoded before, so its values have the correct types.
    let _ = structs::decode_root(&mut decoder, object, cursor);
}
