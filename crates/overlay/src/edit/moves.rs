//! Moves files and directories, and updates the paths in kustomizations.

use std::path::{Path, PathBuf};

use super::draft::EditedText;
use super::fields::{position, set_string};
use super::text::{parsed, printed};
use crate::overlay::Reader;
use smp_files::{FileKind, Hidden, Located, TreeWalk, WalkOptions, clean_path};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{is_kustomization, relative_path};
use smp_text::yaml::{Map, Node};

/// A file that moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedFile {
    /// The real path before the move.
    pub from: PathBuf,
    /// The path after the move.
    pub to: PathBuf,
    /// The content after the move.
    pub content: Vec<u8>,
    /// True if the file is executable.
    pub is_executable: bool,
}

/// A move of a file or directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Move {
    /// The moved files, sorted by path.
    pub files: Vec<MovedFile>,
    /// The kustomizations whose paths change. Moved kustomizations have their new path.
    pub texts: Vec<EditedText>,
}

/// The lists of paths in a kustomization. `field/name` is a field of each entry.
const LISTS: [&str; 14] = [
    "resources",
    "bases",
    "components",
    "crds",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "patchesStrategicMerge",
    "patches/path",
    "patchesJson6902/path",
    "replacements/path",
    "helmCharts/valuesFile",
    "helmChartInflationGenerator/values",
];

/// The lists of paths in entries of a list. An entry of `files` may begin with a key.
const NESTED: [(&str, &[&str]); 3] = [
    ("configMapGenerator", &["files", "envs", "env"]),
    ("secretGenerator", &["files", "envs", "env"]),
    ("helmCharts", &["additionalValuesFiles"]),
];

/// The paths in maps.
const FIELDS: [(&str, &str); 2] = [("openapi", "path"), ("helmGlobals", "chartHome")];

/// The use of the file name in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileName {
    /// It has no other use.
    Unused,
    /// It is the key in a generator, unless the entry sets one.
    Key,
}

/// Moves a file or directory, and changes the paths in all kustomizations of a repository that refer to it, or from it
/// to other files. Nothing is written.
///
/// # Errors
/// A path is outside of the repository, the new path already exists, a file cannot be read, or a kustomization could
/// not refer to the new path of a file or base.
pub fn move_path(reader: &Reader, repository: &Path, from: &Path, to: &Path) -> Result<Move> {
    let relocation = Relocation::new(reader, repository, from, to)?;
    let mut moved = Move { files: relocation.files()?, texts: Vec::new() };
    for entry in TreeWalk::new(reader.tree(), &relocation.repository, walk()) {
        let entry = entry.map_err(|error| error.diagnostic())?;
        let path = relocation.repository.join(&entry.path);
        if entry.kind == FileKind::Link {
            relocation.check_link(&path)?;
        }
        if entry.kind == FileKind::Directory || !is_kustomization(&entry.path) {
            continue;
        }
        if let Some(edited) = relocation.updated(&path)? {
            if let Some(file) = moved.files.iter_mut().find(|file| file.from == path) {
                file.content = edited.after.clone().into_bytes();
            }
            moved.texts.push(edited);
        }
    }
    Ok(moved)
}

fn walk() -> WalkOptions {
    WalkOptions { hidden: Hidden::Skip, ..WalkOptions::default() }
}

/// The paths of a move, all of them real.
struct Relocation<'r> {
    reader: &'r Reader,
    repository: PathBuf,
    from: PathBuf,
    to: PathBuf,
}

