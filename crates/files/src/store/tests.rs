use std::thread;
use std::time::Duration;

use super::*;

struct Fixture {
    home: tempfile::TempDir,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::new(home.path().join("deep/store"));
        Self { home, store }
    }

    fn keep(&self, name: &str, text: &str) {
        drop(self.keep_and_hold(name, text));
    }

    fn keep_and_hold(&self, name: &str, text: &str) -> HeldDirectory {
        let staging = self.store.staging().expect("a staging directory");
        let content = staging.content().expect("a directory");
        fs::create_dir(content.join("d")).expect("made");
        fs::write(content.join("d/file"), text).expect("written");
        self.store.put_directory(&staging, Path::new(name), &about("x")).expect("kept")
    }

    fn state(&self, name: &str) -> &'static str {
        match self.store.open_directory(Path::new(name), &about("x")) {
            CachedDirectory::Valid(_) => "whole",
            CachedDirectory::Damaged => "damaged",
            CachedDirectory::Missing => "absent",
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.store.directory().join(name)
    }

    fn left(&self) -> Vec<OsString> {
        self.store.names(Path::new(""))
    }
}

fn about(what: &str) -> Description {
    [("what".to_string(), what.to_string())].into()
}

fn age(path: &Path, age: Duration) {
    File::open(path).and_then(|file| file.set_modified(SystemTime::now() - age)).expect("older");
}

#[test]
fn directory_is_stored_and_found() {
    let fixture = Fixture::new();
    assert_eq!(fixture.state("k/a"), "absent");
    fixture.keep("k/a", "1");
    let CachedDirectory::Valid(held) = fixture.store.open_directory(Path::new("k/a"), &about("x")) else {
        panic!("it is not valid")
    };
    assert_eq!(fs::read_to_string(held.path.join("d/file")).expect("there"), "1");
    let other = fixture.store.open_directory(Path::new("k/a"), &about("y"));
    assert!(matches!(other, CachedDirectory::Damaged), "another description");
    assert_eq!(fixture.left(), ["k"], "nothing else is left");
}

type Change = fn(&Path) -> io::Result<()>;

#[cfg(unix)]
#[test]
fn changed_entry_is_damaged_and_replaced() {
    use std::os::unix::fs::symlink;
    fn moved(path: &Path, link: &Path) -> io::Result<()> {
        fs::rename(path, path.with_extension("moved"))?;
        symlink(path.with_extension("moved"), link)
    }
    let changes: [Change; 11] = [
        |entry| fs::write(entry.join("tree/d/file"), "2"),
        |entry| fs::write(entry.join("tree/d/file"), ""),
        |entry| fs::write(entry.join("tree/more"), ""),
        |entry| fs::remove_dir_all(entry.join("tree")),
        |entry| fs::remove_dir_all(entry.join("tree")).and_then(|()| fs::create_dir(entry.join("tree"))),
        |entry| fs::write(entry.join("seal"), "{}"),
        |entry| fs::remove_file(entry.join("seal")),
        |entry| moved(&entry.join("tree"), &entry.join("tree")),
        |entry| moved(entry, entry),
        |entry| moved(entry.parent().expect("a folder"), entry.parent().expect("a folder")),
        |entry| fs::remove_dir_all(entry).and_then(|()| fs::write(entry, "a file")),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let fixture = Fixture::new();
        fixture.keep("k/a", "1");
        change(&fixture.path("k/a")).expect("changed");
        assert_eq!(fixture.state("k/a"), "damaged", "change {i}");
        fixture.keep("k/a", "1");
        assert_eq!(fixture.state("k/a"), "whole", "change {i}");
        for path in ["k", "k/a", "k/a/tree"] {
            assert!(fs::symlink_metadata(fixture.path(path)).expect("there").is_dir(), "change {i}: {path}");
        }
    }
}

#[test]
fn valid_directory_is_not_replaced() {
    let fixture = Fixture::new();
    fixture.keep("k/a", "1");
    let open = File::open(fixture.path("k/a/tree/d/file")).expect("there");
    let before = open.metadata().expect("known").modified().expect("known");
    fixture.keep("k/a", "1");
    let after = fs::metadata(fixture.path("k/a/tree/d/file")).and_then(|m| m.modified()).expect("known");
    assert_eq!(before, after, "it is the same file");
}

