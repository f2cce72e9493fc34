//! Replaces deprecated fields of kustomizations if the output of all targets stays the same.
//!
//! Used by `check --fix` and `fix`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::progress::map_with_counter;
use super::super::render;
use crate::cli::select::{SelectArgs, Selection};
use crate::cli::target::TargetArgs;
use smp_files::{DiskTree, EditedTree, FileTree, Located, RecordingTree};
use smp_inspect::check::FixedFile;
use smp_overlay::edit::{
    EditedText, Replaced, deprecated_fields, replace_deprecated, replace_vars, replaceable_fields,
};
use smp_overlay::overlay::{Reader, Remotes, TargetSearch};
use smp_text::diagnostic::{Code, Diagnostic, Severity, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::to_documents;

/// The reason why it is not proved that an edit keeps the output.
enum Obstacle<'t> {
    /// A target that reads an edited file cannot be built.
    Failed(&'t Path),
    /// No target uses an edited file.
    Unused,
    /// The edit changes the output of a target.
    Output,
}

impl fmt::Display for Obstacle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(target) => {
                write!(f, "the target {}, which uses it, cannot be built", target.display())
            }
            Self::Unused => f.write_str("no target uses it, and it has no output of its own"),
            Self::Output => f.write_str("the output might change"),
        }
    }
}

/// A kustomization with deprecated fields.
struct OldFile {
    /// The path as displayed to users.
    shown: PathBuf,
    before: String,
    after: String,
    replaced: usize,
    has_vars: bool,
}

/// A target and its output; `None` if it cannot be built.
struct BuiltTarget {
    target: PathBuf,
    output: Option<String>,
}

/// Builds targets to compare their outputs.
struct Proof<'s> {
    args: &'s TargetArgs,
    selection: &'s Selection,
    targets: Vec<BuiltTarget>,
    /// The targets whose builds read each file.
    readers: FxHashMap<PathBuf, Vec<usize>>,
}

/// Returns the directories of all components that a recursive selection finds. It is possible that
/// no target uses them.
pub(super) fn components(select: &SelectArgs) -> Vec<PathBuf> {
    if !select.is_recursive() {
        return Vec::new();
    }
    let here = select.named().is_empty().then(|| PathBuf::from("."));
    let search = TargetSearch::new(Arc::new(DiskTree), SourceMap::default(), Vec::new());
    let directories = select.named().iter().chain(&here).filter(|path| DiskTree.is_directory(path));
    let found = |path: &PathBuf| search.as_ref().ok()?.find_components(path).ok();
    directories.filter_map(found).flatten().collect()
}

/// Replaces the deprecated fields in findings. Returns the changed files.
///
/// Also replaces the deprecated fields in the kustomizations of `others`, even if no target uses
/// them.
pub(super) fn replace<'f>(
    args: &TargetArgs,
    selection: &Selection,
    findings: impl IntoIterator<Item = &'f Diagnostic>,
    others: &[PathBuf],
    (sources, cache): (&SourceMap, Option<&Path>),
) -> Vec<FixedFile> {
    let mut files = old_files(findings, sources, cache);
    add_unreported(&mut files, others);
    if files.is_empty() {
        return Vec::new();
    }
    let proof = Proof::new(args, selection, &files);
    files.retain(|path, file| is_provable(path, file, &proof));
    let all = replaceable_fields();
    let edited: BTreeMap<PathBuf, Replaced> = files
        .iter()
        .map(|(path, file)| (path.clone(), replace_deprecated(&file.before, &all).unwrap_or_default()))
        .collect();
    let why = "comments would be lost or its value has the wrong type";
    for (file, Replaced { left, .. }) in files.values().zip(edited.values()) {
        for field in left {
            print_left(file, field, why);
        }
    }
    let edited: BTreeMap<PathBuf, Replaced> =
        edited.into_iter().filter(|(_, edited)| !edited.fields.is_empty()).collect();
    let texts = edited.iter().map(|(path, edited)| (path.clone(), edited.text.clone())).collect();
    if proof.obstacle(&texts).is_none() {
        for (path, Replaced { text, fields, .. }) in edited {
            if let Some(file) = files.get_mut(&path) {
                (file.after, file.replaced) = (text, fields.len());
            }
        }
    } else {
        one_by_one(&mut files, &proof, &all);
    }
    let others = replace_all_vars(&mut files, &proof, sources);
    let own = files.into_values().filter(|file| file.replaced > 0);
    let own = own.map(|OldFile { shown, before, after, replaced, .. }| FixedFile {
        path: shown,
        before,
        after,
        fixes: replaced,
    });
    own.chain(others).collect()
}

/// Returns true if an edit of a file can be proved to keep the output. Otherwise prints why its
/// fields are not replaced.
fn is_provable(path: &PathBuf, file: &OldFile, proof: &Proof<'_>) -> bool {
    let Some(why) = proof.obstacle_of(path) else { return true };
    for field in deprecated_fields(&file.before) {
        print_left(file, field, &why.to_string());
    }
    false
}

