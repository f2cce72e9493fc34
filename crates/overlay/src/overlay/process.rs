//! Running other programs: their input, their output, their time.
//!
//! Every program that a build runs (git, helm, docker, functions) is started here. Who calls this
//! has checked that the user allowed it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::resource::HeldSecrets;
use smp_files::UnnamedFile;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// How much a program may print. What is more is no manifest.
const MAX_OUTPUT: u64 = 1 << 30;

/// How many lines of a program's messages an error repeats.
const SHOWN_LINES: usize = 30;

/// What a program left behind.
#[derive(Debug)]
pub(super) struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub messages: String,
}

impl Ended {
    /// The output of a program that succeeded; an error with its messages otherwise.
    ///
    /// # Errors
    /// The program ended with a status other than 0.
    pub(super) fn success(self, what: &str) -> Result<Vec<u8>> {
        if self.status.success() {
            return Ok(self.output);
        }
        Err(self.failure(what))
    }

    /// The same, with what a program may have repeated of the secrets that it was given masked. Of its messages only
    /// what is ever shown is kept.
    #[must_use]
    pub(super) fn without(mut self, held: &HeldSecrets) -> Self {
        let shown: Vec<&str> = last_lines(&self.messages).collect();
        self.messages = held.hidden_in(&shown.join("\n"));
        self
    }

    /// The error that says that the program failed.
    pub(super) fn failure(&self, what: &str) -> Diagnostic {
        let mut error = Diagnostic::error(Code::Command, format!("{what} failed: {}", self.status));
        for line in last_lines(&self.messages) {
            error = error.note(line);
        }
        error
    }
}

/// The last lines of a program's messages: the reason nearly always stands there.
pub(super) fn last_lines(messages: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = messages.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    lines.into_iter().skip(skipped)
}

/// Runs a program to its end.
///
/// Input and output go through unnamed temporary files, so neither side ever waits for the other.
/// `what` names the program in messages. Without `limit` it may take as long as it likes.
///
/// # Errors
/// It cannot be started, takes too long, or prints too much. A status other than 0 is no error yet.
pub(super) fn run(command: &mut Command, what: &str, input: &[u8], limit: Option<Duration>) -> Result<Ended> {
    let broken =
        |error: &io::Error| Diagnostic::error(Code::Io, format!("{what}: no temporary file: {error}"));
    let stream = |file: &UnnamedFile| file.stream().map_err(|e| broken(&e));
    let stdin = if input.is_empty() {
        Stdio::null()
    } else {
        stream(&UnnamedFile::with(input).map_err(|e| broken(&e))?)?
    };
    let output = UnnamedFile::new().map_err(|e| broken(&e))?;
    let messages = UnnamedFile::new().map_err(|e| broken(&e))?;
    command.stdin(stdin).stdout(stream(&output)?).stderr(stream(&messages)?);
    let mut child = command.spawn().map_err(|error| cannot_run(command, what, &error))?;
    let status = wait(&mut child, what, limit)?;
    Ok(Ended {
        status,
        output: contents(output, what)?,
        messages: String::from_utf8_lossy(&contents(messages, what)?).into_owned(),
    })
}

fn cannot_run(command: &Command, what: &str, error: &io::Error) -> Diagnostic {
    let program = Path::new(command.get_program()).display();
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such program".to_string(),
        io::ErrorKind::PermissionDenied => "it is not executable".to_string(),
        _ => error.to_string(),
    };
    Diagnostic::error(Code::Command, format!("{what}: `{program}` cannot be run: {why}"))
}

fn contents(file: UnnamedFile, what: &str) -> Result<Vec<u8>> {
    let failed =
        |error: io::Error| Diagnostic::error(Code::Io, format!("{what}: its output is lost: {error}"));
    if file.size().map_err(failed)? > MAX_OUTPUT {
        let message = format!("{what} printed more than {MAX_OUTPUT} bytes");
        return Err(Diagnostic::error(Code::LimitExceeded, message));
    }
    file.into_content().map_err(failed)
}

/// Waits for the end, at most as long as `limit` says.
fn wait(child: &mut Child, what: &str, limit: Option<Duration>) -> Result<ExitStatus> {
    let lost = |error: io::Error| Diagnostic::error(Code::Command, format!("{what}: it got lost: {error}"));
    let Some(limit) = limit else { return child.wait().map_err(lost) };
    let start = Instant::now();
    // The standard library cannot wait for an end and a time at once; most programs here take
    // tens of milliseconds.
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(lost)? {
            return Ok(status);
        }
        let Some(left) = limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else {
            // It may just have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return Err(timed_out(what, limit));
        };
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn timed_out(what: &str, limit: Duration) -> Diagnostic {
    Diagnostic::error(Code::Command, format!("{what} did not end within {limit:?}"))
}

#[cfg(all(test, unix))]
pub(super) mod testing {
    use std::path::PathBuf;

    use super::*;

    /// Makes an executable script. Another process writes it: a file that this one has open for
    /// writing while another thread starts a program cannot be run.
    pub(crate) fn script(directory: &Path, name: &str, text: &str) -> PathBuf {
        let path = directory.join(name);
        let mut command = Command::new("sh");
        command.args(["-c", r#"cat > "$0" && chmod +x "$0""#]).arg(&path);
        let text = format!("#!/bin/sh\n{text}\n");
        let ended = run(&mut command, "sh", text.as_bytes(), None).expect("sh");
        assert!(ended.status.success(), "{}", ended.messages);
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
        assert_eq!(ended.output, input.as_bytes());
        assert_eq!(ended.messages, "done\n");
        assert!(run(&mut sh("cat"), "cat", b"", None).expect("it runs").output.is_empty());
    }

    #[test]
    fn failures_repeat_the_messages() {
        let ended = run(&mut sh("seq 100 >&2; exit 3"), "the step", b"", None).expect("it runs");
        let error = ended.success("the step").expect_err("status 3");
        assert_eq!(error.code(), Code::Command);
        assert!(error.message().starts_with("the step failed: ") && error.message().contains('3'), "{error}");
        assert_eq!(error.notes().len(), SHOWN_LINES);
        assert_eq!(error.notes().last().map(String::as_str), Some("100"));
    }

    #[test]
    fn what_takes_too_long_is_stopped() {
        let start = Instant::now();
        let mut command = Command::new("sleep");
        let error =
            run(command.arg("60"), "sleep", b"", Some(Duration::from_millis(50))).expect_err("stopped");
        assert_eq!(error.message(), "sleep did not end within 50ms");
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(run(&mut sh("exit 0"), "sh", b"", Some(Duration::from_secs(60))).is_ok());
    }

    #[test]
    fn what_is_not_there_is_said() {
        let mut command = Command::new("/nonexistent/program");
        let error = run(&mut command, "the step", b"", None).expect_err("not there");
        assert_eq!(
            error.message(),
            "the step: `/nonexistent/program` cannot be run: there is no such program"
        );
    }
}
