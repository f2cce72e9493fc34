//! Tells `kubectl smp version` what the program was built from and for.
//!
//! Debug builds do not ask git: they would be made anew after each commit.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut out = io::stdout();
    writeln!(out, "cargo::rerun-if-changed=build.rs")?;
    writeln!(out, "cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH")?;
    let source = match env::var("PROFILE").as_deref() {
        Ok("release") => source(&mut out)?,
        _ => Source::default(),
    };
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => {
            Some(text.parse().map_err(|_| format!("SOURCE_DATE_EPOCH is {text:?}, no number of seconds"))?)
        }
        Err(_) => source.seconds,
    };
    writeln!(out, "cargo::rustc-env=SMP_BUILD_COMMIT={}", source.commit.unwrap_or_default())?;
    writeln!(
        out,
        "cargo::rustc-env=SMP_BUILD_DATE={}",
        seconds.map(|seconds| seconds.to_string()).unwrap_or_default()
    )?;
    writeln!(out, "cargo::rustc-env=SMP_BUILD_TARGET={}", env::var("TARGET")?)?;
    Ok(())
}

/// The commit that is built, and its time in seconds since 1970.
#[derive(Default)]
struct Source {
    commit: Option<String>,
    seconds: Option<u64>,
}

/// Returns the commit that cargo recorded when it packed this crate, or else the one of git. Other archives have neither.
fn source(out: &mut impl io::Write) -> io::Result<Source> {
    const PACKED: &str = ".cargo_vcs_info.json";
    if Path::new(PACKED).exists() {
        writeln!(out, "cargo::rerun-if-changed={PACKED}")?;
        return Ok(Source { commit: packed_commit(&fs::read_to_string(PACKED)?), seconds: None });
    }
    // Not a repository that this directory merely lies in.
    let is_ours = git(&["rev-parse", "--show-cdup"]).is_some_and(|up| up.is_empty())
        && git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    if !is_ours {
        return Ok(Source::default());
    }
    // Each of them changes with what is checked out. What is not there would be taken for changed each time.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists());
        if let Some(path) = path {
            writeln!(out, "cargo::rerun-if-changed={path}")?;
        }
    }
    let said = git(&["-c", "log.showSignature=false", "log", "-1", "--format=%H %ct"]).unwrap_or_default();
    let Some((commit, seconds)) = said.split_once(' ') else { return Ok(Source::default()) };
    Ok(Source { commit: Some(commit.to_string()), seconds: seconds.parse().ok() })
}

/// The commit in cargo's note, unless files were changed since.
fn packed_commit(note: &str) -> Option<String> {
    let (_, behind) = note.split_once("\"sha1\"")?;
    let commit = behind.split('"').nth(1)?;
    (!note.contains("\"dirty\": true")).then(|| commit.to_string())
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim_end().to_string())
}
