//! Merges files that hold no manifests, or cannot be parsed, by lines or as a whole.
//!
//! Does not depend on the content of manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::change::{ChangeKind, ChangedFile, FileContent, FileRole, PackageChange};
use super::conflict::{ConflictKind, ConflictVersion, PackageConflict};
use super::lines::{LineChoice, MarkerLabels, TextSides, merge_lines};
use super::origins::{ChangeOrigin, OriginSide};
use super::pairing::Layout;
use super::plain::PlainPaths;
use super::read::{OtherFile, Package, PackageFile, as_text};
use smp_files::FileStamp;
use smp_merge::merge::ConflictSide;
use smp_text::diagnostic::Excerpt;
use smp_text::source::{SourceId, Span};
use smp_text::yaml::may_be_secret;

/// A file that is not parsed.
#[derive(Debug, Clone, Copy)]
struct PlainFile<'p> {
    relative: &'p Path,
    path: &'p Path,
    content: &'p [u8],
    source: SourceId,
    executable: bool,
    role: FileRole,
    stamp: Option<&'p FileStamp>,
    /// True if the file is marked as secret for other reasons than its content.
    is_kept_secret: bool,
}

impl<'p> PlainFile<'p> {
    fn from_yaml(file: &'p PackageFile) -> Self {
        let PackageFile { relative, path, text, executable, source, .. } = file;
        let (source, executable, stamp) = (*source, *executable, file.stamp.as_ref());
        let role = if file.has_manifests() { FileRole::Manifests } else { FileRole::Other };
        let (content, is_kept_secret) = (text.as_bytes(), false);
        Self { relative, path, content, source, executable, role, stamp, is_kept_secret }
    }

    fn from_other(file: &'p OtherFile) -> Self {
        let OtherFile { relative, path, content, executable, source, .. } = file;
        let (source, executable, stamp) = (*source, *executable, file.stamp.as_ref());
        let (role, is_kept_secret) = (FileRole::Other, false);
        Self { relative, path, content, source, executable, role, stamp, is_kept_secret }
    }

    /// Takes the secret mark from the sources of a package.
    fn with_secret_mark(self, package: &Package) -> Self {
        let source = package.sources().get(self.source);
        Self { is_kept_secret: source.is_some_and(|source| source.is_marked_secret()), ..self }
    }

    /// Returns true if the lines of the file must not be shown.
    fn is_secret(&self) -> bool {
        self.is_kept_secret || self.text().is_some_and(|text| may_be_secret(self.path, text))
    }

    /// Returns the content and the executable bit.
    fn state(self) -> (&'p [u8], bool) {
        (self.content, self.executable)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.state() == other.state()
    }

    fn text(&self) -> Option<&'p str> {
        as_text(self.content)
    }

    fn whole(&self) -> ConflictVersion {
        let span = Span::new(self.source, 0, 0);
        let value = match self.text() {
            Some(_) if self.is_secret() => Value::from("***"),
            text => text.map_or(Value::Null, Value::from),
        };
        ConflictVersion { span, difference: span, value }
    }
}

/// Returns the plain files of a package by the path by which they are matched.
fn plain_files<'p>(
    package: &'p Package,
    form: Layout,
    paths: &PlainPaths<'_>,
) -> BTreeMap<&'p Path, PlainFile<'p>> {
    let yaml = package.files().iter().map(PlainFile::from_yaml);
    let others = package.others().iter().map(PlainFile::from_other);
    let files = yaml.chain(others).map(|file| (form.path(file.relative), file.with_secret_mark(package)));
    files.filter(|(path, _)| paths.contains(path)).collect()
}

/// Resolution of conflicts in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChoice {
    Updated,
    Dest,
    Markers(MarkerLabels),
}

impl FileChoice {
    /// Returns the version that is used.
    fn taken(self) -> ConflictSide {
        if self == Self::Updated { ConflictSide::Updated } else { ConflictSide::Dest }
    }

