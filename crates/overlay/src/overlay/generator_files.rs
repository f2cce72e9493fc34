//! Reads the files of generators, and registers their content as the source of the generated data.

use std::path::PathBuf;

use super::options::Histories;
use super::root::Root;
use crate::transform::Files;
use smp_text::diagnostic::Result;
use smp_text::source::{SourceId, Span};

/// Secrecy of generated data: secret data is never shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    Secret,
}

/// Reads files for a generator. If histories are kept, generated values get locations in these files.
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

    fn source_of(&self, path: &str, content: &[u8]) -> Option<SourceId> {
        if self.histories == Histories::Disabled {
            return None;
        }
        let sources = self.root.reader().sources();
        // For binary content only the first line is ever reported, so its text is not needed.
        let id = sources.add(self.name(path), str::from_utf8(content).unwrap_or_default());
        match self.secrecy {
            Secrecy::Secret => sources.mark_secret(id),
            Secrecy::Open if !holds_secret_manifest(content) => sources.mark_public(id),
            Secrecy::Open => {}
        }
        Some(id)
    }
}

/// Returns true if a file may contain the manifest of a Secret, for example as a template.
fn holds_secret_manifest(content: &[u8]) -> bool {
    let kind = |line: &[u8]| {
        let line: Vec<u8> = line.iter().copied().filter(|byte| !b" \t\r\"'-{,".contains(byte)).collect();
        line.windows(11).any(|part| part == b"kind:Secret")
    };
    content.split(|byte| *byte == b'\n').any(kind)
}
