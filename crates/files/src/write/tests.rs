//! Tests of writes and of recovery after interruptions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::{DiskTree, LockMode, check_no_pending_write};
use smp_text::diagnostic::Code;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    directory
}

/// Returns the paths and contents of all files in a directory, including hidden ones.
fn listing(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.insert(path.clone(), "directory".into());
            found.extend(listing(&path));
        } else {
            found.insert(path.clone(), fs::read_to_string(&path).expect("text"));
        }
    }
    found
}

const OLD: [(&str, &str); 4] = [("a", "old a"), ("b", "old b"), ("sub/c", "old c"), ("gone", "old gone")];
const NEW: [(&str, Option<&str>); 5] = [
    ("a", Some("new a")),
    ("made/deep/d", Some("new d")),
    ("gone", None),
    ("sub/c", Some("new c")),
    ("e", Some("new e")),
];

fn change(directory: &Path) -> smp_text::diagnostic::Result<()> {
    let paths = NEW.map(|(name, _)| directory.join(name));
    let changes =
        paths.iter().zip(NEW).map(|(path, (_, text))| FileChange::new(path, text.map(str::as_bytes)));
    change_files(directory, &changes.collect::<Vec<_>>())
}

/// Returns the listing after all changes.
fn listing_after_changes(directory: &Path) -> BTreeMap<PathBuf, String> {
    let other = self::directory(&OLD);
    for (name, text) in NEW {
        let path = other.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        match text {
            Some(text) => fs::write(path, text).expect("written"),
            None => fs::remove_file(path).expect("removed"),
        }
    }
    let moved = |path: &Path| directory.join(path.strip_prefix(other.path()).expect("below"));
    listing(other.path()).into_iter().map(|(path, text)| (moved(&path), text)).collect()
}

