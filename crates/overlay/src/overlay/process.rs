//! Runs other programs with an input, captures their output, and enforces a time limit.
//!
//! Starts every program of a build: git, helm, docker, functions. The caller has to check that the user allowed
//! it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use smp_files::UnnamedFile;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SecretValues;

/// The maximum size of a program's output in bytes. Larger output cannot be manifests.
const MAX_OUTPUT: u64 = 1 << 30;

/// The number of lines of standard error repeated in an error.
const SHOWN_LINES: usize = 30;

/// The result of a program that ended.
#[derive(Debug)]
pub(super) struct Output {
    /// The exit status.
    pub status: ExitStatus,
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: String,
}

impl Output {
    /// Returns the output of a program that succeeded.
    ///
    /// # Errors
    /// The program exited with a status other than 0. The error contains its messages.
    pub(super) fn into_stdout(self, what: &str) -> Result<Vec<u8>> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(self.failure_error(what))
    }

    /// In the messages of the program, masks the secrets that were passed to it. Keeps only the lines that are ever
    /// shown.
    #[must_use]
    pub(super) fn mask_secrets(mut self, held: &SecretValues) -> Self {
        let shown: Vec<&str> = last_lines(&self.stderr).collect();
        self.stderr = held.mask(&shown.join("\n")).into_owned();
        self
    }

    /// Returns the error for a failed program.
    pub(super) fn failure_error(&self, what: &str) -> Diagnostic {
        let mut error = Diagnostic::error(Code::Command, format!("{what} failed: {}", self.status));
        for line in last_lines(&self.stderr) {
            error = error.note(line);
        }
        error
    }
}

/// Returns the last lines of a program's messages, which nearly always contain the reason of a failure.
pub(super) fn last_lines(messages: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = messages.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    lines.into_iter().skip(skipped)
}

/// Runs a program until it exits.
///
/// Input and output go through unnamed temporary files, so neither side ever waits for the other. `what` names
/// the program in messages. Without `limit` the program may run forever.
///
/// # Errors
/// The program cannot be started, exceeds the limit, or prints too much. An exit status other than 0 is not an
/// error here.
pub(super) fn run(
    command: &mut Command,
    what: &str,
    input: &[u8],
    limit: Option<Duration>,
) -> Result<Output> {
    let broken = |error: &io::Error| {
        Diagnostic::error(Code::Io, format!("{what}: cannot create a temporary file: {error}"))
    };
    let stream = |file: &UnnamedFile| file.stream().map_err(|e| broken(&e));
    let stdin = if input.is_empty() {
        Stdio::null()
    } else {
        stream(&UnnamedFile::with_content(input).map_err(|e| broken(&e))?)?
    };
    let output = UnnamedFile::new().map_err(|e| broken(&e))?;
    let messages = UnnamedFile::new().map_err(|e| broken(&e))?;
    command.stdin(stdin).stdout(stream(&output)?).stderr(stream(&messages)?);
    let mut child = command.spawn().map_err(|error| cannot_run(command, what, &error))?;
    let status = wait(&mut child, what, limit)?;
    Ok(Output {
        status,
        stdout: contents(output, what)?,
        stderr: String::from_utf8_lossy(&contents(messages, what)?).into_owned(),
    })
}

fn cannot_run(command: &Command, what: &str, error: &io::Error) -> Diagnostic {
    let program = Path::new(command.get_program()).display();
    let (code, why) = match error.kind() {
        io::ErrorKind::NotFound => (Code::CommandNotFound, "program not found".to_string()),
        io::ErrorKind::PermissionDenied => (Code::Command, "it is not executable".to_string()),
        _ => (Code::Command, error.to_string()),
    };
    Diagnostic::error(code, format!("{what}: cannot run `{program}`: {why}"))
}

fn contents(file: UnnamedFile, what: &str) -> Result<Vec<u8>> {
    let failed =
        |error: io::Error| Diagnostic::error(Code::Io, format!("{what}: cannot read its output: {error}"));
    if file.size().map_err(failed)? > MAX_OUTPUT {
        let message = format!("{what} printed more than {MAX_OUTPUT} bytes");
        return Err(Diagnostic::error(Code::LimitExceeded, message));
    }
    file.into_content().map_err(failed)
}

/// Waits until the program exits, but not longer than `limit`.
fn wait(child: &mut Child, what: &str, limit: Option<Duration>) -> Result<ExitStatus> {
    let failed = |error: io::Error| {
        Diagnostic::error(Code::Command, format!("{what}: cannot wait for the process: {error}"))
    };
    let Some(limit) = limit else { return child.wait().map_err(failed) };
    let start = Instant::now();
    // The standard library cannot wait with a timeout, so this polls. Most programs here take tens of
    // milliseconds.
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        let Some(left) = limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else {
            // The process may have just exited on its own, so errors do not matter.
            let _ = child.kill();
            let _ = child.wait();
            return Err(timed_out(what, limit));
        };
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn timed_out(what: &str, limit: Duration) -> Diagnostic {
    Diagnostic::error(Code::CommandTimeout, format!("{what} timed out after {limit:?}"))
}

#[cfg(all(test, unix))]
pub(super) mod testing {
    use std::path::PathBuf;

    use super::*;

    /// Creates an executable script. Another process has to write it: a file that this process has open for writing
    /// while another thread starts a program could not be executed.
    pub(crate) fn script(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        let mut command = Command::new("sh");
        command.args(["-c", r#"cat > "$0" && chmod +x "$0""#]).arg(&path);
        let text = format!("#!/bin/sh\n{text}\n");
        let ended = run(&mut command, "sh", text.as_bytes(), None).expect("sh");
        assert!(ended.status.success(), "{}", ended.stderr);
        path
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn input_output_and_messages_are_passed() {
        // More than a pipe holds, in both directions.
        let input = "a line of text\n".repeat(100_000);
        let ended = run(&mut sh("cat; echo done >&2"), "cat", input.as_bytes(), None).expect("it runs");
        assert_eq!(ended.stdout, input.as_bytes());
        assert_eq!(ended.stderr, "done\n");
        assert!(run(&mut sh("cat"), "cat", b"", None).expect("it runs").stdout.is_empty());
    }

    #[test]
    fn failure_includes_the_messages_of_the_program() {
        let ended = run(&mut sh("seq 100 >&2; exit 3"), "the step", b"", None).expect("it runs");
        let error = ended.into_stdout("the step").expect_err("status 3");
        assert_eq!(error.code(), Code::Command);
        assert!(error.message().starts_with("the step failed: ") && error.message().contains('3'), "{error}");
        assert_eq!(error.notes().len(), SHOWN_LINES);
        assert_eq!(error.notes().last().map(String::as_str), Some("100"));
    }

    #[test]
    fn program_that_exceeds_the_limit_is_killed() {
        let start = Instant::now();
        let mut command = Command::new("sleep");
        let error =
            run(command.arg("60"), "sleep", b"", Some(Duration::from_millis(50))).expect_err("stopped");
        assert_eq!(error.message(), "sleep timed out after 50ms");
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(run(&mut sh("exit 0"), "sh", b"", Some(Duration::from_secs(60))).is_ok());
    }

    #[test]
    fn missing_program_is_reported() {
        let mut command = Command::new("/nonexistent/program");
        let error = run(&mut command, "the step", b"", None).expect_err("not there");
        assert_eq!(error.message(), "the step: cannot run `/nonexistent/program`: program not found");
    }
}
