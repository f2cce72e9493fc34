//! The reference implementations, in a child process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kubectl_smp_testing::requirements::required_env;
use serde_json::Value as Json;
use smp_text::diagnostic::Result;

use super::case::{Case, Operation, Outcome};

pub struct Oracle {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// The result of the reference.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Result(Json),
    /// An error or a panic.
    Error(String),
    /// A result that differs from run to run, so no other program could equal it.
    Unstable(String),
}

/// The number of runs of a case that check whether the result is stable. Go starts the iteration of a small map at
/// any of eight positions, so a result may be rare.
const TRIES: usize = 300;

impl Oracle {
    /// Starts the oracle that `SMP_TEST_ORACLE` names.
    pub fn start() -> Self {
        let program = required_env("SMP_TEST_ORACLE", "oracle");
        let mut process = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("SMP_TEST_ORACLE={program}: {error}"));
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, input, output }
    }

    /// The results of some cases, in order.
    pub fn ask(&mut self, cases: &[Case]) -> Vec<Answer> {
        self.ask_repeatedly(cases, 1)
    }

    /// The result of a case, if it is stable.
    pub fn ask_stable(&mut self, case: &Case) -> Answer {
        self.ask_repeatedly(std::slice::from_ref(case), TRIES).remove(0)
    }

    fn ask_repeatedly(&mut self, cases: &[Case], repeat: usize) -> Vec<Answer> {
        let input = self.input.as_mut().expect("still open");
        let output = &mut self.output;
        std::thread::scope(|scope| {
            // Pipes are small: results are read while requests are still being written.
            let reader = scope.spawn(|| {
                let mut lines = output.lines();
                let read = |case: &Case| {
                    let line = lines.next().expect("an answer to each case").expect("readable");
                    Answer::read(&line, case.operation)
                };
                cases.iter().map(read).collect()
            });
            for case in cases {
                writeln!(input, "{}", case.request(repeat)).expect("the oracle reads");
            }
            input.flush().expect("the oracle reads");
            reader.join().expect("readable answers")
        })
    }
}

impl Drop for Oracle {
    /// The process ends at the end of its input.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

impl Answer {
    fn read(line: &str, operation: Operation) -> Self {
        let mut answer: Json = serde_json::from_str(line).expect("an answer in JSON");
        if let Some(result) = answer.get_mut("result") {
            let mut result = result.take();
            if operation == Operation::Apply {
                remove_directives(&mut result);
            }
            return Self::Result(result);
        }
        match answer["error"].as_str().or(answer["panic"].as_str()) {
            Some(error) => Self::Error(error.to_string()),
            None => Self::Unstable(line.to_string()),
        }
    }

    /// Returns true if our result is the same, as far as the reference is stable.
    pub fn agrees(&self, ours: &Result<Json>) -> bool {
        match (self, ours) {
            (Self::Unstable(_), _) | (Self::Error(_), Err(_)) => true,
            // When it checks for conflicts, it takes its own directives for fields of the object. The library
            // reads them as directives.
            (Self::Error(error), Ok(_)) => error.contains("for the json field \"$"),
            (Self::Result(theirs), Ok(ours)) => same(theirs, ours),
            _ => false,
        }
    }

    /// Returns true if the result is the recorded one.
    pub fn is(&self, recorded: &Outcome) -> bool {
        match (self, recorded) {
            (Self::Error(_), Outcome::Error) => true,
            (Self::Result(theirs), Outcome::Data(data)) => same(theirs, data),
            _ => false,
        }
    }
}

/// Removes the directives that apimachinery leaves in values that the original did not have.
fn remove_directives(value: &mut Json) {
    match value {
        Json::Object(map) => {
            map.retain(|name, _| {
                let directive = name.split('/').next().unwrap_or_default();
                !["$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"]
                    .contains(&directive)
            });
            map.values_mut().for_each(remove_directives);
        }
        Json::Array(list) => list.iter_mut().for_each(remove_directives),
        _ => {}
    }
}

/// Compares data. Go writes integral floats without a decimal point.
pub fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}