#[test]
fn all_read_only_files_are_named() {
    let directory = directory(&[("a", "old"), ("b", "old"), ("c", "old")]);
    let paths = ["a", "b", "c"].map(|name| directory.path().join(name));
    for path in &paths[1..] {
        let mut permissions = fs::metadata(path).expect("there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(path, permissions).expect("changed");
    }
    let changes = paths.each_ref().map(|path| FileChange::new(path, Some(b"new")));
    let error = change_files(directory.path(), &changes).expect_err("read-only");
    let messages: Vec<String> = error.into_each().map(|one| one.message().to_string()).collect();
    let want = paths[1..].iter().map(|path| format!("cannot write {}: it is read-only", path.display()));
    assert_eq!(messages, want.collect::<Vec<_>>());
    assert_eq!(fs::read(&paths[0]).expect("there"), b"old");
}

/// Not even the administrator can create files in this directory.
#[cfg(target_os = "linux")]
#[test]
fn errors_name_the_file_and_not_what_is_written_before_it() {
    let path = Path::new("/sys/kernel/kustomization.yaml");
    let change = FileChange::new(path, Some(b"x"));
    for written in [replace_file(path, b"x"), change_files(Path::new("/sys/kernel"), &[change])] {
        let message = written.expect_err("not writable").message().to_string();
        assert!(message.starts_with("cannot write /sys/kernel/kustomization.yaml: "), "{message}");
        assert!(!message.contains(".kubectl-smp"), "{message}");
    }
}

#[test]
fn file_that_cannot_be_replaced_is_unchanged() {
    let directory = directory(&[("a", "old"), ("sub/b", "old")]);
    let at = |path: &str| directory.path().join(path);
    replace_file(&at("a"), b"new").expect("written");
    assert_eq!(fs::read(at("a")).expect("there"), b"new");
    let before = listing(directory.path());
    for (path, why) in [("missing/a", "the directory does not exist"), ("sub", "it is a directory")] {
        let error = replace_file(&at(path), b"new").expect_err(path);
        assert_eq!(error.message(), format!("cannot write {}: {why}", at(path).display()));
        assert!(error.help_text().is_some());
    }
    assert!(replace_file(&at(&"x".repeat(300)), b"new").is_err(), "a name that is too long");
    assert_eq!(listing(directory.path()), before, "nothing temporary is left");
}

#[test]
fn all_changes_are_made_and_the_journal_is_removed() {
    let directory = directory(&OLD);
    change(directory.path()).expect("changed");
    assert_eq!(listing(directory.path()), listing_after_changes(directory.path()));
    assert_eq!(recover(directory.path(), LockMode::Wait), Ok(Recovery::Nothing));
}

#[test]
fn new_directory_is_removed_if_its_files_cannot_be_written() {
    let directory = directory(&[]);
    let new = directory.path().join("x/y");
    let (good, bad) = (new.join("a"), new.join("b".repeat(300)));
    let changes = [&good, &bad].map(|path| FileChange::new(path, Some(b"text")));
    assert_eq!(change_files(&new, &changes).expect_err("a name that is too long").code(), Code::Io);
    assert!(listing(directory.path()).is_empty());
    change_files(&new, &changes[..1]).expect("made");
    assert_eq!(listing(&new), BTreeMap::from([(good, "text".to_string())]));
}

/// Prepares changes and stops after `made` of them are made. If `back` is set, rolls back `back` of these before.
fn interrupt(directory: &Path, made: usize, back: Option<usize>) {
    let root = directory.canonicalize().expect("a directory");
    let paths = NEW.map(|(name, _)| directory.join(name));
    let changes =
        paths.iter().zip(NEW).map(|(path, (_, text))| FileChange::new(path, text.map(str::as_bytes)));
    journal::testing::interrupt(&root, &changes.collect::<Vec<_>>(), made, back);
}

#[test]
fn interrupted_write_is_completed() {
    for made in 0..=NEW.len() {
        let directory = directory(&OLD);
        interrupt(directory.path(), made, None);
        let error = check_no_pending_write(&DiskTree, directory.path()).expect_err("in part only");
        assert!(error.help_text().is_some_and(|help| help.contains("kubectl smp recover")), "{error:?}");
        assert_eq!(recover(directory.path(), LockMode::Wait), Ok(Recovery::Finished(NEW.len())));
        assert_eq!(listing(directory.path()), listing_after_changes(directory.path()), "after {made}");
        check_no_pending_write(&DiskTree, directory.path()).expect("whole");
    }
}

#[test]
fn reading_waits_for_a_write_in_progress() {
    let directory = directory(&OLD);
    interrupt(directory.path(), 1, None);
    let root = directory.path().canonicalize().expect("a directory");
    let (opened, is_open) = mpsc::channel();
    let writer = thread::spawn(move || {
        journal::testing::recover_after(&root, || {
            opened.send(()).expect("received");
            thread::sleep(Duration::from_millis(100));
        });
    });
    is_open.recv().expect("sent");
    check_no_pending_write(&DiskTree, directory.path()).expect("whole");
    // The writer may still remove its journal.
    let mut found = listing(directory.path());
    found.retain(|path, _| !path.starts_with(directory.path().join(journal::JOURNAL)));
    assert_eq!(found, listing_after_changes(directory.path()));
    writer.join().expect("the writer");
}

#[test]
fn interrupted_rollback_is_completed() {
    for (made, back) in (0..=NEW.len()).flat_map(|made| (0..=NEW.len()).map(move |back| (made, back))) {
        let directory = directory(&OLD);
        let before = listing(directory.path());
        interrupt(directory.path(), made, Some(back));
        assert_eq!(recover(directory.path(), LockMode::Wait), Ok(Recovery::RolledBack(NEW.len())));
        assert_eq!(listing(directory.path()), before, "after {made} made and {back} rolled back");
    }
}

#[test]
fn next_write_completes_an_interrupted_one_first() {
    let directory = directory(&OLD);
    interrupt(directory.path(), 2, None);
    let path = directory.path().join("a");
    change_files(directory.path(), &[FileChange::new(&path, Some(b"newer"))]).expect("changed");
    let mut want = listing_after_changes(directory.path());
    want.insert(path, "newer".into());
    assert_eq!(listing(directory.path()), want);
}

#[test]
fn write_that_cannot_be_completed_is_rolled_back() {
    let directory = directory(&OLD);
    let before = listing(directory.path());
    interrupt(directory.path(), 1, None);
    // There is now a file at the path of a directory to create.
    fs::remove_dir_all(directory.path().join("made")).expect("removed");
    fs::write(directory.path().join("made"), "").expect("written");
    assert_eq!(recover(directory.path(), LockMode::Wait), Ok(Recovery::RolledBack(NEW.len())));
    fs::remove_file(directory.path().join("made")).expect("removed");
    assert_eq!(listing(directory.path()), before);
}

#[test]
fn file_edited_after_an_interruption_is_not_overwritten() {
    // A file that is already changed, one that is not changed yet, one to create, and one to remove.
    for name in ["a", "sub/c", "e", "gone"] {
        for back in [None, Some(0)] {
            let directory = directory(&OLD);
            interrupt(directory.path(), 1, back);
            let edited = directory.path().join(name);
            fs::write(&edited, "edited by hand").expect("written");
            let before = listing(directory.path());
            let error = recover(directory.path(), LockMode::Wait).expect_err("edited");
            assert!(error.message().contains(&edited.display().to_string()), "{error:?}");
            assert!(error.message().contains("another program changed it"), "{error:?}");
            assert_eq!(change(directory.path()).expect_err("still").message(), error.message());
            assert_eq!(listing(directory.path()), before, "{name}");
        }
    }
}

#[test]
fn write_in_a_subdirectory_completes_an_interrupted_one_first() {
    let directory = directory(&OLD);
    interrupt(directory.path(), 0, None);
    replace_file(&directory.path().join("sub/c"), b"newer").expect("written");
    let mut want = listing_after_changes(directory.path());
    want.insert(directory.path().join("sub/c"), "newer".into());
    assert_eq!(listing(directory.path()), want);

    let directory = self::directory(&OLD);
    interrupt(directory.path(), 0, None);
    let path = directory.path().join("sub/c");
    check_no_pending_write(&DiskTree, &directory.path().join("sub")).expect_err("in part");
    let change = FileChange::new(&path, Some(b"newer"));
    change_files(&directory.path().join("sub"), &[change]).expect("changed");
    assert_eq!(listing(directory.path()).get(&directory.path().join("e")).map(String::as_str), Some("new e"));
}

#[test]
fn waiting_for_a_journal_does_not_register_it_for_removal() {
    let directory = directory(&OLD);
    let root = directory.path().canonicalize().expect("real");
    interrupt(&root, 1, None);
    let lock = fs::File::open(root.join(".kubectl-smp-journal/lock")).expect("there");
    lock.lock().expect("locked");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| change(&root));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(
            !crate::cleanup::lock_registered().contains(&root.join(".kubectl-smp-journal")),
            "it would be removed"
        );
        drop(lock);
        waiting.join().expect("ended").expect("changed");
    });
    assert_eq!(listing(&root), listing_after_changes(&root));
}

