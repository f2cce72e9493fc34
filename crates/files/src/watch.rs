//! Waiting until something changes that a result depends on.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use notify::event::ModifyKind;
use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::disk::DiskTree;
use super::read_set::ReadSet;
use super::tree::FileTree as _;

/// The time without events that ends a group of changes: editors save a file in several steps.
const QUIET: Duration = Duration::from_millis(20);

/// The maximum time to wait for the end of a group of changes, such as a checkout of thousands of files.
const LONGEST: Duration = Duration::from_secs(1);

/// The maximum difference between the time of a change and the time that the file system records.
const TIME_PRECISION: Duration = Duration::from_millis(10);

/// Watches the paths of a [`ReadSet`] on disk.
///
/// Only directories are watched, not recursively: files that are replaced keep being watched, and so do the places
/// of files that do not exist yet.
pub struct Watcher {
    backend: Box<dyn notify::Watcher + Send>,
    events: Receiver<Message>,
    sender: Sender<Message>,
    /// The watched directories.
    watched: BTreeSet<PathBuf>,
    depends_on: ReadSet,
    /// The symlinks that lead to what was read.
    links: BTreeSet<PathBuf>,
}

/// A message to a waiting watcher.
enum Message {
    Event(notify::Result<Event>),
    Stop,
}

/// Ends the wait of a [`Watcher`] from another thread.
#[derive(Clone)]
pub struct WatchStop(Sender<Message>);

impl WatchStop {
    /// Ends the current wait, or else the next one.
    pub fn stop(&self) {
        // Without a watcher, there is nothing to stop.
        let _ = self.0.send(Message::Stop);
    }
}

impl Watcher {
    /// Creates a watcher that watches nothing yet. With an interval, it polls; otherwise the system reports changes.
    ///
    /// # Errors
    /// The system has no more watches to give.
    pub fn new(poll: Option<Duration>) -> io::Result<Self> {
        let (sender, events) = channel();
        let notified = sender.clone();
        // Without a receiver, the watcher is gone.
        let send = move |event| drop(notified.send(Message::Event(event)));
        let config = Config::default();
        let backend: Box<dyn notify::Watcher + Send> = match poll {
            Some(interval) => {
                // Comparing contents finds saves that keep the time of the file.
                let config = config.with_poll_interval(interval).with_compare_contents(true);
                Box::new(PollWatcher::new(send, config).map_err(io_error)?)
            }
            None => Box::new(RecommendedWatcher::new(send, config).map_err(io_error)?),
        };
        let (watched, depends_on, links) = (BTreeSet::new(), ReadSet::default(), BTreeSet::new());
        Ok(Self { backend, events, sender, watched, depends_on, links })
    }

    /// Returns a handle that ends a wait.
    #[must_use]
    pub fn stopper(&self) -> WatchStop {
        WatchStop(self.sender.clone())
    }

    /// Watches what a result depends on, and nothing else. `since` is the time before it was read.
    ///
    /// Returns the files that changed between this time and the start of their watch.
    ///
    /// # Errors
    /// The system has no more watches to give.
    pub fn watch(&mut self, read: ReadSet, since: SystemTime) -> io::Result<BTreeSet<PathBuf>> {
        self.links = read.followed_links();
        self.depends_on = read;
        let wanted = self.directories();
        for directory in self.watched.difference(&wanted) {
            // The directory may be gone, and its watch with it.
            let _ = self.backend.unwatch(directory);
        }
        let new: BTreeSet<PathBuf> = wanted.difference(&self.watched).cloned().collect();
        self.watched = wanted;
        for directory in &new {
            if let Err(error) = self.backend.watch(directory, RecursiveMode::NonRecursive) {
                self.watched.remove(directory);
                // A directory that was just removed is watched again when it is read again.
                if DiskTree.is_directory(directory) {
                    return Err(io_error(error));
                }
            }
        }
        let in_new = |path: &&PathBuf| path.parent().is_some_and(|parent| new.contains(parent));
        // File systems round times down.
        let since = since.checked_sub(TIME_PRECISION).unwrap_or(since);
        let changed = |path: &&PathBuf| DiskTree::modified(path).is_none_or(|time| time >= since);
        Ok(self.depends_on.files.iter().filter(in_new).filter(changed).cloned().collect())
    }

