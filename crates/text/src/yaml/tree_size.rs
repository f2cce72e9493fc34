//! The memory size and depth of trees.

use super::node::{Key, Node, Value};

/// The size of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeSize {
    /// The memory in bytes, computed as if no text were shared.
    pub bytes: usize,
    /// The depth of nested maps and lists.
    pub depth: usize,
}

impl Node {
    /// Computes the size by walking the whole tree, as a copy would.
    pub fn size(&self) -> TreeSize {
        let mut depth = 0;
        let mut bytes = size_of::<Self>();
        let mut add = |key: usize, child: &Self| {
            let size = child.size();
            bytes += key + size.bytes;
            depth = depth.max(size.depth);
        };
        match &self.value {
            Value::Scalar(text) => return TreeSize { bytes: bytes + text.len(), depth },
            Value::Map(map) => map.iter().for_each(|(key, value)| add(size_of::<Key>() + key.len(), value)),
            Value::List(list) => list.iter().for_each(|entry| add(0, entry)),
        }
        TreeSize { bytes, depth: depth + 1 }
    }
}