#[test]
fn concurrent_writers_and_removers_do_not_interfere() {
    let fixture = Fixture::new();
    thread::scope(|scope| {
        for i in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for _ in 0..25 {
                    if i % 4 == 0 {
                        let staging = fixture.store.staging().expect("a staging directory");
                        fixture.store.remove(Path::new("k/a"), &staging);
                        fixture.store.remove_folder(Path::new("k"));
                    } else {
                        fixture.keep("k/a", "1");
                        assert_ne!(fixture.state("k/a"), "damaged");
                    }
                }
            });
        }
    });
    fixture.keep("k/a", "1");
    assert_eq!(fixture.state("k/a"), "whole");
    assert_eq!(fixture.left(), ["k"]);
}

#[test]
fn new_entry_is_in_use_from_the_start() {
    let fixture = Fixture::new();
    let keep_often = || {
        for _ in 0..50 {
            let held = fixture.keep_and_hold("k/a", "1");
            assert_eq!(fs::read_to_string(held.path.join("d/file")).expect("it stays"), "1");
        }
    };
    thread::scope(|scope| {
        let keeping = [(); 4].map(|()| scope.spawn(keep_often));
        while !keeping.iter().all(thread::ScopedJoinHandle::is_finished) {
            let staging = fixture.store.staging().expect("a staging directory");
            fixture.store.remove(Path::new("k/a"), &staging);
            fixture.store.remove_folder(Path::new("k"));
        }
    });
}

#[test]
fn locked_folder_is_not_removed() {
    let fixture = Fixture::new();
    fixture.keep("k/a", "1");
    let staging = fixture.store.staging().expect("a staging directory");
    assert_eq!(fixture.store.remove(Path::new("k/a"), &staging), Removal::Removed);
    let held = lock_in(&fixture.path("k")).expect("a folder").expect("free");
    assert!(!fixture.store.remove_folder(Path::new("k")));
    assert!(fixture.path("k/lock").exists(), "it is held");
    drop(held);
    assert!(fixture.store.remove_folder(Path::new("k")));
    assert!(lock_in(&fixture.path("k")).is_err(), "the folder is gone");
}

#[test]
fn too_large_file_is_not_read_despite_its_seal() {
    let fixture = Fixture::new();
    let name = Path::new("f/a");
    fixture.store.put_sealed(name, about("x"), b"").expect("kept");
    let size = LARGEST_FILE + 1;
    let mut seal = Seal::of_bytes(about("x"), b"");
    seal.size = size;
    let line = seal.to_line().expect("text");
    fs::write(fixture.path("f/a"), &line).expect("written");
    // The file is sparse.
    let file = File::options().write(true).open(fixture.path("f/a")).expect("there");
    file.set_len(line.len() as u64 + size).expect("longer");
    assert!(fixture.store.open_sealed(name).is_none());
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_do_not_block() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let fixture = Fixture::new();
    let pipe = |path: PathBuf| {
        fs::remove_file(&path).expect("removed");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        path
    };
    fixture.keep("k/a", "1");
    let path = pipe(fixture.path("k/a/seal"));
    assert!(open_file(&path).is_err());
    let staging = fixture.store.staging().expect("a staging directory");
    assert_eq!(fixture.store.remove(Path::new("k/a"), &staging), Removal::Removed);
}

#[test]
fn entry_in_use_is_not_removed() {
    let fixture = Fixture::new();
    fixture.keep("k/a", "1");
    let used = fixture.store.open_directory(Path::new("k/a"), &about("x"));
    let staging = fixture.store.staging().expect("a staging directory");
    assert_eq!(fixture.store.remove(Path::new("k/a"), &staging), Removal::InUse);
    drop(used);
    assert_eq!(fixture.store.remove(Path::new("k/a"), &staging), Removal::Removed);
    assert_eq!(fixture.state("k/a"), "absent");
    assert!(fixture.store.remove_folder(Path::new("k")));
}