    /// Waits until something changes, and until no more changes follow for 20 milliseconds. Returns the changed paths;
    /// none if the wait was stopped.
    pub fn wait(&mut self) -> Option<BTreeSet<PathBuf>> {
        let mut changed = BTreeSet::new();
        // The end of the wait: after the last change, and a fixed time after the first.
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
    fn add_everything(&self, changed: &mut BTreeSet<PathBuf>) -> bool {
        changed.extend(self.depends_on.files.iter().cloned());
        true
    }

    /// Adds the paths of an event that the result depends on. Returns false if the event is no change.
    fn add_relevant(&mut self, event: &Event, changed: &mut BTreeSet<PathBuf>) -> bool {
        if event.need_rescan() {
            return self.add_everything(changed);
        }
        let is_entry = match event.kind {
            EventKind::Access(_) => return false,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => true,
            _ => false,
        };
        for path in &event.paths {
            if is_entry && self.watched.remove(path) {
                // The watch belongs to the former directory of this name.
                let _ = self.backend.unwatch(path);
                changed.insert(path.clone());
            }
            if self.is_relevant(path, is_entry) {
                changed.insert(path.clone());
            }
        }
        true
    }

    fn is_relevant(&self, path: &Path, is_entry: bool) -> bool {
        let ReadSet { files, program_files, .. } = &self.depends_on;
        files.contains(path)
            || program_files.contains(path)
            || is_entry && (self.links.contains(path) || self.depends_on.depends_on(path))
    }

    /// Returns the directories to watch: those of all paths, or the nearest that exists, and those above them up to the
    /// working directory.
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
                if all.contains(above) || (is_watched && !above.starts_with(&here)) {
                    break;
                }
                if DiskTree.is_directory(above) {
                    is_watched = true;
                    all.insert(above.to_path_buf());
                }
            }
        }
        all
    }
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
    use std::thread;

    use super::super::read_set::RecordingTree;
    use super::*;

    /// Reads a file, a missing file and a directory, and watches them.
    fn watching(root: &Path, poll: Option<Duration>) -> Watcher {
        let tree = RecordingTree::new(Arc::new(DiskTree));
        tree.read(&root.join("a/read.yaml")).expect("exists");
        tree.locate(Path::new(""), &root.join("b/absent.yaml")).expect_err("does not exist");
        tree.list(&root.join("c")).expect("exists");
        let mut watcher = Watcher::new(poll).expect("a watcher");
        // The files were written just now.
        watcher.watch(tree.read_set(), SystemTime::now()).expect("watches");
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
                // Ends the wait if nothing of what changed matters.
                thread::sleep(Duration::from_millis(400));
                stop.stop();
            });
            watcher.wait()
        });
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
            fs::write(root.join("a/read.yaml"), "a: 3\n").expect("written")
        });
        assert_eq!(saved, Some(vec!["a/read.yaml".into()]));
    }

    #[test]
    fn polling_finds_changes_without_events() {
        let (_directory, root) = sample();
        let mut watcher = watching(&root, Some(Duration::from_millis(20)));
        thread::sleep(Duration::from_millis(50));
        let saved = changed_by(&root, &mut watcher, || {
            fs::write(root.join("a/read.yaml"), "a: 2\n").expect("written")
        });
        assert_eq!(saved, Some(vec!["a/read.yaml".into()]));
    }

    #[test]
    fn a_change_before_the_watch_is_reported() {
        let (_directory, root) = sample();
        let tree = RecordingTree::new(Arc::new(DiskTree));
        let before = SystemTime::now();
        tree.read(&root.join("a/read.yaml")).expect("exists");
        thread::sleep(Duration::from_millis(30));
        fs::write(root.join("a/read.yaml"), "a: 2\n").expect("written");
        let mut watcher = Watcher::new(None).expect("a watcher");
        let missed = watcher.watch(tree.read_set(), before).expect("watches");
        assert_eq!(missed, BTreeSet::from([root.join("a/read.yaml")]));
    }
}
