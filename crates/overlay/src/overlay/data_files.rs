//! The files that generators make data of, and the texts that these data are said to stand in.

use std::path::PathBuf;

use super::load::Root;
use super::options::Histories;
use crate::transform::Files;
use smp_text::diagnostic::Result;
use smp_text::source::{SourceId, Span};

/// Whether data may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    Secret,
}

/// Reads files for a generator; where histories are kept, what is made of them stands in them.
pub(super) struct DataFiles<'r> {
    pub root: &'r Root,
    pub histories: Histories,
    pub secrecy: Secrecy,
}

impl Files for DataFiles<'_> {
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
        self.root.read(path, at)
    }

    fn name(&self, path: &str) -> PathBuf {
        self.root.name(path)
    }

    fn text_of(&self, path: &str, content: &[u8]) -> Option<SourceId> {
        if self.histories == Histories::Dropped {
            return None;
        }
        let sources = self.root.reader().sources();
        // Of what is no text, nothing but the beginning is ever told.
        let id = sources.add(self.name(path), str::from_utf8(content).unwrap_or_default());
        if self.secrecy == Secrecy::Secret {
            sources.keep_secret(id);
        }
        Some(id)
    }
}
