//! The structure of a target: its parts, in build order.
//!
//! Records the names of parts and the steps that they correspond to. The histories of resources record what the
//! steps did.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::Serialize;
use smol_str::SmolStr;

use super::repo_spec::without_secrets;
use smp_merge::cause::Writer;
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The kind of a part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutlinePartKind {
    /// The target itself.
    Target,
    /// A directory included through `resources`.
    Base,
    /// A Component.
    Component,
    /// A file with resources.
    Resource,
    /// A patch.
    Patch,
    /// A built-in generator.
    Generator,
    /// A helm chart.
    Chart,
    /// A function or another external plugin.
    Function,
    /// A built-in transformer.
    Transformer,
    /// A plugin that validates resources.
    Validator,
    /// A file with field specs of transformers, or a directory with plugin configurations.
    Configuration,
    /// A file with OpenAPI definitions of custom resources.
    Crd,
    /// The document that replaces the built-in schema.
    OpenApi,
    /// A variable of `vars`.
    Var,
}

impl OutlinePartKind {
    /// Returns the name of the kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
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
    /// The kind of the part.
    pub kind: OutlinePartKind,
    /// The path in the entry, or the name of what is generated or set.
    pub name: SmolStr,
    /// The value that is set, if it is a single word.
    pub value: SmolStr,
    /// The number of parts that enclose it.
    pub depth: usize,
    /// The location of the entry; empty for the target.
    pub at: Span,
    /// The entry in its kustomization, such as `patches[0]`, as in the output of `blame`.
    pub entry: SmolStr,
    /// The steps that it corresponds to. A part that is one of several entries of a step shares the step with the
    /// others.
    pub writers: Vec<Arc<Writer>>,
    /// The real path of a directory.
    pub directory: Option<PathBuf>,
    /// The commit of a directory that was fetched.
    pub commit: Option<SmolStr>,
    /// True if the same directory occurred before, with the same content.
    pub is_repeated: bool,
}

impl OutlinePart {
    /// Creates a part without a step.
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

    /// Assigns the part to a step. The entry is the step's name without the program in parentheses, which is the
    /// name of the part.
    pub(super) fn with_writer(mut self, writer: &Arc<Writer>) -> Self {
        self.entry = writer.name.split_once(" (").map_or(writer.name.as_str(), |(entry, _)| entry).into();
        self.writers = vec![Arc::clone(writer)];
        self
    }
}

/// A repository fetched for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineCheckout {
    /// The directory of its checkout, as used in the names of its files.
    pub directory: PathBuf,
    /// The URL, without passwords.
    pub url: String,
    /// The commit.
    pub commit: String,
}

impl OutlineCheckout {
    /// Returns the address of a file in the repository: `URL//path?ref=COMMIT`. Returns `None` for other files.
    #[must_use]
    pub fn url_of(&self, file: &Path) -> Option<String> {
        let path = file.strip_prefix(&self.directory).ok()?;
        Some(format!("{}//{}?ref={}", self.url, path.display(), self.commit))
    }
}

/// The parts of a target, each before the parts that it encloses.
#[derive(Debug, Clone, Default)]
pub struct BuildOutline {
    /// The parts, beginning with the target. Empty if histories are not kept.
    pub parts: Vec<OutlinePart>,
    /// The repositories that contain parts, each once.
    pub checkouts: Vec<OutlineCheckout>,
}

impl BuildOutline {
    /// Adds another outline as a base, below the first part of this one.
    pub(super) fn add_base(&mut self, base: Self) {
        for checkout in base.checkouts {
            self.add_checkout(checkout);
        }
        self.parts.extend(base.parts.into_iter().map(|part| {
            let kind = if part.kind == OutlinePartKind::Target { OutlinePartKind::Base } else { part.kind };
            OutlinePart { kind, depth: part.depth + 1, ..part }
        }));
    }

    /// Adds a repository, unless it is already there.
    pub(super) fn add_checkout(&mut self, checkout: OutlineCheckout) {
        if !self.checkouts.contains(&checkout) {
            self.checkouts.push(checkout);
        }
    }
}

