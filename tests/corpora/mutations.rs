//! Overlays with a structural change in one file: each builds or is rejected, without a panic and within five
//! seconds.
//!
//! `SMP_TEST_MUTATIONS` sets the number of builds, `SMP_TEST_MUTATIONS_SEED` the first seed. `SMP_TEST_REALWORLD`
//! names a directory with repositories whose overlays are changed, too.

#![allow(clippy::print_stderr, reason = "a test says how much it built")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use kubectl_smp_testing::corpus::{Dice, kustomizations};
use kubectl_smp_testing::overlays;
use smp_files::{DiskTree, FileTree, MemoryTree, RecordingTree};
use smp_overlay::overlay::{BuildOptions, Builder, Built, ChainPurpose, LockSource, Targets};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::source::SourceMap;
use smp_text::yaml::{
    DuplicateKeys, Entry, Map, Node, ParseOptions, Value, parse_documents, to_documents,
    write_documents_in_source_style,
};

/// The maximum time of one build.
const LONGEST: Duration = Duration::from_secs(5);

/// The maximum size of an overlay's files. Larger ones take too long.
const LARGEST: usize = 300_000;

/// An overlay in memory: the directory that is built, and all files that it reads.
struct Overlay {
    target: PathBuf,
    files: Vec<(PathBuf, String)>,
}

impl Overlay {
    /// Reads the files that the build of a directory reads. None if they are not text, or too large.
    fn read(target: &Path) -> Option<Self> {
        let tree = Arc::new(RecordingTree::new(Arc::new(DiskTree)));
        let _ = build(tree.clone(), target);
        let read = tree.read_set().files.into_iter();
        let files: Vec<_> = read
            .map(|path| fs::read_to_string(&path).ok().map(|text| (path, text)))
            .collect::<Option<_>>()?;
        let size: usize = files.iter().map(|(_, text)| text.len()).sum();
        (!files.is_empty() && size <= LARGEST).then(|| Self { target: target.into(), files })
    }

    /// Builds the overlay with one file changed. Returns true if it builds.
    fn build_changed(&self, dice: &mut Dice) -> bool {
        let changed = dice.below(self.files.len());
        let other = &self.files[dice.below(self.files.len())].1;
        let files = self.files.iter().enumerate().map(|(i, (path, text))| {
            let text = if i == changed { mutated(text, other, dice) } else { text.clone() };
            (path.clone(), text)
        });
        let here = self.target.parent().unwrap_or(&self.target);
        let tree = MemoryTree::new(files.collect::<Vec<_>>()).expect("distinct");
        build(Arc::new(tree.with_working_directory(here)), &self.target)
            .is_some_and(|built| to_documents(built.resources.iter().map(Resource::node)).is_ok())
    }
}

fn build(tree: Arc<dyn FileTree>, target: &Path) -> Option<Built> {
    let mut options = BuildOptions::default().tree(tree);
    options.restrict_loads = false;
    options.offline = true;
    options.cache = Some("/nonexistent".into());
    options.lock = LockSource::Ignore;
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Auto,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    Builder::with_chain(SourceMap::default(), options, Box::new(chain), Targets::One).ok()?.build(target).ok()
}

/// Unusual values.
const UNUSUAL_VALUES: [&str; 26] = [
    "",
    "~",
    "null",
    "0",
    "-1",
    "1e400",
    ".inf",
    "99999999999999999999",
    "0x1F",
    "2020-01-01",
    "yes",
    "true",
    "$(A)",
    "$",
    "*",
    "..",
    "../..",
    "/",
    "a/b//c?ref=d",
    "https://example.com/a.yaml",
    "(",
    "a=b",
    "[",
    "\u{feff}",
    "\u{7f}",
    "é\n\t",
];

/// Names with a meaning in some context.
const NAMES: [&str; 34] = [
    "<<",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/args",
    "$patchMergeKey",
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "generateName",
    "items",
    "spec",
    "data",
    "containers",
    "ports",
    "resources",
    "components",
    "patches",
    "patchesJson6902",
    "replacements",
    "vars",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "openapi",
    "crds",
    "target",
    "options",
    "fieldPaths",
];

/// A text with one to three structural changes.
fn mutated(text: &str, other: &str, dice: &mut Dice) -> String {
    let (Some(mut documents), others) = (read(text), read(other).unwrap_or_default()) else {
        return text.to_string();
    };
    for _ in 0..=dice.below(3) {
        if documents.is_empty() {
            documents.push(Node::map(Map::new()));
        }
        let document = dice.below(documents.len());
        let part = others.get(dice.below(others.len())).map_or_else(Node::null, |other| {
            let mut other = other.clone();
            let at = dice.below(count(&other));
            nth(&mut other, at).clone()
        });
        let size = count(&documents[document]);
        let at = dice.below(size);
        mutate(nth(&mut documents[document], at), part, dice);
        if dice.below(20) == 0 {
            documents.push(documents[document].clone());
        }
    }
    write_documents_in_source_style(&documents)
}

fn read(text: &str) -> Option<Vec<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("text", text);
    let options = ParseOptions::default().duplicate_keys(DuplicateKeys::LastWins);
    parse_documents(&sources, id, options).ok()
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::Scalar(_) => 0,
        Value::List(list) => list.iter().map(count).sum(),
        Value::Map(map) => map.iter().map(|(_, value)| count(value)).sum(),
    }
}