impl<'r> Relocation<'r> {
    fn new(reader: &'r Reader, repository: &Path, from: &Path, to: &Path) -> Result<Self> {
        let tree = reader.tree();
        let real = |path: &Path| {
            let found = tree.locate(Path::new(""), path).map(Located::into_path);
            found.map_err(|error| read_error(path.display(), &error))
        };
        let (repository, from) = (real(repository)?, real(from)?);
        let invalid = |message: String| Err(Diagnostic::error(Code::InvalidValue, message));
        if tree.contains(to) {
            return invalid(format!("{} exists already", to.display()));
        }
        let name = to.file_name().ok_or_else(|| {
            Diagnostic::error(Code::InvalidValue, format!("`{}` is not a name", to.display()))
        })?;
        // The directories above the new path may not exist yet either.
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let here = tree.working_directory().map_err(|error| read_error(".", &error))?;
        let parent = real(parent).unwrap_or_else(|_| clean_path(&here.join(parent)));
        let to = parent.join(name);
        if !from.starts_with(&repository) || !to.starts_with(&repository) {
            return invalid(format!("only paths in {} can be moved", reader.shown(&repository).display()));
        }
        if from == repository || to.starts_with(&from) {
            return invalid(format!("{} cannot be moved into itself", reader.shown(&from).display()));
        }
        let stays = from.parent() == to.parent() && is_kustomization(&to);
        if is_kustomization(&from) && !tree.is_directory(&from) && !stays {
            let message = format!("{} cannot be moved without its directory", reader.shown(&from).display());
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .help("move the directory, or rename the file to another name of a kustomization file"));
        }
        Ok(Self { reader, repository, from, to })
    }

    /// Checks that a symlink does not point to anything that moves.
    fn check_link(&self, link: &Path) -> Result<()> {
        let found = self.reader.tree().locate(Path::new(""), link).map(Located::into_path);
        if link.starts_with(&self.from) || !found.is_ok_and(|target| target.starts_with(&self.from)) {
            return Ok(());
        }
        let (link, from) = (self.reader.shown(link), self.reader.shown(&self.from));
        let message = format!("the symlink {} leads to {}", link.display(), from.display());
        Err(Diagnostic::error(Code::InvalidValue, message)
            .help("remove the symlink, and create it again after the move"))
    }

    /// If a build may read a path before the move, checks that it may also read it after the move.
    fn check_use(&self, directory: &Path, target: &Path) -> Result<()> {
        let (directory_after, target_after) = (self.after(directory), self.after(target));
        let is_readable = |directory: &Path, target: &Path, is_directory: bool| {
            if is_directory { !directory.starts_with(target) } else { target.starts_with(directory) }
        };
        let is_directory = self.reader.tree().is_directory(target);
        if !is_readable(directory, target, is_directory)
            || is_readable(&directory_after, &target_after, is_directory)
        {
            return Ok(());
        }
        let [used, new] = [target, &target_after].map(|path| self.reader.shown(path).display().to_string());
        let user = self.reader.shown(directory);
        let why = if is_directory { "contain" } else { "be outside of" };
        let (user, user_after) = (user.display(), self.reader.shown(&directory_after));
        let message =
            format!("the kustomization in {user} uses {used}: {new} would {why} {}", user_after.display());
        Err(Diagnostic::error(Code::OutsideRoot, message)
            .help("remove the path from the kustomization, or choose another new path"))
    }

    /// Returns the path after the move.
    fn after(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.from) {
            Ok(below) if below.as_os_str().is_empty() => self.to.clone(),
            Ok(below) => self.to.join(below),
            Err(_) => path.to_path_buf(),
        }
    }

    /// Reads the files that move.
    fn files(&self) -> Result<Vec<MovedFile>> {
        let tree = self.reader.tree();
        let mut paths = Vec::new();
        if tree.is_directory(&self.from) {
            for entry in TreeWalk::new(tree, &self.from, WalkOptions::default()) {
                let entry = entry.map_err(|error| error.diagnostic())?;
                let path = self.from.join(&entry.path);
                match entry.kind {
                    FileKind::Directory => {}
                    FileKind::File => paths.push(path),
                    _ => {
                        let shown = self.reader.shown(&path);
                        let message = format!("{} is not a regular file", shown.display());
                        return Err(Diagnostic::error(Code::Unsupported, message)
                            .help("move the directory by hand, then run `edit move` again"));
                    }
                }
            }
        } else {
            paths.push(self.from.clone());
        }
        paths.sort();
        let read = |from: PathBuf| {
            let shown = self.reader.shown(&from);
            let open = tree.open(&from).map_err(|error| read_error(shown.display(), &error))?;
            let is_executable = open.is_executable();
            let content = open.read().map_err(|error| read_error(shown.display(), &error))?;
            Ok(MovedFile { to: self.after(&from), from, content, is_executable })
        };
        paths.into_iter().map(read).collect()
    }

    /// Returns a kustomization with changed paths, or `None` if no path changes or the kustomization is not valid YAML.
    fn updated(&self, path: &Path) -> Result<Option<EditedText>> {
        let tree = self.reader.tree();
        let shown = self.reader.shown(path);
        let before = tree.read_text(path).map_err(|error| read_error(shown.display(), &error))?;
        let Ok((documents, mut fields)) = parsed(&before, &smp_text::source::SourceMap::default()) else {
            return Ok(None);
        };
        let directory = path.parent().unwrap_or(&self.repository);
        let mut problem = None;
        let is_changed =
            each_path(&mut fields, &mut |node, name| match self.update_path(node, name, directory) {
                Ok(is_changed) => is_changed,
                Err(error) => problem.replace(error).is_some(),
            });
        if let Some(problem) = problem {
            return Err(problem);
        }
        if !is_changed {
            return Ok(None);
        }
        let path = self.reader.shown(&self.after(path));
        Ok(Some(EditedText { path, after: printed(&before, &documents, fields)?, before }))
    }

    /// Changes a path that refers to something that moves, or from it to something else. The key in a generator remains
    /// the same. Returns true if the path changed.
    fn update_path(&self, node: &mut Node, name: FileName, directory: &Path) -> Result<bool> {
        let Some(text) = node.as_str().map(str::to_string) else { return Ok(false) };
        let (key, path) = match text.split_once('=') {
            Some((key, path)) if !self.reader.tree().contains(&directory.join(&text)) => (Some(key), path),
            _ => (None, text.as_str()),
        };
        if path.is_empty() || path.contains('\n') || Path::new(path).is_absolute() {
            return Ok(false);
        }
        let Ok(target) = self.reader.tree().locate(directory, Path::new(path)).map(Located::into_path) else {
            return Ok(false);
        };
        let (directory_after, target_after) = (self.after(directory), self.after(&target));
        if target == target_after && directory == directory_after
            || target.starts_with(&self.from) && directory.starts_with(&self.from)
        {
            return Ok(false);
        }
        self.check_use(directory, &target)?;
        let new_path = relative_path(&target_after, &directory_after).to_string_lossy().replace('\\', "/");
        let slash = if path.ends_with('/') { "/" } else { "" };
        let (old_name, new_name) = (Path::new(path).file_name(), Path::new(&new_path).file_name());
        let key =
            key.or_else(|| old_name.filter(|old| name == FileName::Key && Some(*old) != new_name)?.to_str());
        let new_text = key.map_or_else(String::new, |key| format!("{key}=")) + &new_path + slash;
        set_string(node, &new_text);
        Ok(new_text != text)
    }
}

