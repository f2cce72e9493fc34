//! Waits for changes of the files on which a result depends.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use notify::event::ModifyKind;
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustc_hash::FxHashMap;

use super::disk::DiskTree;
use super::read_set::ReadSet;
use super::tree::{FileTree as _, Located};

/// The time without events that ends a group of changes, since editors save a file in several steps.
const QUIET: Duration = Duration::from_millis(20);

/// The maximum time to wait for the end of a group of changes, such as a checkout of thousands of files.
const LONGEST: Duration = Duration::from_secs(1);

/// The maximum difference between the time of a change and the time that the file system records.
const TIME_PRECISION: Duration = Duration::from_millis(10);

/// Watches the paths of a [`ReadSet`] on disk.
///
/// Only directories are watched, without their subdirectories. Files that are replaced and paths that do not exist yet
/// are also detected.
pub struct Watcher {
    backend: Backend,
    events: Receiver<Message>,
    sender: Sender<Message>,
    /// The watched directories.
    watched: BTreeSet<PathBuf>,
    depends_on: ReadSet,
    /// The symlinks that were followed to the files that were read.
    links: BTreeSet<PathBuf>,
    /// True if events may have replaced directories, so that their watches are missing.
    may_lack_watches: bool,
    /// The time since when changes may be missing from the reads.
    since: SystemTime,
}

/// The source of changes: system events or polling.
enum Backend {
    /// The system reports changes in directories.
    Events(RecommendedWatcher),
    /// The stamps of all paths are compared at an interval.
    Polling { interval: Duration, stamps: Stamps },
}

/// The paths of a read set with their stamps. The stamp of a path that does not exist is `None`.
type Stamps = BTreeMap<PathBuf, Option<String>>;

/// A message to a waiting watcher.
enum Message {
    Event(notify::Result<Event>),
    Stop,
}

/// Ends the wait of a [`Watcher`] from another thread.
#[derive(Clone)]
pub struct WatchStop(Sender<Message>);

impl WatchStop {
    /// Ends the current wait. If there is none, ends the next one.
    pub fn stop(&self) {
        // Without a watcher, there is nothing to stop.
        let _ = self.0.send(Message::Stop);
    }
}

impl Watcher {
    /// Creates a watcher that does not watch any path yet. With an interval, it polls; otherwise the system reports
    /// changes. Create it before anything is read. It waits 10 milliseconds, so that the recorded times of earlier
    /// changes are before the start of the watch.
    ///
    /// # Errors
    /// The system's limit on watches is reached.
    pub fn new(poll: Option<Duration>) -> io::Result<Self> {
        let (sender, events) = channel();
        let notified = sender.clone();
        // If there is no receiver, the watcher was dropped.
        let send = move |event| drop(notified.send(Message::Event(event)));
        let backend = match poll {
            Some(interval) => Backend::Polling { interval, stamps: Stamps::new() },
            None => Backend::Events(RecommendedWatcher::new(send, Config::default()).map_err(io_error)?),
        };
        let (watched, depends_on, links) = (BTreeSet::new(), ReadSet::default(), BTreeSet::new());
        let since = SystemTime::now();
        thread::sleep(TIME_PRECISION);
        Ok(Self { backend, events, sender, watched, depends_on, links, may_lack_watches: false, since })
    }

    /// Returns a handle that ends a wait.
    #[must_use]
    pub fn stopper(&self) -> WatchStop {
        WatchStop(self.sender.clone())
    }

    /// Watches exactly the dependencies of a result. Returns the files and directories that changed after they may have
    /// been read.
    ///
    /// # Errors
    /// The system's limit on watches is reached.
    pub fn watch(&mut self, read: ReadSet) -> io::Result<BTreeSet<PathBuf>> {
        self.links = read.followed_links();
        self.depends_on = read;
        let absent = &self.depends_on.absent;
        let targets = absent.iter().filter_map(|path| DiskTree::target_of_link(path));
        let other_names: Vec<PathBuf> = targets.chain(real_names(absent)).collect();
        self.depends_on.absent.extend(other_names);
        let wanted = self.directories();
        let new: BTreeSet<PathBuf> = wanted.difference(&self.watched).cloned().collect();
        if let Backend::Events(events) = &mut self.backend {
            for directory in self.watched.difference(&wanted) {
                // If the directory was removed, its watch is also gone.
                let _ = events.unwatch(directory);
            }
        }
        self.watched.retain(|directory| wanted.contains(directory));
        self.add_watches(new.clone())?;
        self.keep_stamps();
        Ok(self.changed_below(&new))
    }