/// The node at a position in pre-order.
fn nth(node: &mut Node, at: usize) -> &mut Node {
    if at == 0 {
        return node;
    }
    let mut left = at - 1;
    let Node { value, .. } = node;
    let children: Vec<&mut Node> = match value {
        Value::Scalar(_) => unreachable!("counted"),
        Value::List(list) => list.iter_mut().collect(),
        Value::Map(map) => map.iter_mut().map(|(_, value)| value).collect(),
    };
    for child in children {
        let size = count(child);
        if left < size {
            return nth(child, left);
        }
        left -= size;
    }
    unreachable!("counted")
}

fn mutate(node: &mut Node, part: Node, dice: &mut Dice) {
    match dice.below(11) {
        0 => *node = Node::plain(dice.pick(&UNUSUAL_VALUES)),
        1 => *node = Node::string(dice.pick(&UNUSUAL_VALUES)),
        2 => *node = Node::null(),
        3 => *node = part,
        4 => *node = Node::list(vec![node.clone(), part]),
        5 => *node = Node::map([(dice.pick(&NAMES), node.clone())].into_iter().collect()),
        6 => *node = nested(node, dice.pick(&NAMES), dice.below(300)),
        7 => *node = Node::string("x".repeat(dice.below(100_000))),
        _ => children(node, part, dice),
    }
}

fn nested(node: &Node, name: &str, levels: usize) -> Node {
    (0..levels).fold(node.clone(), |node, i| match i % 2 {
        0 => Node::list(vec![node]),
        _ => Node::map([(name, node)].into_iter().collect()),
    })
}

/// Changes the children of a map or list.
fn children(node: &mut Node, part: Node, dice: &mut Dice) {
    match &mut node.value {
        Value::Scalar(text) => *text = format!("{text}{text}").into(),
        Value::List(list) => {
            let at = dice.below(list.len());
            match dice.below(4) {
                _ if list.is_empty() => list.push(part),
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                2 => list.insert(at, part),
                _ => list.reverse(),
            }
        }
        Value::Map(map) => {
            let at = dice.below(map.len());
            match dice.below(4) {
                _ if map.is_empty() => drop(map.insert(dice.pick(&NAMES), part)),
                0 => drop(map.entries_mut().remove(at)),
                1 => drop(map.insert(dice.pick(&NAMES), part)),
                2 => map.entries_mut()[at].key.text = dice.pick(&NAMES).into(),
                // Duplicate keys.
                _ => {
                    let Entry { key, .. } = map.entries()[at].clone();
                    map.entries_mut().push(Entry { key, value: part });
                }
            }
        }
    }
}

fn corpus(made: &Path) -> Vec<Overlay> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    for seed in 0..60 {
        overlays::write(seed, &made.join(seed.to_string()));
    }
    let mut targets = Vec::new();
    let real = env::var_os("SMP_TEST_REALWORLD").map(PathBuf::from);
    let folders = [made.to_path_buf(), project.join("examples"), project.join("tests/cases/kustomize")];
    folders.into_iter().chain(real).for_each(|folder| kustomizations(&folder, &mut targets));
    targets.iter().filter_map(|target| Overlay::read(target)).collect()
}

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// The seed that a thread is building, and its start time.
type Current = Mutex<Option<(u64, Instant)>>;

#[test]
fn changed_overlays_build_or_are_rejected() {
    let made = tempfile::tempdir().expect("a directory");
    let made = made.path().canonicalize().expect("its real path");
    let overlays = &corpus(&made);
    assert!(overlays.len() > 60, "{} overlays", overlays.len());
    let first = number("SMP_TEST_MUTATIONS_SEED", 0);
    let end = first + number("SMP_TEST_MUTATIONS", 400);
    let (next, built, done) = (&AtomicU64::new(first), &AtomicU64::new(0), &AtomicBool::new(false));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let current: &Vec<Current> = &(0..workers).map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        let work = |slot: &'static str, current: &Current| loop {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= end {
                return;
            }
            *current.lock().expect(slot) = Some((seed, Instant::now()));
            let mut dice = Dice::new(seed);
            let overlay = &overlays[dice.below(overlays.len())];
            let result = catch_unwind(AssertUnwindSafe(|| overlay.build_changed(&mut dice)));
            let Ok(could) = result else {
                eprintln!("seed {seed} panics: {}", overlay.target.display());
                std::process::abort();
            };
            built.fetch_add(u64::from(could), Ordering::SeqCst);
            *current.lock().expect(slot) = None;
        };
        let threads: Vec<_> =
            current.iter().map(|current| scope.spawn(move || work("no panic", current))).collect();
        scope.spawn(|| watch(current, done));
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>();
        done.store(true, Ordering::SeqCst);
        assert!(ended.iter().all(Result::is_ok));
    });
    let (built, all) = (built.load(Ordering::SeqCst), end - first);
    eprintln!("{built} of {all} changed overlays from seed {first} on could be built");
    assert!(built * 20 > all && built < all, "{built} of {all}: that says little");
}

/// Exits the process if a build takes too long: a thread cannot be stopped.
fn watch(current: &[Current], done: &AtomicBool) {
    while !done.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(50));
        for slot in current {
            if let Some((seed, start)) = *slot.lock().expect("no panic")
                && start.elapsed() > LONGEST
            {
                eprintln!("seed {seed} takes longer than {LONGEST:?}");
                std::process::abort();
            }
        }
    }
}