/// Calls `change` for each path in a kustomization. Returns true if one of them changed.
fn each_path(fields: &mut Map, change: &mut impl FnMut(&mut Node, FileName) -> bool) -> bool {
    let mut is_changed = false;
    for name in LISTS {
        let (field, below) = name.split_once('/').map_or((name, None), |(field, below)| (field, Some(below)));
        for entry in entries(fields, field) {
            let value = match below {
                None => Some(entry),
                Some(below) => entry.as_map_mut().and_then(|map| value(map, below)),
            };
            is_changed |= value.is_some_and(|node| change(node, FileName::Unused));
        }
    }
    for (field, lists) in NESTED {
        for entry in entries(fields, field).iter_mut().filter_map(Node::as_map_mut) {
            for list in lists {
                let name = if *list == "files" { FileName::Key } else { FileName::Unused };
                match value(entry, list) {
                    Some(one) if one.as_list().is_none() => is_changed |= change(one, name),
                    _ => entries(entry, list).iter_mut().for_each(|one| is_changed |= change(one, name)),
                }
            }
        }
    }
    for (field, below) in FIELDS {
        let map = value(fields, field).and_then(Node::as_map_mut);
        is_changed |=
            map.and_then(|map| value(map, below)).is_some_and(|node| change(node, FileName::Unused));
    }
    is_changed
}

