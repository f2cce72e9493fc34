//! The locations that `blame` reports for real overlays: when the scalar at a location is changed, the value in
//! the output must change.
//!
//! `SMP_TEST_REALWORLD` names a directory with repositories, `SMP_TEST_BLAMES` sets the number of tested values.

#![allow(clippy::print_stderr, reason = "a test says how much it tried")]

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use kubectl_smp_testing::corpus::{Dice, builder, files_read_by_build, kustomizations, normalize};
use kubectl_smp_testing::requirements;
use smp_files::MemoryTree;
use smp_inspect::explain::{Blame, BlamedField, MarginStyle, ResourceBlame, blame, blame_to_yaml};
use smp_text::diagnostic::{MessageFormat, MessageRenderer};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{Node, ParseOptions, Value, parse_documents, to_documents};

/// The maximum total size of an overlay's files. Larger ones take too long.
const LARGEST: usize = 3_000_000;

/// Fields that identify an object or a list entry. A changed name would make it another object.
const NAMES: [&str; 12] = [
    "apiVersion",
    "kind",
    "name",
    "namespace",
    "mountPath",
    "devicePath",
    "containerPort",
    "port",
    "key",
    "topologyKey",
    "type",
    "ip",
];

/// An overlay in memory: the directory that is built, and all files that it reads.
struct Overlay {
    target: PathBuf,
    files: Vec<(PathBuf, String)>,
}

impl Overlay {
    fn read(target: &Path) -> Option<Self> {
        Some(Self { target: target.into(), files: files_read_by_build(target, LARGEST)? })
    }

    fn here(&self) -> &Path {
        self.target.parent().unwrap_or(&self.target)
    }

    /// Builds the overlay, with another text for one of its files.
    fn blamed(&self, sources: &SourceMap, other: Option<(&Path, &str)>) -> Option<Blame> {
        let files = self.files.iter().map(|(path, text)| match other {
            Some((changed, text)) if changed == path => (path.clone(), text.to_string()),
            _ => (path.clone(), text.clone()),
        });
        let tree = MemoryTree::new(files.collect::<Vec<_>>()).expect("distinct");
        let tree = Arc::new(tree.with_working_directory(self.here()));
        let built = builder(tree, sources)?.build(&self.target).ok()?;
        Some(blame(&built, sources, &MessageRenderer::new(sources, MessageFormat::Short)))
    }

    /// The file with this name, relative to the build directory.
    fn file(&self, name: &Path) -> Option<&(PathBuf, String)> {
        let path = normalize(&self.here().join(name));
        self.files.iter().find(|(known, _)| *known == path)
    }
}

/// The results for overlays.
#[derive(Debug, Default)]
struct Findings {
    leaves: usize,
    /// Leaves without an origin.
    without_origin: Vec<String>,
    /// Leaves with a location in a file, and those of them whose text there is the value.
    located: usize,
    same: usize,
    tried: usize,
    changed: usize,
    failed_builds: usize,
    unchanged: Vec<String>,
    unlike: Vec<String>,
    /// Overlays whose commented text differs from the build.
    other_texts: Vec<String>,
}

impl Findings {
    fn join(mut self, other: Self) -> Self {
        self.leaves += other.leaves;
        self.located += other.located;
        self.same += other.same;
        self.tried += other.tried;
        self.changed += other.changed;
        self.failed_builds += other.failed_builds;
        self.without_origin.extend(other.without_origin);
        self.unchanged.extend(other.unchanged);
        self.other_texts.extend(other.other_texts);
        self.unlike.extend(other.unlike.into_iter().take(2));
        self
    }
}

/// The scalars of a text by start offset.
fn scalars(sources: &SourceMap, id: SourceId) -> FxHashMap<u32, String> {
    fn gather(node: &Node, found: &mut FxHashMap<u32, String>) {
        match &node.value {
            Value::Scalar(text) => drop(found.insert(node.span().start, text.to_string())),
            Value::Map(map) => map.iter().for_each(|(_, value)| gather(value, found)),
            Value::List(list) => list.iter().for_each(|entry| gather(entry, found)),
        }
    }
    let mut found = FxHashMap::default();
    let documents = parse_documents(sources, id, ParseOptions::default()).unwrap_or_default();
    for document in &documents {
        gather(document, &mut found);
    }
    found
}