fn print_left(file: &OldFile, field: &str, why: &str) {
    let shown = file.shown.display();
    render::print_note(&format!("{shown}: `{field}` was not replaced, because {why}"));
}

/// Converts the `vars` of each file, including the placeholders in files that use them. Returns the
/// changed files.
fn replace_all_vars(
    files: &mut BTreeMap<PathBuf, OldFile>,
    proof: &Proof<'_>,
    sources: &SourceMap,
) -> Vec<FixedFile> {
    let mut others: BTreeMap<PathBuf, FixedFile> = BTreeMap::new();
    let with_vars: Vec<PathBuf> =
        files.iter().filter(|(_, file)| file.has_vars).map(|(path, _)| path.clone()).collect();
    for path in with_vars {
        let mut texts: BTreeMap<PathBuf, String> =
            others.iter().map(|(p, f)| (p.clone(), f.after.clone())).collect();
        texts.extend(files.iter().filter(|(_, f)| f.replaced > 0).map(|(p, f)| (p.clone(), f.after.clone())));
        let Some(file) = files.get_mut(&path) else { continue };
        match vars_of(&path, &file.after, &texts, sources) {
            Ok(None) => {}
            Err(problem) => print_left(file, "vars", problem.message()),
            Ok(Some((after, changed))) => {
                texts.insert(path.clone(), after.clone());
                texts.extend(changed.iter().map(|(real, one)| (real.clone(), one.after.clone())));
                if let Some(why) = proof.obstacle(&texts) {
                    let help = if matches!(why, Obstacle::Output) { "; use `replacements`" } else { "" };
                    print_left(file, "vars", &format!("{why}{help}"));
                    continue;
                }
                (file.after, file.replaced) = (after, file.replaced + 1);
                for (real, one) in changed {
                    let EditedText { path, before, after } = one;
                    let known = others.entry(real).or_insert(FixedFile {
                        path,
                        before,
                        after: String::new(),
                        fixes: 0,
                    });
                    known.after = after;
                }
            }
        }
    }
    others.into_values().collect()
}

/// The new text of a kustomization, and the other changed files by their real paths.
type WithoutVars = Option<(String, Vec<(PathBuf, EditedText)>)>;

/// Converts the `vars` of a kustomization. `texts` replace the content of some files.
fn vars_of(
    path: &Path,
    text: &str,
    texts: &BTreeMap<PathBuf, String>,
    sources: &SourceMap,
) -> smp_text::diagnostic::Result<WithoutVars> {
    let tree: Arc<dyn FileTree> = Arc::new(EditedTree::new(Arc::new(DiskTree), texts.clone()));
    let reader = Reader::new(tree, sources.clone(), true, Remotes::new(None, true))?;
    let root = reader.open(path.parent().unwrap_or(Path::new(".")))?;
    let Some((after, files)) = replace_vars(&root, text)? else { return Ok(None) };
    let real = |one: EditedText| {
        let found = DiskTree.locate(Path::new(""), &one.path).map(Located::into_path);
        Ok((found.map_err(|error| read_error(one.path.display(), &error))?, one))
    };
    Ok(Some((after, files.into_iter().map(real).collect::<smp_text::diagnostic::Result<_>>()?)))
}

/// Replaces each field separately if the output stays the same.
fn one_by_one(files: &mut BTreeMap<PathBuf, OldFile>, proof: &Proof<'_>, fields: &[&str]) {
    for (path, file) in files {
        for field in fields {
            let Ok(Replaced { text, fields, .. }) = replace_deprecated(&file.after, &[field]) else {
                continue;
            };
            if fields.is_empty() {
                continue;
            }
            match proof.obstacle(&BTreeMap::from([(path.clone(), text.clone())])) {
                None => {
                    file.after = text;
                    file.replaced += 1;
                }
                Some(why) => print_left(file, field, &why.to_string()),
            }
        }
    }
}

/// Returns the local kustomizations with deprecated fields by their real paths. Fetched
/// kustomizations are not changed.
fn old_files<'f>(
    findings: impl IntoIterator<Item = &'f Diagnostic>,
    sources: &SourceMap,
    cache: Option<&Path>,
) -> BTreeMap<PathBuf, OldFile> {
    let cache = cache.and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
    let mut files = BTreeMap::new();
    for finding in findings.into_iter().filter(|finding| finding.code() == Code::DeprecatedField) {
        let Some(source) = finding.labels().first().and_then(|label| sources.get(label.span.source)) else {
            continue;
        };
        let Ok(real) = DiskTree.locate(Path::new(""), source.name()).map(Located::into_path) else {
            continue;
        };
        if cache.as_ref().is_some_and(|cache| real.starts_with(cache.path())) {
            continue;
        }
        let Ok(before) = DiskTree.read_text(&real) else { continue };
        let (shown, after) = (source.name().to_path_buf(), before.clone());
        let file = OldFile { shown, before, after, replaced: 0, has_vars: false };
        files.entry(real).or_insert(file).has_vars |= finding.message().starts_with("`vars`");
    }
    files
}

