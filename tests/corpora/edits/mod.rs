//! Random edits of real kustomizations, compared with `kustomize edit`: success, the data of the result, the output of
//! both results, and the comments.
//!
//! `SMP_TEST_EDITS` is the number of edits (300), `SMP_TEST_EDITS_SEED` the first seed of other ones.

#![allow(clippy::print_stderr, reason = "tests say how much they compared")]

mod data;
mod fix;
mod random;
#[cfg(unix)]
mod recorded;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubectl_smp_testing::corpus::kustomizations;
use kubectl_smp_testing::dice::Dice;
use kubectl_smp_testing::requirements::required_env;
use kubectl_smp_testing::seeds;
use rayon::prelude::*;
use walkdir::WalkDir;

use self::data::{comments, data, text_of};
use self::random::random_edit;

/// A copy of a repository, and the directories of its kustomizations.
struct Repository {
    top: PathBuf,
    directories: Vec<PathBuf>,
}

/// The result of an edit.
struct Edited {
    output: Output,
    /// The kustomization file, if the edit succeeded.
    text: Option<String>,
}

/// Runs an edit in a directory, and restores all files that it changed.
fn edited(program: &[&str], directory: &Path, words: &[String], file: &Path, text: &str) -> Edited {
    let output = Command::new(program[0])
        .args(&program[1..])
        .arg("edit")
        .args(words)
        .current_dir(directory)
        // Nothing is fetched.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .output()
        .expect("the program runs");
    let after = fs::read_to_string(file).expect("a kustomization");
    fs::write(file, text).expect("restored");
    Edited { text: output.status.success().then_some(after), output }
}

/// Builds a kustomization with another text.
fn built(directory: &Path, file: &Path, text: &str, before: &str) -> Option<Vec<u8>> {
    fs::write(file, text).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"))
        .args(["build", "--dialect", "kustomize", "--offline", "--load-restrictor", "LoadRestrictionsNone"])
        .arg(directory)
        .output()
        .expect("the program runs");
    fs::write(file, before).expect("restored");
    output.status.success().then_some(output.stdout)
}

/// Compares an edit by both programs. Returns whether it succeeded.
fn compare(kustomize: &str, directory: &Path, words: &[String]) -> Result<bool, String> {
    let file = ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .iter()
        .map(|name| directory.join(name))
        .find(|path| path.is_file())
        .ok_or("no kustomization")?;
    let Ok(text) = fs::read_to_string(&file) else { return Ok(false) };
    let theirs = edited(&[kustomize], directory, words, &file, &text);
    let ours = edited(&[env!("CARGO_BIN_EXE_kubectl-smp"), "kustomize"], directory, words, &file, &text);
    let stderr = |edited: &Edited| String::from_utf8_lossy(&edited.output.stderr).into_owned();
    let (Some(their_text), Some(our_text)) = (&theirs.text, &ours.text) else {
        let same = theirs.text.is_some() == ours.text.is_some();
        return if same {
            Ok(false)
        } else {
            Err(format!("only one fails\nkustomize: {}\nours: {}\n{text}", stderr(&theirs), stderr(&ours)))
        };
    };
    let shown = || format!("--- before\n{text}\n--- kustomize\n{their_text}\n--- ours\n{our_text}");
    if data(their_text)? != data(our_text)? {
        return Err(format!("other data\n{}", shown()));
    }
    if words[0] != "remove" {
        let kept = comments(our_text);
        if let Some(lost) = comments(&text).iter().find(|comment| !kept.contains(comment)) {
            return Err(format!("lost comment {lost}\n{}", shown()));
        }
    }
    // A generator that reads the kustomization itself has other data: the two texts differ in their layout.
    let reads_itself = our_text.contains("- kustomization.y");
    if our_text != their_text && !reads_itself {
        let [ours, theirs] = [our_text, their_text].map(|edited| built(directory, &file, edited, &text));
        // kustomize removes empty lists. If there is nothing else, its result is empty and cannot be built.
        let is_emptied = theirs.is_none() && ours.is_some() && ours == built(directory, &file, &text, &text);
        if ours != theirs && !is_emptied {
            return Err(format!("other output\n{}", shown()));
        }
    }
    Ok(true)
}

fn copy(from: &Path, to: &Path) {
    for entry in WalkDir::new(from).into_iter().filter_map(Result::ok) {
        let path = to.join(entry.path().strip_prefix(from).expect("below"));
        if entry.file_type().is_dir() {
            fs::create_dir_all(path).expect("made");
        } else if entry.path().is_file() {
            // The copy is writable, even if the file is not.
            fs::write(path, fs::read(entry.path()).expect("readable")).expect("copied");
        }
    }
}

/// Copies all repositories.
fn repositories(corpus: &Path, to: &Path) -> Vec<Repository> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(corpus).expect("repositories").filter_map(|entry| Some(entry.ok()?.path())).collect();
    all.sort();
    let copies = all.par_iter().filter_map(|repository| {
        let copied = to.join(repository.file_name()?);
        copy(repository, &copied);
        let mut directories = Vec::new();
        kustomizations(&copied, &mut directories);
        (!directories.is_empty()).then_some(Repository { top: copied, directories })
    });
    copies.collect()
}

#[test]
#[ignore = "needs kustomize and SMP_TEST_REALWORLD, see .ci/tools"]
fn real_kustomizations_are_edited_like_kustomize() {
    let kustomize = required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    let corpus = required_env("SMP_TEST_REALWORLD", "kustomize");
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let all = repositories(Path::new(&corpus), scratch.path());
    let total: usize = all.iter().map(|repository| repository.directories.len()).sum();
    // The edits of one repository run one after the other, since they change its files.
    let mut by_repository: BTreeMap<usize, Vec<(u64, &Path)>> = BTreeMap::new();
    for seed in seeds::seeds("SMP_TEST_EDITS", 300) {
        let mut i = Dice::new(seed).below(total);
        let found = all.iter().position(|repository| {
            let is_here = i < repository.directories.len();
            i -= if is_here { 0 } else { repository.directories.len() };
            is_here
        });
        let repository = found.expect("one of all");
        by_repository.entry(repository).or_default().push((seed, &all[repository].directories[i]));
    }
    let results: Vec<Result<bool, String>> = by_repository
        .into_par_iter()
        .flat_map_iter(|(_, cases)| cases)
        .map(|(seed, directory)| {
            let mut dice = Dice::new(seed ^ 0x5eed);
            let words = random_edit(directory, text_of(directory).as_deref(), &mut dice);
            compare(&kustomize, directory, &words).map_err(|difference| {
                format!("seed {seed} in {}: edit {words:?}: {difference}", directory.display())
            })
        })
        .collect();
    let failures: Vec<&str> = results.iter().filter_map(|r| r.as_ref().err()).map(String::as_str).collect();
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n\n")
    );
    let succeeded = results.iter().filter(|r| **r == Ok(true)).count();
    eprintln!("{succeeded} of {} edits succeeded", results.len());
    assert!(results.len() < 100 || succeeded * 100 >= results.len() * 60, "too few edits succeed");
}
