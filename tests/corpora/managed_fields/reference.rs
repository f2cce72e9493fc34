//! The reference in a child process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kubectl_smp_testing::requirements::required_env;
use serde_json::{Value, json};

use super::outcome::Outcome;
use super::sequence::Step;

pub struct Reference {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Reference {
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

    /// The outcomes of requests that are given in the form of the reference.
    pub fn run(&mut self, steps: &[Value]) -> Vec<Outcome> {
        let answer = self.solve(&json!({"operation": "manage", "steps": steps}));
        let outcomes = answer["result"].as_array().unwrap_or_else(|| panic!("no result: {answer}"));
        outcomes.iter().map(Outcome::of_reference).collect()
    }

    /// The answer to one case.
    pub fn solve(&mut self, case: &Value) -> Value {
        let input = self.input.as_mut().expect("still open");
        writeln!(input, "{case}").and_then(|()| input.flush()).expect("the oracle reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The nanoseconds that the steps of a sequence take if they are run as often as given.
    pub fn measure(&mut self, steps: &[Step], count: usize) -> u64 {
        let steps: Vec<Value> = steps.iter().map(Step::request).collect();
        let answer = self.solve(&json!({"operation": "measure-managed", "steps": steps, "count": count}));
        answer["result"].as_u64().unwrap_or_else(|| panic!("no result: {answer}"))
    }

    /// The outcomes of the steps of some sequences, in order.
    pub fn ask(&mut self, sequences: &[&[Step]]) -> Vec<Vec<Outcome>> {
        let input = self.input.as_mut().expect("still open");
        let output = &mut self.output;
        std::thread::scope(|scope| {
            // Pipes are small: results are read while requests are still being written.
            let reader = scope.spawn(|| {
                let mut lines = output.lines();
                let read = |_: &&[Step]| read(&lines.next().expect("an answer to each").expect("readable"));
                sequences.iter().map(read).collect()
            });
            for steps in sequences {
                let steps: Vec<Value> = steps.iter().map(Step::request).collect();
                writeln!(input, "{}", json!({"operation": "manage", "steps": steps}))
                    .expect("the oracle reads");
            }
            input.flush().expect("the oracle reads");
            reader.join().expect("readable answers")
        })
    }
}

fn read(line: &str) -> Vec<Outcome> {
    let answer: Value = serde_json::from_str(line).expect("JSON");
    let outcomes = answer["result"].as_array().unwrap_or_else(|| panic!("no result: {line}"));
    outcomes.iter().map(Outcome::of_reference).collect()
}

impl Drop for Reference {
    /// The process ends at the end of its input.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.process.wait();
    }
}