/// A position in a recorded outline.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutlinePosition {
    parts: usize,
    checkouts: usize,
}

/// The outline of a directory, for all targets that use it.
#[derive(Debug, Default)]
pub(super) struct OutlineBody {
    /// The parts, beginning with the directory itself.
    parts: Vec<OutlinePart>,
    checkouts: Vec<OutlineCheckout>,
}

/// Records an outline while a target is built.
#[derive(Debug, Default)]
pub(super) struct OutlineRecorder {
    outline: BuildOutline,
    /// The repositories of the directories, in build order.
    checkouts: Vec<OutlineCheckout>,
    /// The indices of the directories that are being built.
    open: Vec<usize>,
    /// The directories that were already built.
    known: FxHashSet<PathBuf>,
    /// The number of open directories within a repeated one.
    repeated: usize,
    /// True while the configurations of plugins are built.
    pub(super) in_configurations: bool,
}

impl OutlineRecorder {
    /// Starts a directory.
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

    /// Records the repository that contains the directory.
    pub(super) fn add_checkout(&mut self, checkout: Option<OutlineCheckout>) {
        self.checkouts.extend(checkout);
    }

    /// Returns the position at which the next directory starts.
    pub(super) fn position(&self) -> OutlinePosition {
        OutlinePosition { parts: self.outline.parts.len(), checkouts: self.checkouts.len() }
    }

    /// Returns what was recorded for the directory that started at a position and has ended. Returns `None` if
    /// it depends on what the target built before, such as a directory that is repeated.
    pub(super) fn body(&self, start: OutlinePosition) -> Option<OutlineBody> {
        let parts = self.outline.parts.get(start.parts..).filter(|parts| !parts.is_empty())?;
        let own = parts.iter().filter(|part| !part.is_repeated).filter_map(|part| part.directory.as_ref());
        let own: FxHashSet<&PathBuf> = own.collect();
        let is_own = |part: &OutlinePart| part.directory.as_ref().is_none_or(|path| own.contains(path));
        (!self.in_configurations && parts.iter().all(is_own)).then(|| OutlineBody {
            parts: parts.to_vec(),
            checkouts: self.checkouts.get(start.checkouts..).unwrap_or_default().to_vec(),
        })
    }

    /// Adds a directory that another target built, with the entry that refers to it. Returns false if it has to
    /// be built again, because the steps of a repeated directory must differ from those before.
    pub(super) fn reuse(&mut self, body: &OutlineBody, entry: &Spanned<String>) -> bool {
        let directories = || body.parts.iter().filter_map(|part| part.directory.as_ref());
        let is_new = !directories().any(|path| self.known.contains(path));
        let Some(first) = body.parts.first() else { return false };
        if !is_new || self.in_configurations || self.repeated > 0 {
            return false;
        }
        self.known.extend(directories().cloned());
        self.checkouts.extend(body.checkouts.iter().cloned());
        let start = self.outline.parts.len();
        let (outer, inner) = (self.open.len(), first.depth);
        let at_depth = |part: &OutlinePart| OutlinePart { depth: outer + part.depth - inner, ..part.clone() };
        self.outline.parts.extend(body.parts.iter().map(at_depth));
        if let Some(own) = self.outline.parts.get_mut(start) {
            (own.name, own.at) = (without_secrets(entry).into(), entry.span);
        }
        true
    }

    /// Ends the directory that was started last.
    pub(super) fn leave(&mut self) {
        if self.repeated > 1 {
            self.repeated -= 1;
            return;
        }
        self.repeated = 0;
        self.open.pop();
    }

    /// Adds parts to the current directory. The parts of a repeated directory are merged into its entry.
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
            // Configurations of plugins are not objects, and their steps change no objects.
            part.kind = OutlinePartKind::Configuration;
        }
        self.outline.parts.push(OutlinePart { depth: self.open.len(), ..part });
    }

    /// Returns the recorded outline.
    pub(super) fn into_outline(mut self) -> BuildOutline {
        self.checkouts.into_iter().for_each(|checkout| self.outline.add_checkout(checkout));
        self.outline
    }
}