    /// Returns the files and directories that changed, appeared or disappeared in directories before these were
    /// watched.
    fn changed_below(&self, new: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        if new.is_empty() {
            return BTreeSet::new();
        }
        let ReadSet { files, directories, found, absent, .. } = &self.depends_on;
        let is_recent = |path: &Path| DiskTree::modified(path).is_none_or(|time| time >= self.since);
        // The content of a removed directory is below the nearest directory that exists.
        let is_below = |path: &&PathBuf| path.ancestors().skip(1).any(|above| new.contains(above));
        let changed = files.iter().filter(is_below).filter(|path| is_recent(path));
        let directories = directories.iter().filter(|path| new.contains(*path) && is_recent(path));
        let removed = found.keys().filter(is_below).filter(|path| !DiskTree.contains(path));
        // A directory that was moved here may be old, but its parent directory changed.
        let may_be_new =
            |path: &&PathBuf| path.ancestors().skip(1).any(|above| new.contains(above) && is_recent(above));
        let appeared = absent.iter().filter(may_be_new).filter(|path| DiskTree.contains(path));
        changed.chain(directories).chain(removed).chain(appeared).cloned().collect()
    }

    fn add_watches(&mut self, directories: BTreeSet<PathBuf>) -> io::Result<()> {
        let Backend::Events(events) = &mut self.backend else {
            self.watched.extend(directories);
            return Ok(());
        };
        for directory in directories {
            match events.watch(&directory, RecursiveMode::NonRecursive).map_err(io_error) {
                Ok(()) => drop(self.watched.insert(directory)),
                // A directory that was just removed or cannot be read is watched again the next time it is read.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) if DiskTree.is_directory(&directory) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the stamps of all paths on which the result depends.
    fn stamps(&self) -> Stamps {
        if matches!(self.backend, Backend::Events(_)) {
            return Stamps::new();
        }
        let ReadSet { files, program_files, directories, found, absent, .. } = &self.depends_on;
        let paths = files.iter().chain(program_files).chain(directories).chain(found.keys()).chain(absent);
        let stamps = paths.map(|path| (path.clone(), DiskTree::stamp(path)));
        let links = self.links.iter().map(|path| (path.clone(), DiskTree::stamp_of_link(path)));
        stamps.chain(links).collect()
    }

    /// Adds the stamps of new paths. Known paths keep their old stamps, so that the next comparison detects all changes
    /// since the last one.
    fn keep_stamps(&mut self) {
        let now = self.stamps();
        if let Backend::Polling { stamps, .. } = &mut self.backend {
            let known = std::mem::take(stamps);
            let kept = |(path, stamp): (PathBuf, Option<String>)| {
                let stamp = known.get(&path).cloned().unwrap_or(stamp);
                (path, stamp)
            };
            *stamps = now.into_iter().map(kept).collect();
        }
    }

    /// Replaces the stamps, and returns the paths whose stamps changed.
    fn set_stamps(&mut self, now: Stamps) -> BTreeSet<PathBuf> {
        let Backend::Polling { stamps, .. } = &mut self.backend else { return BTreeSet::new() };
        let changed = now.iter().filter(|(path, stamp)| stamps.get(*path) != Some(stamp));
        let changed = changed.map(|(path, _)| path.clone()).collect();
        *stamps = now;
        changed
    }

    /// Waits until something changes and no more changes follow for 20 milliseconds. Returns the changed paths, or
    /// `None` if the wait was stopped.
    pub fn wait(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut changed = match self.backend {
            Backend::Events(_) => {
                let changed = self.wait_for_events()?;
                if std::mem::take(&mut self.may_lack_watches) {
                    let new = self.directories().difference(&self.watched).cloned().collect();
                    self.add_watches(new).ok();
                }
                changed
            }
            Backend::Polling { interval, .. } => self.poll(interval)?,
        };
        // Editors also write temporary files into listed directories.
        let is_lasting = |path: &PathBuf| self.depends_on.uses(path) || DiskTree::modified(path).is_some();
        if changed.iter().any(is_lasting) {
            changed.retain(is_lasting);
        }
        // No watched path changed in the last milliseconds. File systems round times down.
        let now = SystemTime::now();
        self.since = now.checked_sub(TIME_PRECISION).unwrap_or(now);
        Some(changed)
    }

    /// Compares stamps until some differ and then stay the same for 20 milliseconds.
    fn poll(&mut self, interval: Duration) -> Option<BTreeSet<PathBuf>> {
        let mut changed = BTreeSet::new();
        loop {
            let pause = if changed.is_empty() { interval } else { QUIET };
            match self.events.recv_timeout(pause) {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
                Ok(Message::Event(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.stamps();
            let more = self.set_stamps(now);
            if more.is_empty() && !changed.is_empty() {
                return Some(changed);
            }
            changed.extend(more);
        }
    }

    fn wait_for_events(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut changed = BTreeSet::new();
        // The two possible ends of the wait: some time after the last change, and a fixed time after the first one.
        let mut end: Option<(Instant, Instant)> = None;
        loop {
            let received = match end {
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((quiet, last)) => {
                    self.events.recv_timeout(quiet.min(last).saturating_duration_since(Instant::now()))
                }
            };
            let is_change = match received {
                Ok(Message::Event(Ok(event))) => self.add_relevant(&event, &mut changed),
                Ok(Message::Event(Err(_))) => self.add_everything(&mut changed),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => return Some(changed),
            };
            if is_change && !changed.is_empty() {
                let now = Instant::now();
                let last = end.map_or(now + LONGEST, |(_, last)| last);
                end = Some((now + QUIET, last));
            }
        }
    }

    /// Adds all files, since events were lost.
    fn add_everything(&mut self, changed: &mut BTreeSet<PathBuf>) -> bool {
        self.may_lack_watches = true;
        changed.extend(self.depends_on.files.iter().cloned());
        true
    }

    /// Adds the paths of an event on which the result depends. Returns false if the event is not a change.
    fn add_relevant(&mut self, event: &Event, changed: &mut BTreeSet<PathBuf>) -> bool {
        if event.need_rescan() {
            return self.add_everything(changed);
        }
        let is_entry = match event.kind {
            EventKind::Access(_) => return false,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => true,
            // The mode of a directory may determine if it can be read.
            EventKind::Modify(ModifyKind::Metadata(_)) => {
                let is_listed = |path: &&PathBuf| self.depends_on.directories.contains(*path);
                changed.extend(event.paths.iter().filter(is_listed).cloned());
                false
            }
            _ => false,
        };
        for path in &event.paths {
            let is_dropped = is_entry && self.drop_watches(path);
            if is_dropped {
                changed.insert(path.clone());
            }
            self.may_lack_watches |= is_dropped || (is_entry && DiskTree.is_directory(path));
            if self.is_relevant(path, is_entry) {
                changed.insert(path.clone());
            }
        }
        true
    }

    /// Drops the watches of a path and of all paths below it, since they belong to the former directories with these
    /// names. Returns true if there were any.
    fn drop_watches(&mut self, path: &Path) -> bool {
        let from = (Bound::Included(path), Bound::Unbounded);
        let below = self.watched.range::<Path, _>(from).take_while(|watched| watched.starts_with(path));
        let below: Vec<PathBuf> = below.cloned().collect();
        for directory in &below {
            self.watched.remove(directory);
            if let Backend::Events(events) = &mut self.backend {
                let _ = events.unwatch(directory);
            }
        }
        !below.is_empty()
    }

    fn is_relevant(&self, path: &Path, is_entry: bool) -> bool {
        let ReadSet { files, program_files, .. } = &self.depends_on;
        files.contains(path)
            || program_files.contains(path)
            || is_entry && (self.links.contains(path) || self.depends_on.depends_on(path))
    }

    /// Returns the directories to watch, by real path: for each path, the nearest existing directory, its parent, and
    /// its ancestors up to the working directory. The system has one watch for a directory, which reports changes by
    /// one of its names.
    fn directories(&self) -> BTreeSet<PathBuf> {
        let ReadSet { files, program_files, directories, found, absent, .. } = &self.depends_on;
        let parents = files.iter().chain(program_files).chain(found.keys()).chain(absent).chain(&self.links);
        let mut wanted: BTreeSet<&Path> = parents.filter_map(|path| path.parent()).collect();
        wanted.extend(directories.iter().map(PathBuf::as_path));
        let here = DiskTree.working_directory().unwrap_or_default();
        let mut all = BTreeSet::new();
        for directory in wanted {
            let mut is_watched = false;
            for above in directory.ancestors() {
                // The parent of a directory reports if the directory is replaced.
                let is_parent = directory.parent() == Some(above);
                if all.contains(above) || (is_watched && !is_parent && !above.starts_with(&here)) {
                    break;
                }
                if DiskTree.is_directory(above)
                    && let Ok(found) = DiskTree.locate(Path::new(""), above).map(Located::into_path)
                {
                    is_watched = true;
                    all.insert(found);
                }
            }
        }
        all
    }
}

/// Returns the names by which the system reports paths that do not exist below symlinks.
fn real_names(absent: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut real: FxHashMap<&Path, Option<PathBuf>> = FxHashMap::default();
    let mut names = Vec::new();
    for path in absent {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let found = real.entry(parent).or_insert_with(|| real_directory(parent)).as_ref();
        names.extend(found.filter(|found| *found != parent).map(|found| found.join(name)));
    }
    names
}

/// Returns the real path of a directory that may not exist yet.
fn real_directory(directory: &Path) -> Option<PathBuf> {
    let above = directory.ancestors().find(|above| DiskTree.is_directory(above))?;
    let found = DiskTree.locate(Path::new(""), above).map(Located::into_path).ok()?;
    Some(if above == directory { found } else { found.join(directory.strip_prefix(above).ok()?) })
}

fn io_error(error: notify::Error) -> io::Error {
    match error.kind {
        notify::ErrorKind::Io(error) => error,
        _ => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::super::read_set::RecordingTree;
    use super::*;

    /// Creates a watcher of a file, a missing file and a directory, which were read before.
    fn watching(root: &Path, poll: Option<Duration>) -> Watcher {
        let mut watcher = Watcher::new(poll).expect("a watcher");
        let tree = RecordingTree::new(Arc::new(DiskTree));
        tree.read(&root.join("a/read.yaml")).expect("exists");
        tree.locate(Path::new(""), &root.join("b/absent.yaml")).expect_err("does not exist");
        tree.list(&root.join("c")).expect("exists");
        let missed = watcher.watch(tree.read_set()).expect("watches");
        assert!(missed.is_empty(), "written before the watcher: {missed:?}");
        watcher
    }

    fn sample() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("exists");
        for file in ["a/read.yaml", "a/other.yaml", "c/listed.yaml"] {
            fs::create_dir_all(root.join(file).parent().expect("a parent")).expect("a directory");
            fs::write(root.join(file), "a: 1\n").expect("written");
        }
        (directory, root)
    }

    /// Changes files while a watcher waits, and returns the changed paths relative to the root.
    fn changed_by(root: &Path, watcher: &mut Watcher, change: impl FnOnce() + Send) -> Option<Vec<PathBuf>> {
        let stop = watcher.stopper();
        let changed = thread::scope(|scope| {
            scope.spawn(|| {
                change();
                // Ends the wait if none of the changes is relevant.
                thread::sleep(Duration::from_millis(400));
                stop.stop();
            });
            watcher.wait()
        });
        // A stop that was not needed would end the next wait.
        while changed.is_some() && watcher.wait().is_some() {}
        changed.map(|paths| {
            paths.iter().map(|path| path.strip_prefix(root).expect("below the root").to_path_buf()).collect()
        })
    }

    #[test]
    fn only_changes_of_what_was_read_end_the_wait() {
        type Change = fn(&Path);
        let table: [(&str, Change, Option<&str>); 8] = [
            (
                "save",
                |root| fs::write(root.join("a/read.yaml"), "a: 2\n").expect("written"),
                Some("a/read.yaml"),
            ),
            ("other file", |root| fs::write(root.join("a/other.yaml"), "a: 2\n").expect("written"), None),
            ("new file elsewhere", |root| fs::write(root.join("a/new.yaml"), "").expect("written"), None),
            (
                "new file in listed directory",
                |root| fs::write(root.join("c/new.yaml"), "").expect("written"),
                Some("c/new.yaml"),
            ),
            (
                "save in listed directory",
                |root| fs::write(root.join("c/listed.yaml"), "a: 2\n").expect("written"),
                None,
            ),
            (
                "rename over",
                |root| fs::rename(root.join("a/other.yaml"), root.join("a/read.yaml")).expect("renamed"),
                Some("a/read.yaml"),
            ),
            (
                "directory of a missing file",
                |root| fs::create_dir(root.join("b")).expect("created"),
                Some("b"),
            ),
            (
                "removed directory",
                |root| fs::remove_dir_all(root.join("a")).expect("removed"),
                Some("a/read.yaml"),
            ),
        ];
        for (name, change, want) in table {
            let (_directory, root) = sample();
            let mut watcher = watching(&root, None);
            let changed = changed_by(&root, &mut watcher, || change(&root));
            let found =
                changed.as_ref().is_some_and(|paths| want.is_none_or(|want| paths.contains(&want.into())));
            assert_eq!((found, changed.is_some()), (want.is_some(), want.is_some()), "{name}: {changed:?}");
        }
    }

    #[test]
    fn changes_before_the_watch_are_returned() {
        let (_directory, root) = sample();
        // The times of the changes must differ from those of the fixture.
        thread::sleep(TIME_PRECISION * 2);
        let mut watcher = Watcher::new(None).expect("a watcher");
        let tree = RecordingTree::new(Arc::new(DiskTree));
        tree.read(&root.join("a/read.yaml")).expect("exists");
        tree.locate(Path::new(""), &root.join("b/absent.yaml")).expect_err("does not exist");
        tree.list(&root.join("c")).expect("exists");
        fs::create_dir(root.join("d")).expect("created");
        fs::write(root.join("d/x.yaml"), "a: 1\n").expect("written");
        tree.read(&root.join("d/x.yaml")).expect("exists");
        fs::remove_dir_all(root.join("d")).expect("removed");
        fs::create_dir(root.join("b")).expect("created");
        for file in ["a/read.yaml", "b/absent.yaml", "c/new.yaml"] {
            fs::write(root.join(file), "a: 2\n").expect("written");
        }
        let changed = watcher.watch(tree.read_set()).expect("watches");
        assert_eq!(
            changed,
            ["a/read.yaml", "b/absent.yaml", "c", "d/x.yaml"].map(|path| root.join(path)).into()
        );
        assert!(watcher.watch(tree.read_set()).expect("watches").is_empty(), "they are returned once");
    }

    #[test]
    fn both_names_of_a_renamed_directory_are_returned() {
        let (_directory, root) = sample();
        let mut watcher = Watcher::new(None).expect("a watcher");
        let tree = RecordingTree::new(Arc::new(DiskTree));
        tree.read(&root.join("a/read.yaml")).expect("exists");
        tree.list(&root).expect("exists");
        watcher.watch(tree.read_set()).expect("watches");
        let renamed = changed_by(&root, &mut watcher, || {
            fs::rename(root.join("a"), root.join("b")).expect("renamed");
        });
        assert_eq!(renamed, Some(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn a_recreated_directory_is_watched_again() {
        let (_directory, root) = sample();
        let mut watcher = watching(&root, None);
        let replaced = changed_by(&root, &mut watcher, || {
            fs::rename(root.join("a"), root.join("former")).expect("renamed");
            fs::create_dir(root.join("a")).expect("created");
            fs::write(root.join("a/read.yaml"), "a: 2\n").expect("written");
        });
        assert!(replaced.is_some());
        let mut watcher = watching(&root, None);
        let saved = changed_by(&root, &mut watcher, || {
            fs::write(root.join("a/read.yaml"), "a: 3\n").expect("written");
        });
        assert_eq!(saved, Some(vec!["a/read.yaml".into()]));
    }

    #[test]
    fn directories_below_a_replaced_one_are_watched_again() {
        let (_directory, root) = sample();
        fs::create_dir(root.join("a/sub")).expect("created");
        fs::write(root.join("a/sub/x.yaml"), "a: 1\n").expect("written");
        let mut watcher = Watcher::new(None).expect("a watcher");
        let tree = RecordingTree::new(Arc::new(DiskTree));
        tree.read(&root.join("a/sub/x.yaml")).expect("exists");
        tree.read(&root.join("a/read.yaml")).expect("exists");
        watcher.watch(tree.read_set()).expect("watches");
        let replaced = changed_by(&root, &mut watcher, || {
            fs::rename(root.join("a"), root.join("former")).expect("renamed");
            fs::create_dir_all(root.join("a/sub")).expect("created");
            fs::write(root.join("a/read.yaml"), "a: 2\n").expect("written");
            fs::write(root.join("a/sub/x.yaml"), "a: 2\n").expect("written");
        });
        assert!(replaced.is_some());
        let saved = changed_by(&root, &mut watcher, || {
            fs::write(root.join("a/sub/x.yaml"), "a: 3\n").expect("written");
        });
        assert_eq!(saved, Some(vec!["a/sub/x.yaml".into()]));
    }

    #[test]
    #[cfg(unix)]
    fn the_target_of_a_dangling_symlink_is_watched() {
        let (_directory, root) = sample();
        std::os::unix::fs::symlink("../later/x.yaml", root.join("a/link.yaml")).expect("created");
        let mut watcher = Watcher::new(None).expect("a watcher");
        let tree = RecordingTree::new(Arc::new(DiskTree));
        tree.locate(Path::new(""), &root.join("a/link.yaml")).expect_err("dangling");
        watcher.watch(tree.read_set()).expect("watches");
        let changed = changed_by(&root, &mut watcher, || {
            fs::create_dir(root.join("later")).expect("created");
            fs::write(root.join("later/x.yaml"), "a: 1\n").expect("written");
        });
        assert!(changed.is_some_and(|paths| !paths.is_empty()));
    }

    #[test]
    #[cfg(unix)]
    fn modes_of_listed_directories_are_changes() {
        use std::os::unix::fs::PermissionsExt as _;

        let (_directory, root) = sample();
        for poll in [None, Some(Duration::from_millis(20))] {
            let mut watcher = watching(&root, poll);
            for mode in [0o500, 0o700] {
                let changed = changed_by(&root, &mut watcher, || {
                    fs::set_permissions(root.join("c"), fs::Permissions::from_mode(mode)).expect("set");
                });
                assert_eq!(changed, Some(vec!["c".into()]), "{poll:?} {mode:o}");
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn directories_with_two_names_are_watched_by_their_real_name() {
        let (_directory, root) = sample();
        std::os::unix::fs::symlink("a", root.join("z")).expect("a symlink");
        let mut watcher = Watcher::new(None).expect("a watcher");
        let read = |files: &[&str]| {
            let tree = RecordingTree::new(Arc::new(DiskTree));
            for file in files {
                // The second file does not exist at first.
                let _ = tree.locate(Path::new(""), &root.join(file)).map(|_| tree.read(&root.join(file)));
            }
            tree.read_set()
        };
        let files = ["a/read.yaml", "z/new.yaml"];
        watcher.watch(read(&files)).expect("watches");
        let created =
            changed_by(&root, &mut watcher, || fs::write(root.join("z/new.yaml"), "").expect("written"));
        assert_eq!(created, Some(vec![PathBuf::from("a/new.yaml")]));
        // The watch of the symlink's name must not end that of the directory.
        watcher.watch(read(&files)).expect("watches");
        let saved =
            changed_by(&root, &mut watcher, || fs::write(root.join("a/read.yaml"), "b").expect("written"));
        assert_eq!(saved, Some(vec![PathBuf::from("a/read.yaml")]));
    }

    #[test]
    fn polling_finds_changes_without_events() {
        let (_directory, root) = sample();
        let mut watcher = watching(&root, Some(Duration::from_millis(20)));
        thread::sleep(Duration::from_millis(50));
        let saved = changed_by(&root, &mut watcher, || {
            fs::write(root.join("a/read.yaml"), "a: 2\n").expect("written");
        });
        assert_eq!(saved, Some(vec!["a/read.yaml".into()]));
    }
}
