//! The speed of readers of YAML, for the YAML files of directories:
//!
//!     cargo run --release --manifest-path benches/readers/Cargo.toml -- DIRECTORY...
//!
//! All readers run in turn, on one thread and with one allocator, and read the same texts from memory: the files that none
//! of them rejects. Prints medians.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use saphyr::LoadableYamlNode;
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{ParseOptions, parse_documents};
use walkdir::WalkDir;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of times that all files are read.
const ROUNDS: usize = 21;

/// Reads a text. Returns false to reject it.
type Read = fn(&str) -> bool;

const READERS: &[(&str, Read)] = &[
    ("kubectl-smp: tree with locations and comments", read_here),
    ("libyaml: events", read_libyaml),
    #[cfg(rapidyaml)]
    ("rapidyaml: tree", read_rapidyaml),
    ("rlsp-yaml-parser: tree with locations and comments", read_rlsp),
    ("saphyr: tree", read_saphyr),
];

unsafe extern "C" {
    fn libyaml_events(text: *const u8, length: usize) -> usize;
    #[cfg(rapidyaml)]
    fn rapidyaml_prepare();
    #[cfg(rapidyaml)]
    fn rapidyaml_nodes(text: *const u8, length: usize) -> usize;
}

fn read_here(text: &str) -> bool {
    let sources = SourceMap::default();
    let id = sources.add("file.yaml", text);
    let options = ParseOptions::default().reading(Reading::Kustomize).with_comments();
    black_box(parse_documents(&sources, id, options)).is_ok()
}

fn read_libyaml(text: &str) -> bool {
    // SAFETY: the function only reads the text.
    (unsafe { libyaml_events(text.as_ptr(), text.len()) }) > 0
}

#[cfg(rapidyaml)]
fn read_rapidyaml(text: &str) -> bool {
    // SAFETY: the function only reads the text.
    (unsafe { rapidyaml_nodes(text.as_ptr(), text.len()) }) > 0
}

fn read_rlsp(text: &str) -> bool {
    black_box(rlsp_yaml_parser::load(text)).is_ok()
}

fn read_saphyr(text: &str) -> bool {
    black_box(saphyr::Yaml::load_from_str(text)).is_ok()
}

fn main() {
    #[cfg(rapidyaml)]
    // SAFETY: there is only this thread.
    unsafe {
        rapidyaml_prepare();
    }
    let all: Vec<String> =
        std::env::args_os().skip(1).flat_map(|directory| texts(Path::new(&directory))).collect();
    for (name, read) in READERS {
        println!("{name}: {} files rejected", all.iter().filter(|text| !read(text)).count());
    }
    let mut read_by_all = all.clone();
    read_by_all.retain(|text| READERS.iter().all(|(_, read)| read(text)));
    let bytes: usize = read_by_all.iter().map(String::len).sum();
    println!("{} of {} files, {bytes} bytes", read_by_all.len(), all.len());
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); READERS.len()];
    for _ in 0..ROUNDS {
        for ((_, read), seconds) in READERS.iter().zip(&mut rounds) {
            let start = Instant::now();
            read_by_all.iter().for_each(|text| assert!(read(text), "read before"));
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    let medians: Vec<f64> = rounds.iter_mut().map(|seconds| median(seconds)).collect();
    for ((name, _), seconds) in READERS.iter().zip(&medians) {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let speed = bytes as f64 / seconds / 1e6;
        println!("{name}: {speed:.1} MB/s, {:.2} times as long", seconds / medians[0]);
    }
}

/// Returns the YAML files of a directory.
fn texts(directory: &Path) -> Vec<String> {
    let files = WalkDir::new(directory).sort_by_file_name().into_iter().filter_map(Result::ok);
    let is_yaml = |path: &Path| path.extension().is_some_and(|e| e == "yaml" || e == "yml");
    files
        .filter(|file| file.file_type().is_file() && is_yaml(file.path()))
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect()
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