fn value<'m>(map: &'m mut Map, name: &str) -> Option<&'m mut Node> {
    position(map, name).map(|i| &mut map.entries_mut()[i].value)
}

fn entries<'m>(map: &'m mut Map, name: &str) -> &'m mut [Node] {
    value(map, name).and_then(Node::as_list_mut).map_or(&mut [], |list| list.as_mut_slice())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::overlay::Remotes;
    use smp_files::MemoryTree;
    use smp_text::source::SourceMap;

    fn moved(files: &[(&str, &str)], from: &str, to: &str) -> Result<Vec<(String, String)>> {
        let all = files.iter().map(|(path, text)| (format!("/w/{path}"), text.as_bytes()));
        let tree = MemoryTree::new(all)?.with_working_directory("/w");
        let reader = Reader::new(Arc::new(tree), SourceMap::default(), true, Remotes::new(None, true))?;
        let moved = move_path(&reader, Path::new("."), Path::new(from), Path::new(to))?;
        let texts = moved.texts.into_iter().map(|one| (one.path.display().to_string(), one.after));
        Ok(texts.collect())
    }

    #[test]
    fn references_follow_the_move() {
        let files = [
            ("base/kustomization.yaml", "resources:\n- web.yaml # ours\n- ../common\n"),
            ("base/web.yaml", "kind: A\n"),
            ("common/kustomization.yaml", "resources: []\n"),
            (
                "overlays/prod/kustomization.yaml",
                "# prod\nresources: [../../base] # the base\npatches:\n- path: ../../base/web.yaml\nconfigMapGenerator:\n- files: [k=../../base/web.yaml]\n",
            ),
        ];
        let got = moved(&files, "base", "bases/web").expect("moved");
        assert_eq!(
            got,
            [
                ("bases/web/kustomization.yaml".into(), "resources:\n- web.yaml # ours\n- ../../common\n".into()),
                (
                    "overlays/prod/kustomization.yaml".into(),
                    "# prod\nresources: [../../bases/web] # the base\npatches:\n- path: ../../bases/web/web.yaml\nconfigMapGenerator:\n- files: [k=../../bases/web/web.yaml]\n".to_string()
                ),
            ]
        );
        let got = moved(&files, "base/web.yaml", "base/site.yaml").expect("moved");
        assert_eq!(got[0].1, "resources:\n- site.yaml # ours\n- ../common\n");
        for (from, to, want) in [
            (
                "base/web.yaml",
                "common/web.yaml",
                "the kustomization in base uses base/web.yaml: common/web.yaml would be outside of base",
            ),
            (
                "overlays/prod",
                "base/prod",
                "the kustomization in overlays/prod uses base: base would contain base/prod",
            ),
            (
                "base/kustomization.yaml",
                "base/other.yaml",
                "base/kustomization.yaml cannot be moved without its directory",
            ),
        ] {
            assert_eq!(moved(&files, from, to).expect_err("a broken build").message(), want);
        }
        assert!(moved(&files, "base/kustomization.yaml", "base/kustomization.yml").is_ok());
        let files = [
            (
                "a/kustomization.yaml",
                "configMapGenerator:\n- files: [c/one.conf, two=c/one.conf] # all\n  envs: [c/one.conf]\n",
            ),
            ("a/c/one.conf", "x"),
        ];
        let got = moved(&files, "a/c/one.conf", "a/c/new.conf").expect("moved");
        assert_eq!(
            got[0].1,
            "configMapGenerator:\n- files: [one.conf=c/new.conf, two=c/new.conf] # all\n  envs: [c/new.conf]\n"
        );
        let got = moved(&files, "a/c", "a/d").expect("moved");
        assert!(got[0].1.contains("[d/one.conf, two=d/one.conf]"), "the name of the file stays: {got:?}");
        for (from, to) in
            [("base", "common"), ("base", "base/x"), ("nothing", "x"), ("base", "../x"), (".", "x")]
        {
            assert!(moved(&files, from, to).is_err(), "{from} {to}");
        }
    }
}
