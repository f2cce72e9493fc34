//! An interrupted program, or one that cannot write, leaves either the old or the new files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{PROGRAM, config, fail, listing, many, program, read, succeed, targets};

/// Checks interrupted runs of the program over 1,000 files.
struct Ending<'h> {
    home: &'h Path,
    /// Expected contents of the directory after a run with either value.
    states: [BTreeMap<PathBuf, Vec<u8>>; 2],
}

const FILES: usize = 1000;

impl<'h> Ending<'h> {
    /// Each value has files that the other one lacks, and some files have additional names.
    fn new(home: &'h Path) -> Self {
        for (value, own) in [("one", "first"), ("two", "second")] {
            let target = home.join(value).join("app");
            many(&target, FILES, value);
            let own: Vec<_> = (0..50).map(|i| config(&format!("{own}{i}"), value)).collect();
            let text = read(&target.join("x.yaml")) + "---\n" + &own.join("---\n");
            fs::write(target.join("x.yaml"), text).expect("written");
        }
        let built = |value: &str| {
            assert!(Self::command(home, value).status().expect("runs").success());
            listing(&home.join("out"))
        };
        built("one");
        fs::create_dir(home.join("linked")).expect("made");
        for i in 0..20 {
            let name = format!("v1_configmap_c{i}.yaml");
            fs::hard_link(home.join("out/app").join(&name), home.join("linked").join(&name)).expect("linked");
        }
        let states = [built("one"), built("two")];
        Self { home, states }
    }

    fn command(home: &Path, value: &str) -> Command {
        let mut command = program(&home.join(value), &["build", "app", "--output-dir", "../out", "--prune"]);
        command.stderr(Stdio::null());
        command
    }

    /// Starts a run that writes the value that is not present.
    fn start(&self) -> Child {
        let value = if listing(&self.home.join("out")) == self.states[0] { "two" } else { "one" };
        Self::command(self.home, value).spawn().expect("runs")
    }

    /// Waits until the changes begin or the run ends.
    fn until_changes_begin(&self, child: &mut Child) {
        let list = self.home.join("out/.kubectl-smp-journal/list");
        while !list.exists() && child.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
    }

    /// Fails unless all files are old, or all are new, and no other file is present.
    fn check(&self, what: &str) {
        let found = listing(&self.home.join("out"));
        let is_known = |path: &&PathBuf| self.states.iter().any(|state| state.contains_key(*path));
        let strange: Vec<_> = found.keys().filter(|path| !is_known(path)).collect();
        assert!(strange.is_empty(), "{what}: {strange:?}");
        for (path, text) in listing(&self.home.join("linked")) {
            let name = path.file_name().expect("a name");
            assert_eq!(
                found[&self.home.join("out/app").join(name)],
                text,
                "{what}: {} has two contents",
                name.display()
            );
        }
        assert!(self.states.contains(&found), "{what}: some files are old and some new");
    }
}