#[test]
fn concurrent_writes_are_serialized() {
    let directory = directory(&[]);
    let names: Vec<_> = (0..40).map(|i| directory.path().join(format!("f{i}"))).collect();
    std::thread::scope(|scope| {
        for text in ["one", "two", "three", "four"] {
            let changes: Vec<_> =
                names.iter().map(|path| FileChange::new(path, Some(text.as_bytes()))).collect();
            scope.spawn(move || {
                (0..10).for_each(|_| change_files(names_root(&changes), &changes).expect("changed"));
            });
        }
    });
    let found = listing(directory.path());
    let first = found.values().next().expect("files").clone();
    assert!(found.len() == names.len() && found.values().all(|text| *text == first), "{found:?}");
}

fn names_root<'c>(changes: &[FileChange<'c>]) -> &'c Path {
    changes[0].path.parent().expect("a directory")
}

#[test]
fn copied_journal_is_rejected() {
    let (from, to) = (directory(&OLD), directory(&OLD));
    interrupt(from.path(), 2, None);
    let journal = to.path().join(".kubectl-smp-journal");
    fs::create_dir(&journal).expect("made");
    for entry in fs::read_dir(from.path().join(".kubectl-smp-journal")).expect("there") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), journal.join(entry.file_name())).expect("copied");
    }
    let before = listing(to.path());
    assert!(recover(to.path(), LockMode::Wait).expect_err("copied").message().contains("invalid journal"));
    assert!(change(to.path()).is_err());
    assert_eq!(listing(to.path()), before);
}

