//! Parses files with their comments several times. The instructions of `rounds` 3 less those of 1 are those of two
//! rounds, without the start of the program:
//!
//! ```console
//! $ cargo build --profile dist -p kubectl-smp-text --example read_files
//! $ valgrind --tool=callgrind target/dist/examples/read_files 3 deployment.yaml service.yaml
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::time::Instant;

use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_documents};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds: u32 = arguments.next().unwrap_or_default().parse()?;
    let sources = SourceMap::default();
    let (mut ids, mut bytes) = (Vec::new(), 0);
    for path in arguments {
        let text = std::fs::read_to_string(&path)?;
        bytes += text.len();
        ids.push(sources.add(path, text));
    }
    let (start, mut documents) = (Instant::now(), 0);
    for id in (0..rounds).flat_map(|_| &ids) {
        let parsed = parse_documents(&sources, *id, ParseOptions::default().with_comments());
        documents += parsed.map_or(0, |parsed| parsed.len());
    }
    println!("{rounds} rounds of {bytes} bytes, {documents} documents, {:?}", start.elapsed());
    Ok(())
}