#[test]
fn killed_program_leaves_all_old_or_all_new_files() {
    let kills = std::env::var("SMP_TEST_KILLS").map_or(20, |count| count.parse::<u32>().expect("a number"));
    let home = tempfile::tempdir().expect("a directory");
    let ending = Ending::new(home.path());
    let started = Instant::now();
    ending.start().wait().expect("ended");
    let whole = started.elapsed();
    let mut midway = 0;
    for kill in 0..kills {
        let mut child = ending.start();
        if kill % 2 == 0 {
            std::thread::sleep(whole * kill / kills);
        } else {
            ending.until_changes_begin(&mut child);
            std::thread::sleep(Duration::from_micros(u64::from(kill) * 20_000 / u64::from(kills)));
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        let journal = home.path().join("out/.kubectl-smp-journal");
        if journal.join("list").exists() {
            midway += 1;
            // A directory with a partial write is not read.
            fail(home.path(), &["merge", "out", "out"]);
            // A recovering program may be killed, too.
            let mut child =
                program(home.path(), &["recover", "out"]).stdout(Stdio::null()).spawn().expect("runs");
            std::thread::sleep(Duration::from_micros(u64::from(kill) * 40_000 / u64::from(kills)));
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
        if kill % 4 < 2 {
            succeed(home.path(), &["recover", "out"]);
        } else {
            // Recovers, as every program does before it writes.
            succeed(home.path(), &["merge", "out/app/v1_configmap_c0.yaml", "out/app", "--in-place"]);
        }
        // Writers remove files that were only prepared.
        assert!(!journal.join("list").exists(), "kill {kill}");
        succeed(home.path(), &["recover", "out"]);
        assert!(!journal.exists(), "kill {kill}");
        ending.check(&format!("kill {kill}"));
    }
    eprintln!("{midway} of {kills} kills were in the midst of the changes");
    assert!(midway > 0, "no kill came in the midst of the changes");
}

#[test]
fn signals_leave_no_partial_files() {
    let home = tempfile::tempdir().expect("a directory");
    let ending = Ending::new(home.path());
    let started = Instant::now();
    ending.start().wait().expect("ended");
    let whole = started.elapsed();
    let mut outcome = 0;
    for (i, (name, number)) in [("INT", 2), ("TERM", 15), ("HUP", 1)].iter().cycle().take(18).enumerate() {
        let mut child = ending.start();
        if i % 2 == 0 {
            std::thread::sleep(whole * u32::try_from(i).expect("small") / 18);
        } else {
            ending.until_changes_begin(&mut child);
        }
        let kill = Command::new("kill")
            .args([format!("-{name}"), child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        kill.expect("kill runs");
        let status = child.wait().expect("ended");
        assert!(status.success() || status.signal() == Some(*number), "{status}");
        outcome += usize::from(!status.success());
        ending.check(&format!("signal {name}, {i}"));
    }
    assert!(outcome > 0, "no signal came in time");
}

#[test]
fn ignored_signals_stay_ignored() {
    let home = tempfile::tempdir().expect("a directory");
    many(&home.path().join("many"), 3000, "one");
    let script = "trap '' HUP; \"$0\" build many -o out/ & pid=$!; for i in 1 2 3 4 5 6 7 8; do kill -HUP $pid; done; wait $pid";
    let status =
        Command::new("bash").args(["-c", script, PROGRAM]).current_dir(&home).status().expect("bash");
    assert!(status.success(), "{status}");
}

#[test]
fn recover_reports_its_actions() {
    let home = targets();
    assert_eq!(succeed(home.path(), &["recover", "a"]), "a: nothing to recover\n");
    let journal = home.path().join("a/.kubectl-smp-journal");
    fs::create_dir(&journal).expect("made");
    fs::write(journal.join("0.new"), "half").expect("written");
    let diagnostics = succeed(home.path(), &["recover", "a"]);
    assert_eq!(diagnostics, "a: no file was partially written; temporary files were removed\n");
    assert!(!journal.exists());
    let mut why = String::new();
    writeln!(why, "{}", fail(home.path(), &["recover", "missing"])).expect("a string");
    insta::assert_snapshot!(why, @"error[io]: missing: No such file or directory (os error 2)");
}

#[test]
fn file_size_limit_leaves_no_partial_files() {
    let home = targets();
    many(&home.path().join("many"), 3000, "one");
    let limited = |line: &str| {
        let script = format!("ulimit -f 8; exec '{PROGRAM}' {line}");
        Command::new("sh").args(["-c", &script]).current_dir(home.path()).output().expect("a shell")
    };
    for (line, message) in [
        ("build many -o out.yaml", "out.yaml: the file would exceed the size limit of the process"),
        ("build many >printed.yaml", "cannot write to standard output: File too large"),
    ] {
        let output = limited(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains(message), "{line}: {stderr}");
    }
    let names = fs::read_dir(home.path()).expect("there").map(|entry| entry.expect("one").file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".kubectl-smp-")).collect();
    assert!(left.is_empty() && !home.path().join("out.yaml").exists(), "{left:?}");
}

#[test]
fn unwritable_messages_are_an_error() {
    let home = targets();
    let images = "\
resources: [x.yaml]
images: [{name: nope, newTag: '1'}]
";
    fs::write(home.path().join("a/kustomization.yaml"), images).expect("written");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("there");
    let output = program(home.path(), &["build", "a"]).stderr(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(1), "the warning is lost");
    assert!(!output.stdout.is_empty());
}
