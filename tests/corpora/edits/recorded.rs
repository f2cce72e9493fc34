//! Recorded edits: the files in `tests/cases/edit`, with the results of kustomize.
//!
//! A block has a title (`#`), the files (`|`: the kustomization, then the others after lines with their paths), and
//! command lines (`$`), each with its result: the kustomization and further changed files (`>`), `=` if no file
//! changes, or `!` if the command fails.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubectl_smp_testing::program::temp_dir_from_text;
use kubectl_smp_testing::requirements::required_env;
use rayon::prelude::*;
use walkdir::WalkDir;

use super::data::{comments, data};

const FILE: &str = "kustomization.yaml";

/// Files by their paths.
type Files = BTreeMap<String, String>;

/// A command line and its recorded result.
#[derive(Debug, Clone)]
struct Case {
    files: String,
    command: String,
    result: String,
}

fn cases_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/edit")
}

/// Returns the paths of the files with cases.
fn case_files() -> Vec<PathBuf> {
    let entries = fs::read_dir(cases_directory()).expect("cases");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Parses the blocks of a file.
fn cases(text: &str) -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    for block in text.split("\n\n") {
        let marked =
            |mark: &str| block.lines().filter_map(|line| line.strip_prefix(mark)).collect::<Vec<_>>();
        let mut files: String = marked("|")
            .iter()
            .map(|line| line.strip_prefix(' ').unwrap_or(line).to_string() + "\n")
            .collect();
        if !files.starts_with("-- ") {
            files.insert_str(0, &format!("-- {FILE} --\n"));
        }
        for line in block.lines() {
            let Some((mark, rest)) = line.split_at_checked(1) else { continue };
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            match (mark, all.last_mut()) {
                ("$", _) => {
                    let (files, command) = (files.clone(), rest.to_string());
                    all.push(Case { files, command, result: String::new() });
                }
                (">", Some(case)) => case.result.extend([rest, "\n"]),
                ("=" | "!", Some(case)) => case.result = mark.to_string(),
                _ => {}
            }
        }
    }
    all
}

/// Splits a command line at blanks. Quotes keep them, and within quotes `\n` is a line break.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in command.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words.into_iter().map(|word| word.replace("\\n", "\n")).collect()
}

fn files_of(directory: &Path) -> Files {
    let entries = WalkDir::new(directory).into_iter().map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().is_file());
    let read = |path: &Path| {
        let relative = path.strip_prefix(directory).expect("below").display().to_string();
        (relative, fs::read_to_string(path).expect("text"))
    };
    files.map(|entry| read(entry.path())).collect()
}

/// Runs a command on files. Returns all files if it succeeds.
fn run(program: &[&str], files: &str, words: &[String]) -> Option<(Files, Files)> {
    let directory = temp_dir_from_text(files);
    let before = files_of(directory.path());
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(words).current_dir(directory.path());
    let output = command.env("GIT_ALLOW_PROTOCOL", "none").output().expect("the program runs");
    output.status.success().then(|| (before, files_of(directory.path())))
}

/// Formats the result of a command as it is recorded.
fn recorded(result: Option<(Files, Files)>) -> String {
    let Some((before, mut after)) = result else { return "!".into() };
    after.retain(|path, text| before.get(path) != Some(text));
    let own = after.remove(FILE);
    if own.is_none() && after.is_empty() {
        return "=".into();
    }
    let others = after.iter().map(|(path, text)| format!("-- {path} --\n{text}"));
    own.unwrap_or_default() + &others.collect::<String>()
}

/// Splits a recorded result into the kustomization and the rest.
fn split(result: &str) -> (&str, &str) {
    result
        .find("-- ")
        .filter(|at| *at == 0 || result[..*at].ends_with('\n'))
        .map_or((result, ""), |at| result.split_at(at))
}