    fn for_lines(self) -> LineChoice {
        match self {
            Self::Updated => LineChoice::Updated,
            Self::Dest => LineChoice::Dest,
            Self::Markers(words) => LineChoice::Both(words),
        }
    }
}

/// Merged plain files.
#[derive(Debug, Default)]
pub(super) struct MergedFiles {
    pub files: Vec<ChangedFile>,
    pub changes: Vec<PackageChange>,
    pub conflicts: Vec<PackageConflict>,
    pub origins: Vec<ChangeOrigin>,
}

/// The three versions of a file.
#[derive(Debug, Clone, Copy)]
struct FileSides<'p> {
    original: Option<PlainFile<'p>>,
    updated: Option<PlainFile<'p>>,
    dest: Option<PlainFile<'p>>,
}

/// The new state of a file.
struct FileOutcome {
    /// `None` if the file is removed or remains absent.
    content: Option<FileContent>,
    executable: bool,
    role: FileRole,
    conflicts: Vec<PackageConflict>,
}

impl FileOutcome {
    fn from_file(file: Option<PlainFile<'_>>) -> Self {
        let content = file.map(|file| FileContent::from_bytes(file.content));
        let (executable, role) = file.map_or((false, FileRole::Other), |file| (file.executable, file.role));
        Self { content, executable, role, conflicts: Vec::new() }
    }

    fn with_conflict(self, conflict: PackageConflict) -> Self {
        Self { conflicts: vec![conflict], ..self }
    }
}

/// Merges the plain files of three packages. `paths` lists the plain files.
pub(super) fn merge3_files(
    [original, updated, dest]: [&Package; 3],
    form: Layout,
    paths: &PlainPaths<'_>,
    choice: FileChoice,
) -> MergedFiles {
    let [of_original, of_updated, of_dest] =
        [original, updated, dest].map(|package| plain_files(package, form, paths));
    let mut merged = MergedFiles::default();
    for path in &paths.symlinked {
        let kept = of_dest.get(path).copied();
        let sides = FileSides { original: of_original.get(path).copied(), updated: None, dest: kept };
        let decided = FileOutcome::from_file(kept);
        merged.record_origin(dest, path, sides, &decided);
        merged.add(dest, path, kept, decided);
    }
    for path in &paths.merged {
        let of = |files: &BTreeMap<&Path, PlainFile<'_>>| files.contains_key(path);
        if !of(&of_updated) && !of(&of_dest) {
            continue;
        }
        let sides = FileSides {
            original: of_original.get(path).copied(),
            updated: of_updated.get(path).copied(),
            dest: of_dest.get(path).copied(),
        };
        let decided = sides.decide(choice);
        merged.record_origin(dest, path, sides, &decided);
        merged.add(dest, path, sides.dest, decided);
    }
    merged
}

/// Merges the plain files of the source over those of dest. The source's files take precedence, except at paths with
/// symlinks.
pub(super) fn merge2_files(
    source: &Package,
    dest: &Package,
    form: Layout,
    paths: &PlainPaths<'_>,
) -> MergedFiles {
    let [of_source, of_dest] = [source, dest].map(|package| plain_files(package, form, paths));
    let mut merged = MergedFiles::default();
    for path in paths.merged.iter().chain(&paths.symlinked) {
        let old = of_dest.get(path).copied();
        let new = of_source.get(path).copied().filter(|_| !paths.symlinked.contains(path)).or(old);
        merged.add(dest, path, old, FileOutcome::from_file(new));
    }
    merged
}

/// Returns the location of a file, which may be new or removed.
fn file_location(old: Option<PlainFile<'_>>, dest: &Package, path: &Path) -> PathBuf {
    old.map_or_else(|| dest.location_of(path), |old| old.path.to_path_buf())
}