/// Returns true if the text at a location is the value: parsed as YAML, as the value of a literal, or verbatim.
fn is_value_at(
    value: &Node,
    span: Span,
    sources: &SourceMap,
    known: &mut FxHashMap<SourceId, FxHashMap<u32, String>>,
) -> bool {
    let Value::Scalar(value) = &value.value else { return true };
    let decoded = STANDARD.decode(value.replace('\n', "")).ok();
    let is_value = |text: &str| text == value || decoded.as_deref() == Some(text.as_bytes());
    let Some(source) = sources.get(span.source) else { return false };
    if source.text().get(span.start as usize..span.end as usize).is_some_and(is_value) {
        return true;
    }
    let scalars = known.entry(span.source).or_insert_with(|| scalars(sources, span.source));
    scalars.get(&span.start).is_some_and(|text| {
        let literal = text.split_once('=').map(|(_, literal)| literal.trim_matches(['"', '\'']));
        is_value(text) || literal.is_some_and(is_value)
    })
}

/// A text with one character of the scalar at a location changed: a digit or a letter, so that a number stays a
/// number.
fn changed(text: &str, span: Span, is_literal: bool) -> Option<String> {
    let (start, end) = (span.start as usize, (span.end as usize).min(text.len()));
    let scalar = text.get(start..end)?;
    for (word, other) in [("true", "false"), ("false", "true"), ("True", "False"), ("False", "True")] {
        if scalar == word {
            return Some(format!("{}{other}{}", &text[..start], &text[end..]));
        }
    }
    let skipped = if is_literal { scalar.find('=')? + 1 } else { 0 };
    let mut characters = scalar.char_indices().skip_while(|(at, _)| *at < skipped);
    let is_escaped = scalar.starts_with('"');
    while let Some((at, character)) = characters.next() {
        let other = match character {
            '\\' if is_escaped => {
                characters.next();
                continue;
            }
            '9' | 'z' | 'Z' => char::from(character as u8 - 1),
            'a'..='y' | 'A'..='Y' | '0'..='8' => char::from(character as u8 + 1),
            _ => continue,
        };
        return Some(format!("{}{other}{}", &text[..start + at], &text[start + at + 1..]));
    }
    None
}

/// The identity of a resource, without the hash suffix of its content.
fn key(resource: &ResourceBlame) -> (String, String, String) {
    let name = resource.fields.iter().find(|field| field.pointer == "/metadata/name");
    let hashed = name.and_then(|name| name.writes.iter().find(|write| write.by != "nameHash"));
    let name = hashed.and_then(|write| write.value.scalar_text().map(ToString::to_string));
    let id = &resource.id;
    (id.gvk.to_string(), id.namespace.to_string(), name.unwrap_or_default())
}

fn leaves(node: &Node) -> usize {
    match &node.value {
        Value::Map(map) if !map.is_empty() => map.iter().map(|(_, value)| leaves(value)).sum(),
        Value::List(list) if !list.is_empty() => list.iter().map(leaves).sum(),
        _ => 1,
    }
}

/// Compares the reported locations of one overlay with the effect of changes.
fn check_overlay(overlay: &Overlay, tries: usize, seed: u64) -> Findings {
    let (mut findings, sources) = (Findings::default(), SourceMap::default());
    let Some(all) = overlay.blamed(&sources, None) else { return findings };
    if !comments_keep_the_output(&all) {
        findings.other_texts.push(overlay.target.display().to_string());
    }
    let mut open = check_origins(&all, overlay, &sources, &mut findings);
    let mut dice = Dice::new(seed);
    for _ in 0..tries.min(open.len()) {
        let (resource, field) = open.swap_remove(dice.below(open.len()));
        try_one(overlay, resource, field, &sources, &mut findings);
    }
    findings
}

/// Returns true if the commented text parses to the built resources.
fn comments_keep_the_output(all: &Blame) -> bool {
    let text = blame_to_yaml(all, MarginStyle::default()).expect("printable");
    let sources = SourceMap::default();
    let id = sources.add("blamed", text);
    let read = parse_documents(&sources, id, ParseOptions::default());
    let built = to_documents(all.resources.iter().filter_map(|resource| resource.node.as_ref()));
    read.is_ok_and(|read| to_documents(&read).ok() == built.ok())
}

fn shown(overlay: &Overlay, resource: &ResourceBlame, field: &BlamedField) -> String {
    format!("{}: {} {}: {:?}", overlay.target.display(), resource.id, field.pointer, field.writes.first())
}