/// Compares the result of a case with ours.
fn compare(case: &Case, ours: &[&str]) -> Result<(), String> {
    let words = words(&case.command);
    let result = run(ours, &case.files, &words);
    let before = result.as_ref().and_then(|(before, _)| before.get(FILE)).cloned().unwrap_or_default();
    let got = recorded(result);
    let shown = |why: &str| {
        Err(format!("{why}: {}\n{}--- kustomize\n{}--- ours\n{got}", case.command, case.files, case.result))
    };
    let marks = ["!", "="];
    // A file that is written as it was, is unchanged for us.
    let is_same_data = |a: &str, b: &str| Ok::<_, String>(data(a)? == data(b)?);
    if marks.contains(&case.result.as_str()) || marks.contains(&got.as_str()) {
        let is_unchanged = got == "=" && case.result != "!" && is_same_data(&before, split(&case.result).0)?;
        return if got == case.result || is_unchanged { Ok(()) } else { shown("other status") };
    }
    let ((want, want_others), (got_own, got_others)) = (split(&case.result), split(&got));
    if !is_same_data(want, got_own)? {
        return shown("other data");
    }
    if want_others != got_others {
        return shown("other files");
    }
    let kept = comments(got_own);
    match comments(&before)
        .into_iter()
        .find(|comment| !kept.contains(comment) && words.get(1).is_none_or(|word| word != "remove"))
    {
        // It belonged to a value that the edit removes.
        Some(lost) if lost.contains("gone") => Ok(()),
        Some(lost) => shown(&format!("lost comment {lost}")),
        None => Ok(()),
    }
}

/// Checks that a field that kustomize does not know stays where it is.
fn keep_unknown_field(case: &Case) -> Result<(), String> {
    const FIELD: &str = "x-unknown: {a: b} # ours\n";
    if ["!", "="].contains(&case.result.as_str()) || !case.files.starts_with(&format!("-- {FILE} --\n")) {
        return Ok(());
    }
    let own = case.files.replacen(&format!("-- {FILE} --\n"), &format!("-- {FILE} --\n{FIELD}"), 1);
    let words = words(&case.command);
    match run(&[env!("CARGO_BIN_EXE_kubectl-smp")], &own, &words) {
        Some((_, after)) if after[FILE].contains(FIELD) => Ok(()),
        other => Err(format!("{}: {other:?}", case.command)),
    }
}

#[test]
fn recorded_edits_have_the_results_of_kustomize() {
    let links = tempfile::tempdir().expect("a directory");
    let link = links.path().join("kustomize").display().to_string();
    symlink(env!("CARGO_BIN_EXE_kubectl-smp"), &link).expect("a link");
    let all: Vec<Case> =
        case_files().iter().flat_map(|path| cases(&fs::read_to_string(path).expect("text"))).collect();
    assert!(all.len() > 500, "{}", all.len());
    assert!(all.iter().all(|case| !case.result.is_empty()), "record them with SMP_WRITE_CASES=1");
    let failures: Vec<String> = all.par_iter().filter_map(|case| compare(case, &[&link]).err()).collect();
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), all.len(), failures.join("\n\n"));
}

#[test]
fn unknown_fields_stay_with_every_recorded_edit() {
    let texts: Vec<String> =
        case_files().iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    // Without compatibility, the defaults of `edit` apply: arguments that kustomize ignores are rejected, and entries
    // of the kustomization that kustomize drops are kept.
    let all = texts.iter().flat_map(|text| cases(text)).filter(|case| case.command.starts_with("edit set"));
    let failures: Vec<String> =
        all.collect::<Vec<_>>().par_iter().filter_map(|case| keep_unknown_field(case).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn recorded_edits_are_those_of_kustomize() {
    let kustomize = required_env("SMP_TEST_KUSTOMIZE", "kustomize");
    let writes = std::env::var_os("SMP_WRITE_CASES").is_some();
    for path in case_files() {
        let text = fs::read_to_string(&path).expect("text");
        let results: Vec<(Case, String)> = cases(&text)
            .into_par_iter()
            .map(|case| {
                let result = recorded(run(&[&kustomize], &case.files, &words(&case.command)));
                (case, result)
            })
            .collect();
        if writes {
            fs::write(&path, written(&text, results.into_iter().map(|(_, result)| result))).expect("written");
            continue;
        }
        for (case, result) in results {
            let (own, others) = split(&result);
            let (want, want_others) = split(&case.result);
            assert_eq!(own == "!", want == "!", "{}", case.command);
            assert_eq!((data(own), others), (data(want), want_others), "{}", case.command);
        }
    }
}

/// Returns the text of a file with other results.
fn written(text: &str, mut results: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.starts_with(['>', '=', '!'])) {
        out.extend([line, "\n"]);
        if line.starts_with('$') {
            let result = results.next().expect("a result");
            if ["=", "!"].contains(&result.as_str()) {
                out.extend([result.as_str(), "\n"]);
            } else {
                out.extend(result.lines().map(|line| format!("> {line}").trim_end().to_string() + "\n"));
            }
        }
    }
    out
}