impl MergedFiles {
    /// Records the origin of a file, unless the whole file is in conflict.
    fn record_origin(&mut self, dest: &Package, path: &Path, sides: FileSides<'_>, decided: &FileOutcome) {
        let [original, updated, dest_has] =
            [sides.original, sides.updated, sides.dest].map(|file| file.map(PlainFile::state));
        let result = decided.content.as_ref().map(|content| (content.as_bytes(), decided.executable));
        if result == original || decided.conflicts.iter().any(PackageConflict::is_whole) {
            return;
        }
        let location = |file: Option<PlainFile<'_>>| file.map(|file| Span::new(file.source, 0, 0));
        self.origins.push(ChangeOrigin {
            path: file_location(sides.dest, dest, path),
            resource: None,
            field: None,
            side: OriginSide::from_result(&updated, &dest_has, &result),
            original: location(sides.original),
            updated: location(sides.updated),
            dest: location(sides.dest),
        });
    }

    fn add(&mut self, dest: &Package, path: &Path, old: Option<PlainFile<'_>>, decided: FileOutcome) {
        let FileOutcome { content, executable, role, conflicts } = decided;
        self.conflicts.extend(conflicts);
        let relative = old.map_or(path, |old| old.relative).to_path_buf();
        let location = file_location(old, dest, path);
        let kind = match (&old, &content) {
            (None, None) => return,
            (None, Some(_)) => Some(ChangeKind::Added),
            (Some(_), None) => Some(ChangeKind::Removed),
            (Some(old), Some(new)) => {
                let is_same = old.content == new.as_bytes() && old.executable == executable;
                (!is_same).then_some(ChangeKind::Content)
            }
        };
        let is_changed = kind.is_some();
        if let Some(kind) = kind {
            self.changes.push(PackageChange { resource: None, path: location.clone(), kind });
        }
        let read = old.and_then(|old| old.stamp.cloned());
        let role = if dest.is_directory() { role } else { FileRole::Manifests };
        self.files.push(ChangedFile {
            path: location,
            relative,
            content,
            executable,
            role,
            is_changed,
            stamp: read,
        });
    }
}