/// Checks the origins of all values. Returns those that can be changed at their location.
fn check_origins<'b>(
    all: &'b Blame,
    overlay: &Overlay,
    sources: &SourceMap,
    findings: &mut Findings,
) -> Vec<(&'b ResourceBlame, &'b BlamedField)> {
    let (mut known, mut open) = (FxHashMap::default(), Vec::new());
    for resource in &all.resources {
        let leaves = resource.node.as_ref().map_or(0, leaves);
        findings.leaves += leaves;
        if resource.node.is_some() && leaves != resource.fields.len() {
            findings.without_origin.push(format!("{}: {} of {leaves}", resource.id, resource.fields.len()));
        }
        for field in &resource.fields {
            let Some(write) = field.writes.first().filter(|write| !write.by.is_empty()) else {
                findings.without_origin.push(shown(overlay, resource, field));
                continue;
            };
            let Some(at) = &write.at else { continue };
            findings.located += 1;
            if is_value_at(&write.value, at.span, sources, &mut known) {
                findings.same += 1;
            } else {
                findings.unlike.push(shown(overlay, resource, field));
            }
            if !NAMES.contains(&field.pointer.rsplit('/').next().unwrap_or_default()) {
                open.push((resource, field));
            }
        }
    }
    open
}

/// Changes a value at its location, and builds again.
fn try_one(
    overlay: &Overlay,
    resource: &ResourceBlame,
    field: &BlamedField,
    sources: &SourceMap,
    findings: &mut Findings,
) {
    let write = &field.writes[0];
    let outer = sources.outermost(write.at.as_ref().expect("it has a place").span);
    let file = sources.get(outer.source).and_then(|source| overlay.file(source.name()));
    let Some((path, text)) = file else {
        findings.unchanged.push(format!("no such file: {}", shown(overlay, resource, field)));
        findings.tried += 1;
        return;
    };
    let last = field.pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/");
    let there = text.get(outer.start as usize..outer.end as usize).unwrap_or_default();
    let begins = there.trim_start_matches(['"', '\'']).starts_with(&format!("{last}="));
    let is_literal = write.by.contains("enerator") && begins;
    let Some(other) = changed(text, outer, is_literal) else { return };
    let Some(now) = overlay.blamed(&SourceMap::default(), Some((path, &other))) else {
        findings.failed_builds += 1;
        return;
    };
    findings.tried += 1;
    let same = now.resources.iter().filter(|other| key(other) == key(resource)).any(|other| {
        let other = other.fields.iter().find(|other| other.pointer == field.pointer);
        other.and_then(|other| other.writes.first()).is_some_and(|other| other.value == write.value)
    });
    if same {
        findings.unchanged.push(shown(overlay, resource, field));
    } else {
        findings.changed += 1;
    }
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn real_overlays_change_at_the_locations_of_blame() {
    let folder = PathBuf::from(requirements::required_env("SMP_TEST_REALWORLD", "CONTRIBUTING.md"));
    let number = |name: &str, default: usize| {
        env::var(name).map_or(default, |text| text.parse::<usize>().expect("a number"))
    };
    let (wanted, seed) = (number("SMP_TEST_BLAMES", 500), number("SMP_TEST_BLAMES_SEED", 0));
    let mut targets = Vec::new();
    kustomizations(&folder.canonicalize().expect("a folder"), &mut targets);
    let overlays: Vec<Overlay> = targets.par_iter().filter_map(|target| Overlay::read(target)).collect();
    let tries = wanted.div_ceil(overlays.len().max(1));
    let found = overlays.par_iter().enumerate();
    let found = found.map(|(i, overlay)| check_overlay(overlay, tries, (seed + i) as u64));
    let found = found.reduce(Findings::default, Findings::join);
    let Findings { leaves, located, same, tried, changed, failed_builds, .. } = found;
    let silent = found.without_origin.len();
    eprintln!(
        "{} overlays, {leaves} leaves, {silent} without an origin; {located} stand in a file, {same} of them as they are there;",
        overlays.len()
    );
    eprintln!(
        "{tried} changed at their place, {changed} of them in what is built; {failed_builds} failed to build"
    );
    found.unlike.iter().take(number("SMP_TEST_SHOWN", 0)).for_each(|one| eprintln!("unlike: {one}"));
    found.unchanged.iter().for_each(|one| eprintln!("unchanged: {one}"));
    assert!(found.other_texts.is_empty(), "{:#?}", found.other_texts);
    assert!(found.without_origin.is_empty(), "{:#?}", found.without_origin);
    assert!(tried * 4 > wanted, "{tried} were tried");
    assert!(changed * 1000 >= tried * 999, "{changed} of {tried}");
    assert!(same * 100 >= located * 97, "{same} of {located}");
}
