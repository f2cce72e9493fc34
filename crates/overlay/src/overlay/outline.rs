//! What a target is made of: its parts, in the order in which a build goes through them.
//!
//! Knows what parts are called and which steps they are; what the steps did is known in the histories of resources.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::Serialize;
use smol_str::SmolStr;

use smp_merge::cause::Writer;
use smp_text::source::Span;

/// What a part of a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlinePartKind {
    /// The target itself.
    Target,
    /// A directory whose resources are taken over.
    Base,
    /// A Component.
    Component,
    /// A file with resources.
    Resource,
    /// A patch.
    Patch,
    /// A generator that is built in.
    Generator,
    /// A helm chart.
    Chart,
    /// A function, or another plugin that is a program.
    Function,
    /// A transformer that is built in.
    Transformer,
    /// A plugin that only looks.
    Validator,
    /// A file that says which fields transformers change, or a directory with configurations of plugins.
    Configuration,
    /// A file with the definitions of custom resources.
    Crd,
    /// The document that takes the place of the built-in schema.
    OpenApi,
    /// A variable.
    Var,
}

impl OutlinePartKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Base => "base",
            Self::Component => "component",
            Self::Resource => "resource",
            Self::Patch => "patch",
            Self::Generator => "generator",
            Self::Chart => "chart",
            Self::Function => "function",
            Self::Transformer => "transformer",
            Self::Validator => "validator",
            Self::Configuration => "configuration",
            Self::Crd => "crd",
            Self::OpenApi => "openapi",
            Self::Var => "var",
        }
    }
}

/// One part of a target.
#[derive(Debug, Clone)]
pub struct OutlinePart {
    /// What it is.
    pub kind: OutlinePartKind,
    /// What it is called: the path that is named, or the name of what is made or set.
    pub name: SmolStr,
    /// What is set, where one word says it.
    pub value: SmolStr,
    /// How many parts it is within.
    pub depth: usize,
    /// Where it is asked for; no place for the target.
    pub at: Span,
    /// Which entry of its kustomization it is, such as `patches[0]`, as blame has it.
    pub entry: SmolStr,
    /// The steps that it stands for. A part that is one of several entries of a step shares it with them.
    pub writers: Vec<Arc<Writer>>,
    /// The real path of a directory.
    pub directory: Option<PathBuf>,
    /// The commit of a directory that was fetched.
    pub commit: Option<SmolStr>,
    /// Whether the directory stands above already, with all that is in it.
    pub is_repeated: bool,
}

impl OutlinePart {
    /// A part that no step stands for yet.
    #[must_use]
    pub fn new(kind: OutlinePartKind, name: &str, at: Span) -> Self {
        Self {
            kind,
            name: name.into(),
            value: SmolStr::default(),
            depth: 0,
            at,
            entry: SmolStr::default(),
            writers: Vec::new(),
            directory: None,
            commit: None,
            is_repeated: false,
        }
    }

    /// The same for a step. What the step says of a program behind its entry, the part says as its name.
    pub(super) fn by(mut self, writer: &Arc<Writer>) -> Self {
        self.entry = writer.name.split_once(" (").map_or(writer.name.as_str(), |(entry, _)| entry).into();
        self.writers = vec![Arc::clone(writer)];
        self
    }
}

/// A repository that was fetched for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineCheckout {
    /// Where its copy is, as texts of it are named.
    pub directory: PathBuf,
    /// Its address, without passwords.
    pub url: String,
    /// The commit.
    pub commit: String,
}

impl OutlineCheckout {
    /// A file of it as somebody else finds it: `URL//path?ref=COMMIT`; none for what is no file of it.
    #[must_use]
    pub fn address_of(&self, file: &Path) -> Option<String> {
        let path = file.strip_prefix(&self.directory).ok()?;
        Some(format!("{}//{}?ref={}", self.url, path.display(), self.commit))
    }
}

/// The parts of a target, each before those in it.
#[derive(Debug, Clone, Default)]
pub struct BuildOutline {
    /// The target first; nothing where no histories are kept.
    pub parts: Vec<OutlinePart>,
    /// The repositories that parts are in, each once.
    pub checkouts: Vec<OutlineCheckout>,
}

impl BuildOutline {
    /// Adds another outline within the first part of this one, as a base.
    pub(super) fn add_base(&mut self, base: Self) {
        for checkout in base.checkouts {
            self.note_checkout(checkout);
        }
        self.parts.extend(base.parts.into_iter().map(|part| {
            let kind = if part.kind == OutlinePartKind::Target { OutlinePartKind::Base } else { part.kind };
            OutlinePart { kind, depth: part.depth + 1, ..part }
        }));
    }

    /// Notes a repository, unless it is known.
    pub(super) fn note_checkout(&mut self, checkout: OutlineCheckout) {
        if !self.checkouts.contains(&checkout) {
            self.checkouts.push(checkout);
        }
    }
}

/// Takes an outline down while a target is built.
#[derive(Debug, Default)]
pub(super) struct OutlineRecorder {
    outline: BuildOutline,
    /// The directories that are being built, as positions in the outline.
    open: Vec<usize>,
    /// The directories that were built.
    known: FxHashSet<PathBuf>,
    /// How many directories are open within one that stands above already.
    repeated: usize,
    /// Whether what is built now are configurations of plugins.
    pub(super) in_configurations: bool,
}

impl OutlineRecorder {
    /// Begins with a directory.
    pub(super) fn enter(&mut self, mut part: OutlinePart, path: &Path) {
        if self.repeated > 0 {
            self.repeated += 1;
            return;
        }
        part.directory = Some(path.to_path_buf());
        part.is_repeated = !self.known.insert(path.to_path_buf());
        self.repeated = usize::from(part.is_repeated);
        let position = self.outline.parts.len();
        self.push(part);
        self.open.push(position);
    }

    /// Notes the repository that the directory is in.
    pub(super) fn note_checkout(&mut self, checkout: Option<OutlineCheckout>) {
        if let Some(checkout) = checkout {
            self.outline.note_checkout(checkout);
        }
    }

    /// Ends with the directory that was begun with last.
    pub(super) fn leave(&mut self) {
        if self.repeated > 1 {
            self.repeated -= 1;
            return;
        }
        self.repeated = 0;
        self.open.pop();
    }

    /// Adds parts of the directory; those of one that stands above already are one with it.
    pub(super) fn add(&mut self, parts: impl IntoIterator<Item = OutlinePart>) {
        for part in parts {
            if self.repeated == 0 {
                self.push(part);
            } else if let Some(open) = self.open.last().and_then(|&open| self.outline.parts.get_mut(open)) {
                open.writers.extend(part.writers);
            }
        }
    }

    fn push(&mut self, mut part: OutlinePart) {
        if self.in_configurations {
            // What configures plugins is no object, and what changes it changes none.
            part.kind = OutlinePartKind::Configuration;
        }
        self.outline.parts.push(OutlinePart { depth: self.open.len(), ..part });
    }

    /// What was taken down.
    pub(super) fn into_outline(self) -> BuildOutline {
        self.outline
    }
}