#[test]
fn sealed_files_are_read_only_if_unchanged() {
    let fixture = Fixture::new();
    let name = Path::new("f/a");
    let read = |what: &str| fixture.store.read_sealed(name, &about(what));
    assert_eq!(read("x"), None);
    fixture.store.put_sealed(name, about("x"), b"line\nline").expect("kept");
    assert_eq!(read("x").as_deref(), Some(&b"line\nline"[..]));
    assert_eq!(read("y"), None);
    let good = fs::read(fixture.path("f/a")).expect("there");
    for i in 0..good.len() {
        let mut bad = good.clone();
        bad[i] ^= 1;
        fs::write(fixture.path("f/a"), &bad).expect("written");
        assert_eq!(read("x"), None, "byte {i}");
        fs::write(fixture.path("f/a"), &good[..i]).expect("written");
        assert_eq!(read("x"), None, "cut to {i}");
    }
    #[cfg(unix)]
    {
        fs::write(fixture.home.path().join("elsewhere"), &good).expect("written");
        fs::remove_file(fixture.path("f/a")).expect("removed");
        std::os::unix::fs::symlink(fixture.home.path().join("elsewhere"), fixture.path("f/a"))
            .expect("linked");
        assert_eq!(read("x"), None, "a symlink");
        fixture.store.put_sealed(name, about("x"), b"2").expect("kept");
        assert_eq!(
            fs::read(fixture.home.path().join("elsewhere")).expect("there"),
            good,
            "the symlink is not followed"
        );
        assert_eq!(read("x").as_deref(), Some(&b"2"[..]));
    }
}

#[test]
fn only_leftovers_of_killed_programs_are_swept() {
    let fixture = Fixture::new();
    let hour = Duration::from_secs(3600);
    let running = fixture.store.staging().expect("a staging directory");
    let [killed, old, recent] = ["new-killed", "new-old", "new-recent"].map(|name| fixture.path(name));
    for path in [&killed, &old, &recent] {
        fs::create_dir(path).expect("made");
    }
    fs::write(killed.join(STORE_LOCK), "").expect("written");
    for (path, hours) in [(running.directory.path(), 48), (&killed, 1), (&old, 48), (&recent, 23)] {
        age(path, hour * hours);
    }
    let sweeper = fixture.store.staging().expect("a staging directory");
    fixture.store.sweep(&sweeper);
    let exists = |path: &Path| path.is_dir();
    assert!(exists(running.directory.path()) && exists(&recent));
    assert!(!exists(&killed) && !exists(&old));

    fs::create_dir(fixture.path("f")).expect("made");
    for (name, hours) in [("new-a", 48), ("new-b", 1), ("c", 48)] {
        let path = fixture.path("f").join(name);
        fs::write(&path, "").expect("written");
        age(&path, hour * hours);
    }
    let written = File::open(fixture.path("f/new-a")).expect("there");
    written.lock().expect("locked");
    fixture.store.sweep_folder(Path::new("f"));
    assert_eq!(fixture.store.names(Path::new("f")), ["c", "new-a"], "unlocked files are removed at any age");
    drop(written);
    fixture.store.sweep_folder(Path::new("f"));
    assert_eq!(fixture.store.names(Path::new("f")), ["c"]);
}

#[test]
fn entries_have_descriptions_and_sizes() {
    let fixture = Fixture::new();
    fixture.keep("k/a", "123");
    fixture.store.put_sealed(Path::new("k/b"), about("y"), b"12").expect("kept");
    fs::write(fixture.path("k/c"), "?").expect("written");
    fs::write(fixture.path("k/not ours"), "?").expect("written");
    let entries = fixture.store.entries(Path::new("k"), |name| name.len() == 1);
    let all: Vec<_> =
        entries.iter().map(|e| (e.name.to_str(), e.about.get("what").map(String::as_str))).collect();
    assert_eq!(all, [(Some("k/a"), Some("x")), (Some("k/b"), Some("y")), (Some("k/c"), None)]);
    assert_eq!(entries[0].size, 3);
    assert!(entries.iter().all(|entry| !entry.is_unused_for(Duration::from_secs(60))));
}