#[test]
fn files_outside_of_the_directory_are_rejected() {
    let (inside, outside) = (directory(&[("a", "old")]), directory(&[("b", "old")]));
    let out = inside.path().join("sub/../../x");
    let direct = outside.path().join("b");
    for path in [&direct, &out] {
        let error = change_files(inside.path(), &[FileChange::new(path, Some(b"new"))]).expect_err("out");
        assert!(error.notes().iter().any(|note| note == "no file was changed"), "{error:?}");
    }
    assert_eq!(fs::read(&direct).expect("there"), b"old");
    assert_eq!(listing(inside.path()).len(), 1);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn hard_links_modes_and_symlinks_are_kept() {
        let directory = directory(&[("a", "old"), ("plain", "old"), ("target", "old")]);
        let at = |name: &str| directory.path().join(name);
        fs::hard_link(at("a"), at("b")).expect("linked");
        symlink("target", at("link")).expect("linked");
        fs::set_permissions(at("plain"), fs::Permissions::from_mode(0o640)).expect("set");
        let paths = ["a", "plain", "link"].map(at);
        let changes = paths.each_ref().map(|path| FileChange::new(path, Some(b"new")));
        let inode = fs::metadata(at("a")).expect("there").ino();
        change_files(directory.path(), &changes).expect("changed");
        for name in ["a", "b", "plain", "link", "target"] {
            assert_eq!(fs::read(at(name)).expect("there"), b"new", "{name}");
        }
        assert_eq!(fs::metadata(at("b")).expect("there").ino(), inode);
        assert!(fs::symlink_metadata(at("link")).expect("there").is_symlink());
        assert_eq!(fs::metadata(at("plain")).expect("there").mode() & 0o777, 0o640);
        assert_eq!(listing(directory.path()).len(), 5);
    }

    #[test]
    fn two_changes_of_one_file_are_rejected() {
        let directory = directory(&[("a", "old")]);
        let at = |name: &str| directory.path().join(name);
        fs::hard_link(at("a"), at("b")).expect("linked");
        symlink("a", at("c")).expect("linked");
        for (first, second) in [("a", "b"), ("a", "c")] {
            let (first, second) = (at(first), at(second));
            let changes = [FileChange::new(&first, Some(b"1")), FileChange::new(&second, Some(b"2"))];
            let error = change_files(directory.path(), &changes).expect_err("one file");
            assert!(error.message().contains("are the same file"), "{error:?}");
        }
        assert_eq!(fs::read(at("a")).expect("there"), b"old");
    }

    #[test]
    fn symlinks_to_outside_and_read_only_files_are_rejected() {
        let (inside, outside) = (directory(&[("a", "old"), ("fixed", "old")]), directory(&[("b", "old")]));
        let at = |name: &str| inside.path().join(name);
        symlink(outside.path().join("b"), at("out")).expect("linked");
        symlink(outside.path(), at("folder")).expect("linked");
        fs::set_permissions(at("fixed"), fs::Permissions::from_mode(0o444)).expect("set");
        let good = at("a");
        for bad in ["out", "folder/b", "folder/new", "fixed"] {
            let bad = at(bad);
            let changes = [&good, &bad].map(|path| FileChange::new(path, Some(b"new")));
            change_files(inside.path(), &changes).expect_err("not written");
            assert_eq!(fs::read(&good).expect("there"), b"old", "{}", bad.display());
        }
        assert_eq!(listing(outside.path()).len(), 1);
        assert_eq!(fs::read(outside.path().join("b")).expect("there"), b"old");
    }

    #[test]
    fn leftovers_of_killed_programs_are_removed() {
        let directory = directory(&[(".kubectl-smp-new-dead", "half"), (".kubectl-smp-other", "mine")]);
        let at = |name: &str| directory.path().join(name);
        let living = fs::File::create(at(".kubectl-smp-new-living")).expect("made");
        living.lock().expect("locked");
        replace_file(&at("a"), b"new").expect("written");
        let left: Vec<_> = listing(directory.path()).into_keys().collect();
        assert_eq!(left, [".kubectl-smp-new-living", ".kubectl-smp-other", "a"].map(at));
    }

    #[test]
    fn temporary_files_are_never_more_readable_than_the_replaced_file() {
        let directory = directory(&[("one", "old"), ("two", "old")]);
        let at = |name: &str| directory.path().join(name);
        for name in ["one", "two"] {
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o600)).expect("set");
        }
        fs::hard_link(at("two"), at("twin")).expect("linked");
        let paths = ["one", "two"].map(at);
        let changes = paths.each_ref().map(|path| FileChange::new(path, Some(b"new")));
        let root = directory.path().canonicalize().expect("real");
        journal::testing::interrupt(&root, &changes, 0, None);
        let journal = at(".kubectl-smp-journal");
        assert_eq!(fs::metadata(&journal).expect("there").mode() & 0o777, 0o700);
        for text in ["0.new", "1.new", "0.old", "1.old"] {
            let mode = fs::metadata(journal.join(text)).expect(text).mode() & 0o777;
            assert_eq!(mode, 0o600, "{text}");
        }
    }

    /// Replaces a directory by a symlink to another directory and back while files in it are changed.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_written_outside_while_directories_are_exchanged() {
        use std::sync::atomic::{AtomicBool, Ordering};

        use rustix::fs::{CWD, RenameFlags, renameat_with};

        let (inside, outside) = (directory(&[("d/x", "old")]), directory(&[]));
        let (folder, link) = (inside.path().join("d"), inside.path().join("l"));
        symlink(outside.path(), &link).expect("linked");
        let (stop, mut changed) = (AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for pause in (1..30).cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                    renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).expect("exchanged");
                    // The pauses are shorter and longer than the changes take, so that some changes are interrupted.
                    std::thread::sleep(std::time::Duration::from_millis(pause));
                }
            });
            let paths: Vec<_> = (0..8).map(|i| folder.join(format!("f{i}"))).collect();
            for round in 0..150 {
                let text = format!("{round}");
                let files = paths.iter().map(|path| FileChange::new(path, Some(text.as_bytes())));
                changed += usize::from(change_files(inside.path(), &files.collect::<Vec<_>>()).is_ok());
                // A journal that could not be completed remains.
                let _ = fs::remove_dir_all(inside.path().join(".kubectl-smp-journal"));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(listing(outside.path()), BTreeMap::new());
        assert!(changed > 0, "the directory was never there when it was needed");
    }

    #[test]
    fn private_file_behind_a_symlink_is_removed_and_the_link_stays() {
        let directory = directory(&[]);
        let at = |name: &str| directory.path().join(name);
        symlink("made", at("link")).expect("linked");
        replace_private_file(&at("link"), b"secret").expect("written");
        remove_own_file(&at("link"), b"secret").expect("removed");
        assert!(fs::symlink_metadata(at("link")).expect("there").is_symlink());
        assert!(!at("made").exists());
    }

    #[test]
    fn dangling_symlink_is_followed() {
        let directory = directory(&[]);
        let at = |name: &str| directory.path().join(name);
        symlink("made", at("link")).expect("linked");
        replace_file(&at("link"), b"new").expect("written");
        assert!(fs::symlink_metadata(at("link")).expect("there").is_symlink());
        assert_eq!(fs::read(at("made")).expect("there"), b"new");
    }
}

#[cfg(unix)]
#[test]
fn executable_bits_are_set_and_other_mode_bits_kept() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.sh");
    fs::write(&path, "x").expect("written");
    let mode = || fs::metadata(&path).expect("there").permissions().mode() & 0o777;
    let change = |content: &'static [u8], executable| {
        let change = FileChange { executable, ..FileChange::new(&path, Some(content)) };
        change_files(directory.path(), &[change]).expect("changed");
        mode()
    };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    let table: [(&[u8], Option<bool>, u32); 6] = [
        (b"y", None, 0o640),
        (b"y", Some(true), 0o750),
        (b"z", None, 0o750),
        (b"z", Some(true), 0o750),
        (b"z", Some(false), 0o640),
        (b"x", Some(true), 0o750),
    ];
    for (content, executable, want) in table {
        let mode = change(content, executable);
        assert_eq!(mode, want, "{executable:?}: {mode:o}");
        assert_eq!(fs::read(&path).expect("there"), content);
    }
}