/// Adds the kustomizations in the directories that have deprecated fields.
fn add_unreported(files: &mut BTreeMap<PathBuf, OldFile>, directories: &[PathBuf]) {
    for directory in directories {
        let below = |name: &&str| match directory.as_path() {
            here if here == Path::new(".") => PathBuf::from(*name),
            directory => directory.join(name),
        };
        let paths = KUSTOMIZATION_FILES.iter().map(below);
        let Some(shown) = paths.into_iter().find(|path| DiskTree.contains(path)) else { continue };
        let Ok(real) = DiskTree.locate(Path::new(""), &shown).map(Located::into_path) else { continue };
        let Ok(before) = DiskTree.read_text(&real) else { continue };
        let fields = deprecated_fields(&before);
        if !fields.is_empty() {
            let (after, has_vars) = (before.clone(), fields.contains(&"vars"));
            files.entry(real).or_insert(OldFile { shown, before, after, replaced: 0, has_vars });
        }
    }
}

impl<'s> Proof<'s> {
    /// Builds the targets. Files that no target reads are built as targets of their own.
    fn new(args: &'s TargetArgs, selection: &'s Selection, files: &BTreeMap<PathBuf, OldFile>) -> Self {
        let mut proof = Self { args, selection, targets: Vec::new(), readers: FxHashMap::default() };
        let built = map_with_counter(&selection.targets, "targets built", |target| proof.build(target));
        proof.extend(built);
        let unread = files.iter().filter(|(path, _)| proof.readers(path).is_empty());
        let directories = unread.filter_map(|(_, file)| file.shown.parent());
        let own = directories.map(|directory| proof.build(directory));
        // A build without output proves nothing.
        let own: Vec<_> =
            own.filter(|(built, _)| built.output.as_ref().is_some_and(|text| !text.is_empty())).collect();
        proof.extend(own);
        proof
    }

    /// Builds a target. Returns the target and the files that the build read.
    fn build(&self, target: &Path) -> (BuiltTarget, BTreeSet<PathBuf>) {
        let tree = Arc::new(RecordingTree::new(Arc::new(DiskTree)));
        let output = self.output(Arc::clone(&tree) as Arc<dyn FileTree>, target);
        (BuiltTarget { target: target.to_path_buf(), output }, tree.read_set().files)
    }

    /// Adds built targets.
    fn extend(&mut self, built: Vec<(BuiltTarget, BTreeSet<PathBuf>)>) {
        for (target, files) in built {
            for file in files {
                self.readers.entry(file).or_default().push(self.targets.len());
            }
            self.targets.push(target);
        }
    }

    /// Returns the targets whose builds read a file.
    fn readers(&self, path: &PathBuf) -> &[usize] {
        self.readers.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns the reason why no edit of a file can be proved to keep the output.
    fn obstacle_of(&self, path: &PathBuf) -> Option<Obstacle<'_>> {
        match self.readers(path) {
            [] => Some(Obstacle::Unused),
            readers => self.failed(readers.iter().copied()),
        }
    }

    /// Returns the first of the targets that cannot be built.
    fn failed(&self, targets: impl IntoIterator<Item = usize>) -> Option<Obstacle<'_>> {
        let mut targets = targets.into_iter().map(|i| &self.targets[i]);
        targets.find(|one| one.output.is_none()).map(|failed| Obstacle::Failed(&failed.target))
    }

    /// Returns the output of a target, or `None` if the build fails.
    fn output(&self, tree: Arc<dyn FileTree>, target: &Path) -> Option<String> {
        let sources = SourceMap::default();
        let builder = self.args.builder_over(tree, &sources, &[target.to_path_buf()]).ok()?;
        let built = self.selection.build(&builder, target).ok()?;
        to_documents(built.resources.iter().map(smp_overlay::resource::Resource::node)).ok()
    }

    /// Returns the reason why an edit may change the output, or `None` if it is proved to keep the
    /// output.
    ///
    /// All targets that read the edited files must build to the same output. Each file must be read
    /// by a target.
    fn obstacle(&self, texts: &BTreeMap<PathBuf, String>) -> Option<Obstacle<'_>> {
        let tree: Arc<dyn FileTree> = Arc::new(EditedTree::new(Arc::new(DiskTree), texts.clone()));
        let affected: BTreeSet<usize> = texts.keys().flat_map(|path| self.readers(path)).copied().collect();
        if let Some(failed) = self.failed(affected.iter().copied()) {
            return Some(failed);
        }
        let affected: Vec<&BuiltTarget> = affected.into_iter().map(|i| &self.targets[i]).collect();
        let is_same = |one: &&BuiltTarget| self.output(Arc::clone(&tree), &one.target) == one.output;
        let is_proved = texts.keys().all(|path| !self.readers(path).is_empty())
            && map_with_counter(&affected, "targets compared", is_same).into_iter().all(|is_same| is_same);
        (!is_proved).then_some(Obstacle::Output)
    }
}

/// Prints that there is nothing to fix.
pub(super) fn print_nothing_fixed() {
    render::print_conclusion(Severity::Note, "no finding has a fix");
}