impl FileSides<'_> {
    fn decide(self, choice: FileChoice) -> FileOutcome {
        let Self { original, updated, dest } = self;
        match (original, updated, dest) {
            (Some(original), None, Some(dest)) if !original.is_same(&dest) => {
                self.removed_on_one_side(ConflictKind::RemovedInUpdated, choice)
            }
            (Some(original), Some(updated), None) if !original.is_same(&updated) => {
                self.removed_on_one_side(ConflictKind::RemovedInDest, choice)
            }
            (Some(_), None, _) | (Some(_), _, None) => FileOutcome::from_file(None),
            (_, Some(updated), Some(dest)) => self.both(updated, dest, choice),
            (None, updated, dest) => FileOutcome::from_file(updated.or(dest)),
        }
    }

    fn versions(self) -> [Option<ConflictVersion>; 3] {
        [self.original, self.updated, self.dest].map(|file| file.map(|file| file.whole()))
    }

    /// Returns whether lines of the file may be shown.
    fn excerpt(self) -> Excerpt {
        let mut files = [self.original, self.updated, self.dest].into_iter().flatten();
        if files.any(|file| file.is_secret()) { Excerpt::Hidden } else { Excerpt::Shown }
    }

    /// Resolves a file that the updated version or dest removed and the other one changed.
    fn removed_on_one_side(self, kind: ConflictKind, choice: FileChoice) -> FileOutcome {
        let conflict = PackageConflict::for_files(kind, self.versions(), choice.taken(), self.excerpt());
        let whole = FileOutcome::from_file(self.dest.or(self.updated));
        let text =
            |file: Option<PlainFile<'_>>| file.map_or(Some(String::new()), |f| f.text().map(Into::into));
        let texts = [self.original, self.updated, self.dest].map(text);
        let decided = match (choice, texts) {
            (FileChoice::Updated, _) => FileOutcome::from_file(self.updated),
            (FileChoice::Markers(words), [Some(original), Some(updated), Some(dest)]) => {
                let sides = TextSides { original: &original, updated: &updated, dest: &dest };
                let text = merge_lines(sides, LineChoice::Both(words)).text;
                let content = Some(FileContent::Text(text));
                FileOutcome { content, ..whole }
            }
            (FileChoice::Dest | FileChoice::Markers(_), _) => FileOutcome::from_file(self.dest),
        };
        decided.with_conflict(conflict)
    }

    fn both(self, updated: PlainFile<'_>, dest: PlainFile<'_>, choice: FileChoice) -> FileOutcome {
        let original = self.original;
        // A new file is executable if it is executable in either version.
        let executable = match original {
            Some(original) if original.executable == dest.executable => updated.executable,
            Some(_) => dest.executable,
            None => dest.executable || updated.executable,
        };
        let is_original = |file: PlainFile<'_>| original.is_some_and(|o| o.content == file.content);
        let role = if updated.role == FileRole::Manifests { updated.role } else { dest.role };
        let whole =
            |file: PlainFile<'_>| FileOutcome { executable, role, ..FileOutcome::from_file(Some(file)) };
        if updated.content == dest.content || is_original(updated) {
            return whole(dest);
        }
        if is_original(dest) {
            return whole(updated);
        }
        let text = original.map_or(Some(""), |original| original.text());
        if let (Some(original), Some(updated), Some(dest)) = (text, updated.text(), dest.text()) {
            let (text, conflicts) = self.lines(TextSides { original, updated, dest }, choice);
            return FileOutcome { content: Some(FileContent::Text(text)), executable, role, conflicts };
        }
        let decided = if choice == FileChoice::Updated { whole(updated) } else { whole(dest) };
        decided.with_conflict(PackageConflict::for_files(
            ConflictKind::Binary,
            self.versions(),
            choice.taken(),
            self.excerpt(),
        ))
    }

    fn lines(self, sides: TextSides<'_>, choice: FileChoice) -> (String, Vec<PackageConflict>) {
        let merged = merge_lines(sides, choice.for_lines());
        let excerpt = self.excerpt();
        let conflicts = merged.conflicts.into_iter().map(|conflict| {
            let version = |file: Option<PlainFile<'_>>, text: &str, range: std::ops::Range<usize>| {
                let is_secret = excerpt == Excerpt::Hidden;
                let value = if is_secret { "***" } else { &text[range.clone()] };
                let span = Span::new(file?.source, range.start, range.end);
                Some(ConflictVersion { span, difference: span, value: Value::from(value) })
            };
            let versions = [
                version(self.original, sides.original, conflict.original),
                version(self.updated, sides.updated, conflict.updated),
                version(self.dest, sides.dest, conflict.dest),
            ];
            PackageConflict::for_files(ConflictKind::Lines, versions, choice.taken(), excerpt)
        });
        let conflicts = conflicts.collect();
        (merged.text, conflicts)
    }
}

/// A file that was merged without being parsed as YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainMerge {
    /// Merged content.
    pub content: Vec<u8>,
    /// Number of conflicts.
    pub conflicts: usize,
}

/// Merges three versions of a file by lines, with markers around conflicts. If the updated version and dest both
/// changed a binary file, dest's version is kept.
#[must_use]
pub fn merge3_plain([original, updated, dest]: [&[u8]; 3], words: MarkerLabels) -> PlainMerge {
    let file = |content| {
        let path = Path::new("");
        Some(PlainFile {
            relative: path,
            path,
            content,
            source: SourceId::default(),
            executable: false,
            role: FileRole::Other,
            stamp: None,
            is_kept_secret: false,
        })
    };
    let sides = FileSides { original: file(original), updated: file(updated), dest: file(dest) };
    let FileOutcome { content, conflicts, .. } = sides.decide(FileChoice::Markers(words));
    let content = content.map_or_else(Vec::new, |content| content.as_bytes().to_vec());
    PlainMerge { content, conflicts: conflicts.len() }
}
