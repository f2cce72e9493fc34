//! Programs that run until they are stopped.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use kubectl_smp_testing::program;

/// The longest time to wait for a line. The tests wait for lines, never for a time.
const LONGEST: Duration = Duration::from_secs(120);

/// A running program, which is stopped when it is dropped.
pub struct Running {
    child: Child,
    /// The lines of standard output and standard error.
    lines: Receiver<String>,
}

impl Running {
    /// Starts the program in a directory.
    pub fn start(directory: &Path, args: &[&str]) -> Self {
        Self::spawn(program::command(directory, args))
    }

    /// Starts a command.
    pub fn spawn(mut command: Command) -> Self {
        // One pipe, which keeps the order of output and messages.
        let (reader, writer) = io::pipe().expect("a pipe");
        command.stdout(writer.try_clone().expect("a pipe")).stderr(writer);
        let child = command.spawn().expect("starts");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// Returns the number of the process.
    #[cfg(all(target_os = "linux", feature = "preview"))]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the next lines up to one that contains a text, which is the last of them.
    pub fn lines_until(&self, text: &str) -> Vec<String> {
        let (end, mut lines) = (Instant::now() + LONGEST, Vec::new());
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(rest).unwrap_or_else(|_| panic!("no `{text}` after {lines:#?}"));
            let is_last = line.contains(text);
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    /// Returns the next line that contains a text.
    pub fn line_with(&self, text: &str) -> String {
        self.lines_until(text).pop().expect("a line")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
