//! Mistakes made in files of real overlays: a finding of `check` must name the file and line.
//!
//! `SMP_TEST_REALWORLD` names a directory with repositories, `SMP_TEST_CHECK_MUTATIONS` sets the number of
//! mistakes. A change that is not a mistake does not count: the output stays the same, or no required field is
//! missing.

#![allow(clippy::print_stderr, reason = "a test says how much it tried")]

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use kubectl_smp_testing::corpus::{Dice, builder, files_read_by_build, kustomizations, normalize};
use kubectl_smp_testing::requirements;
use smp_files::{FileTree, MemoryTree};
use smp_inspect::check::{
    Baselines, CheckConfig, CheckedTarget, Conclusion, LocalFiles, RuleSelection, SuppressionTrust,
    TargetFindings, check_target,
};
use smp_merge::schema::{Gvk, Schema};
use smp_overlay::overlay::{Builder, Built};
use smp_text::diagnostic::{MessageFormat, MessageRenderer};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap, Span};
use smp_text::yaml::{Node, ParseOptions, Value, parse_documents};
use smp_validate::ValidateOptions;

/// The maximum total size of an overlay's files. Larger ones take too long.
const LARGEST: usize = 3_000_000;

/// The minimum percentage of mistakes that are reported at their location.
const FLOOR: usize = 97;

/// The kinds of mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mistake {
    /// The name in a patch, or in the target of one, is misspelled.
    Target,
    /// The name of an entry of `images` is misspelled.
    Image,
    /// The name of a container in a patch is misspelled.
    Container,
    /// The name of a field is misspelled.
    Field,
    /// A value has another type.
    Type,
    /// A required field is missing.
    Required,
    /// The name of an object, or of a volume, is misspelled in a reference.
    Dangling,
    /// A kind is misspelled.
    Kind,
    /// A directive is misspelled.
    Directive,
}

const MISTAKES: [Mistake; 9] = [
    Mistake::Target,
    Mistake::Image,
    Mistake::Container,
    Mistake::Field,
    Mistake::Type,
    Mistake::Required,
    Mistake::Dangling,
    Mistake::Kind,
    Mistake::Directive,
];

/// Maps with arbitrary keys.
const FREE: [&str; 12] = [
    "labels",
    "annotations",
    "data",
    "stringData",
    "binaryData",
    "matchLabels",
    "nodeSelector",
    "limits",
    "requests",
    "selector",
    "parameters",
    "hard",
];

/// Required fields of list entries, by list.
const REQUIRED: [(&str, &str); 7] = [
    ("containers", "image"),
    ("containers", "name"),
    ("ports", "containerPort"),
    ("ports", "port"),
    ("volumes", "name"),
    ("volumeMounts", "mountPath"),
    ("volumeMounts", "name"),
];

/// Fields with numbers.
const NUMBERS: [&str; 11] = [
    "replicas",
    "containerPort",
    "runAsUser",
    "minReplicas",
    "maxReplicas",
    "initialDelaySeconds",
    "periodSeconds",
    "terminationGracePeriodSeconds",
    "port",
    "revisionHistoryLimit",
    "timeoutSeconds",
];

/// Fields with booleans.
const BOOLEANS: [&str; 4] = ["readOnly", "privileged", "hostNetwork", "allowPrivilegeEscalation"];

/// An overlay in memory: the directory that is built, and all files that it reads.
struct Overlay {
    target: PathBuf,
    files: Vec<(PathBuf, String)>,
    /// The findings and the output of the unchanged overlay.
    known: Checked,
    /// The patch files.
    patches: FxHashSet<PathBuf>,
    /// The files whose content becomes a generated value, with any content.
    contents: FxHashSet<PathBuf>,
}

/// The findings and the output of an overlay.
#[derive(Default)]
struct Checked {
    findings: Vec<ReportedFinding>,
    built: Option<Vec<Node>>,
}

/// A finding: its message, and the files and lines of its locations.
#[derive(Debug, Clone)]
struct ReportedFinding {
    code: String,
    message: String,
    places: Vec<(PathBuf, usize)>,
}

impl ReportedFinding {
    /// Identifies the finding when lines have moved.
    fn key(&self) -> (String, String, Option<PathBuf>) {
        (self.code.clone(), self.message.clone(), self.places.first().map(|(file, _)| file.clone()))
    }
}

/// A mistake in a file: the replaced part and its new text.
struct Change<'o> {
    file: &'o Path,
    text: &'o str,
    start: usize,
    end: usize,
    new: String,
    /// The lines that a finding may name.
    lines: (usize, usize),
}

impl Change<'_> {
    fn made(&self) -> String {
        format!("{}{}{}", &self.text[..self.start], self.new, &self.text[self.end..])
    }
}

impl Overlay {
    fn read(target: &Path) -> Option<Self> {
        let files = files_read_by_build(target, LARGEST)?;
        let [patches, contents] = named_files(&files);
        let known = Checked::default();
        let mut overlay = Self { target: target.into(), files, known, patches, contents };
        overlay.known = overlay.checked(None);
        overlay.known.built.is_some().then_some(overlay)
    }

    fn here(&self) -> &Path {
        self.target.parent().unwrap_or(&self.target)
    }

    /// Checks the overlay, with another text for one of its files.
    fn checked(&self, other: Option<(&Path, &str)>) -> Checked {
        let files = self.files.iter().map(|(path, text)| match other {
            Some((changed, text)) if changed == path => (path.clone(), text.to_string()),
            _ => (path.clone(), text.clone()),
        });
        let tree = MemoryTree::new(files.collect::<Vec<_>>()).expect("distinct");
        let tree: Arc<dyn FileTree> = Arc::new(tree.with_working_directory(self.here()));
        let sources = SourceMap::default();
        let builder = builder(Arc::clone(&tree), &sources).expect("a builder");
        let (config, selection) = (Arc::new(CheckConfig::default()), RuleSelection::default());
        let built = builder.build(&self.target);
        let found = match &built {
            Ok(built) => self.look(built, &builder, &selection, &config),
            Err(problem) => TargetFindings::from_failure(&self.target, problem, config),
        };
        let renderer = MessageRenderer::new(&sources, MessageFormat::Short);
        let files = LocalFiles { tree: &*tree, fetched: None };
        let suppressions = SuppressionTrust::All;
        let (sources, selection, renderer, texts) =
            (&sources, &selection, &renderer, &*sources.top_level_texts());
        let conclusion = Conclusion { sources, selection, renderer, files, suppressions, texts };
        let report = conclusion.report(vec![found], Baselines::default());
        let reported = report.findings.iter().map(|finding| {
            let places = renderer.locations(finding).into_iter();
            let places =
                places.map(|place| (normalize(&self.here().join(&place.file)), place.line)).collect();
            ReportedFinding { code: finding.code().name().into(), message: finding.message().into(), places }
        });
        let findings = reported.collect();
        let built = built.ok().map(|built| built.resources.iter().map(|one| one.node().clone()).collect());
        Checked { findings, built }
    }

    fn look(
        &self,
        built: &Built,
        builder: &Builder,
        selection: &RuleSelection,
        config: &Arc<CheckConfig>,
    ) -> TargetFindings {
        let schema = builder.schema_for(&self.target, &built.resources).expect("types").value;
        let target = CheckedTarget::new(&self.target, built, &schema, builder.sources(), &config.external);
        check_target(&target, selection, &ValidateOptions::default(), Arc::clone(config))
    }

    /// Returns true if the output has an object of that kind and name.
    fn has_object(&self, kind: &str, name: &str) -> bool {
        let is_it = |node: &Node| {
            node.get("kind").and_then(Node::as_str) == Some(kind)
                && node.get_path(&["metadata", "name"]).and_then(Node::as_str) == Some(name)
        };
        self.known.built.iter().flatten().any(is_it)
    }

    /// Returns true if another file has an entry of that name.
    fn is_named_elsewhere(&self, name: &str, file: &Path) -> bool {
        let entry = format!("name: {name}");
        let is_it = |text: &str| text.lines().any(|line| line.trim_end().ends_with(&entry));
        self.files.iter().any(|(path, text)| path != file && is_it(text))
    }
}

fn is_kustomization(path: &Path) -> bool {
    path.file_name().is_some_and(|name| KUSTOMIZATION_FILES.iter().any(|known| name == *known))
}

fn parsed(text: &str) -> Vec<Node> {
    let sources = SourceMap::default();
    let id = sources.add("text", text);
    parse_documents(&sources, id, ParseOptions::default()).unwrap_or_default()
}

/// The files that kustomizations name: patches, and files whose content becomes a generated value.
fn named_files(files: &[(PathBuf, String)]) -> [FxHashSet<PathBuf>; 2] {
    let (mut patches, mut contents) = (FxHashSet::default(), FxHashSet::default());
    for (path, text) in files.iter().filter(|(path, _)| is_kustomization(path)) {
        let directory = path.parent().expect("a file");
        let file = |node: &Node| node.as_str().map(|text| normalize(&directory.join(text)));
        for node in parsed(text) {
            let list = |of: &Node, field: &str| {
                let entries = of.get(field).and_then(Node::as_list).into_iter().flatten();
                entries.cloned().collect::<Vec<_>>()
            };
            patches.extend(list(&node, "patches").iter().filter_map(|entry| file(entry.get("path")?)));
            patches.extend(list(&node, "patchesStrategicMerge").iter().filter_map(file));
            let generators = ["configMapGenerator", "secretGenerator"];
            for generator in generators.iter().flat_map(|field| list(&node, field)) {
                let named = ["files", "envs"].iter().flat_map(|field| list(&generator, field));
                let paths = named.filter_map(|entry| entry.as_str().map(str::to_string));
                let paths = paths.map(|text| text.rsplit('=').next().unwrap_or_default().to_string());
                contents.extend(paths.map(|text| normalize(&directory.join(text))));
            }
        }
    }
    [patches, contents]
}

/// A word with a letter too many or too few, or with two letters swapped.
fn misspelled(dice: &mut Dice, word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    if letters.len() < 3 {
        return format!("{word}x");
    }
    for _ in 0..10 {
        let (i, mut other) = (1 + dice.below(letters.len() - 2), letters.clone());
        match dice.below(3) {
            0 => other.swap(i, i + 1),
            1 => drop(other.remove(i)),
            _ => other.insert(i, letters[i]),
        }
        if other != letters {
            return other.into_iter().collect();
        }
    }
    format!("{word}x")
}

/// A segment of a field path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Entry,
}

fn fields(way: &[Step]) -> Vec<&str> {
    way.iter().map(|step| if let Step::Field(name) = step { name.as_str() } else { "" }).collect()
}

/// All values of a document with their field paths.
fn values<'n>(node: &'n Node, way: &mut Vec<Step>, out: &mut Vec<(Vec<Step>, &'n Node)>) {
    out.push((way.clone(), node));
    match &node.value {
        Value::Scalar(_) => {}
        Value::Map(map) => {
            for (name, value) in map.iter() {
                way.push(Step::Field(name.to_string()));
                values(value, way, out);
                way.pop();
            }
        }
        Value::List(list) => {
            for entry in list {
                way.push(Step::Entry);
                values(entry, way, out);
                way.pop();
            }
        }
    }
}

/// Returns true if a field beside a value marks its reference as optional. Entries of lists are not distinguished.
fn is_optional(all: &[(Vec<Step>, &Node)], way: &[&str]) -> bool {
    let Some((_, around)) = way.split_last() else { return false };
    all.iter().any(|(other, value)| {
        let other = fields(other);
        other.split_last().is_some_and(|(last, of)| *last == "optional" && of == around)
            && value.scalar_text().is_some_and(|text| text == "true")
    })
}

/// Finds the possible mistakes in a file.
struct Mistakes<'o, 'd> {
    overlay: &'o Overlay,
    file: &'o Path,
    text: &'o str,
    dice: &'d mut Dice,
    found: Vec<Change<'o>>,
}

impl Mistakes<'_, '_> {
    fn line(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }

    fn replace(&mut self, at: Span, new: String) {
        let (start, end) = (at.start as usize, at.end as usize);
        let line = self.line(start);
        let (file, text) = (self.file, self.text);
        self.found.push(Change { file, text, start, end, new, lines: (line, line) });
    }

    /// Misspells a scalar that is written verbatim.
    fn misspell(&mut self, node: &Node) {
        if let Some(word) = self.plain_scalar(node) {
            let new = misspelled(self.dice, &word);
            self.replace(node.span(), new);
        }
    }

    /// The text of a scalar without quotes.
    fn plain_scalar(&self, node: &Node) -> Option<String> {
        let text = node.scalar_text()?;
        let span = node.span();
        let written = self.text.get(span.start as usize..span.end as usize)?;
        (written == text && !text.is_empty()).then(|| text.to_string())
    }

    fn kustomization(&mut self, mistake: Mistake, node: &Node) {
        let list = |field: &str| node.get(field).and_then(Node::as_list).into_iter().flatten();
        match mistake {
            Mistake::Image => {
                for name in list("images").filter_map(|entry| entry.get("name")) {
                    self.misspell(name);
                }
            }
            Mistake::Target => {
                let entries = list("patches").chain(list("patchesJson6902"));
                for name in entries.filter_map(|entry| entry.get_path(&["target", "name"])) {
                    let is_pattern = name.as_str().is_none_or(|name| name.contains(['.', '*', '|', '?']));
                    if !is_pattern {
                        self.misspell(name);
                    }
                }
            }
            _ => {}
        }
    }

    fn manifest(&mut self, mistake: Mistake, node: &Node, schema: &Schema) {
        let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
        let kind = text("kind").to_string();
        let is_built_in = schema.kind(&Gvk::from_manifest(text("apiVersion"), &kind)).is_some();
        let is_patch = self.overlay.patches.contains(self.file);
        let mut all = Vec::new();
        values(node, &mut Vec::new(), &mut all);
        for (way, value) in &all {
            let way = fields(way);
            // Fields added by SOPS are not part of the object, and a server ignores status in manifests.
            if matches!(way.first(), Some(&"status" | &"sops")) {
                continue;
            }
            // Property names are arbitrary, and a server ignores unknown fields below them.
            let is_schema = kind == "CustomResourceDefinition";
            if is_schema && way.iter().any(|field| matches!(*field, "items" | "additionalProperties")) {
                continue;
            }
            if is_schema && way.last() == Some(&"properties") {
                continue;
            }
            match mistake {
                Mistake::Target if is_patch && way == ["metadata", "name"] => self.misspell(value),
                Mistake::Container if is_patch => self.container(&way, value),
                Mistake::Kind if is_built_in && way == ["kind"] => self.misspell(value),
                _ if !is_built_in => {}
                Mistake::Type if kind == "ConfigMap" && way.len() == 2 && way[0] == "data" => {
                    self.data(value);
                }
                _ if way.iter().rev().skip(1).any(|field| FREE.contains(field)) => {}
                Mistake::Field => self.field(&way, value),
                Mistake::Type => self.type_of(&way, value, &kind),
                Mistake::Required if !is_patch => self.required(&way, value, &kind),
                Mistake::Dangling if !is_optional(&all, &way) => self.dangling(&way, value, node, &all),
                _ => {}
            }
        }
    }

    /// A value of a ConfigMap is a string.
    fn data(&mut self, value: &Node) {
        if self.plain_scalar(value).is_some() {
            self.replace(value.span(), "true".into());
        }
    }

    /// A container that the patch itself adds may have any name.
    fn container(&mut self, way: &[&str], value: &Node) {
        let is_name = matches!(way, [.., "containers" | "initContainers", "", "name"]);
        let is_there = |name: &str| self.overlay.is_named_elsewhere(name, self.file);
        if is_name && value.as_str().is_some_and(is_there) {
            self.misspell(value);
        }
    }

    fn field(&mut self, way: &[&str], value: &Node) {
        let Some(map) = value.as_map().filter(|_| way.last().is_some_and(|last| !FREE.contains(last))) else {
            return;
        };
        for entry in map.entries() {
            let (name, at) = (entry.key.text.as_str(), entry.key.meta.span);
            let is_plain = self.text.get(at.start as usize..at.end as usize) == Some(name);
            if is_plain && name.len() > 3 && !name.starts_with('$') {
                let new = misspelled(self.dice, name);
                self.replace(at, new);
            }
        }
    }

    fn type_of(&mut self, way: &[&str], value: &Node, kind: &str) {
        let (Some(text), [.., last]) = (self.plain_scalar(value), way) else { return };
        let around = way.len().checked_sub(2).map_or("", |i| way[i]);
        // These may also be names.
        let may_be_text =
            matches!(around, "httpGet" | "tcpSocket") || way.contains(&"backend") || kind == "NetworkPolicy";
        if NUMBERS.contains(last) && text.parse::<u32>().is_ok() && !may_be_text {
            self.replace(value.span(), format!("\"{text}\""));
        } else if matches!(way, [.., "env", "", "value"]) {
            self.replace(value.span(), "8080".into());
        } else if BOOLEANS.contains(last) && (text == "true" || text == "false") {
            self.replace(value.span(), "\"yes\"".into());
        }
    }

    fn required(&mut self, way: &[&str], value: &Node, kind: &str) {
        let Some(map) = value.as_map().filter(|map| map.len() > 1) else { return };
        let list = if let [.., list, ""] = way { *list } else { "" };
        let is_workload = matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet");
        let of_list =
            REQUIRED.iter().filter(|(of, field)| *of == list && (*field != "port" || kind == "Service"));
        let own = (way == ["spec"] && is_workload).then_some("selector");
        for field in of_list.map(|(_, field)| *field).chain(own) {
            let entries = map.entries();
            let Some(i) = entries.iter().position(|entry| entry.key.text == field).filter(|i| *i > 0) else {
                continue;
            };
            let begins = |offset: usize| self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
            let start = begins(entries[i].key.meta.span.start as usize);
            let span = entries[i].value.span();
            let end = match entries.get(i + 1) {
                Some(next) => begins(next.key.meta.span.start as usize),
                None if entries[i].value.as_map().is_some() => continue,
                None => self.text[span.end as usize..]
                    .find('\n')
                    .map_or(self.text.len(), |at| span.end as usize + at + 1),
            };
            // In flow style or on the line of a dash, it cannot be removed by lines.
            let is_alone = self.text[start..].trim_start().starts_with(field) && start < end;
            if is_alone {
                let around = value.span();
                let last = entries.last().map_or(around.end, |last| last.value.span().end);
                let lines = (self.line(around.start as usize) - 1, self.line(last as usize));
                let (file, text) = (self.file, self.text);
                self.found.push(Change { file, text, start, end, new: String::new(), lines });
            }
        }
    }

    fn dangling(&mut self, way: &[&str], value: &Node, object: &Node, all: &[(Vec<Step>, &Node)]) {
        let Some(name) = value.as_str() else { return };
        let kind = match way {
            [.., "configMapRef" | "configMapKeyRef" | "configMap", "name"] => "ConfigMap",
            [.., "secretRef" | "secretKeyRef", "name"] | [.., "secretName"] => "Secret",
            [.., "serviceAccountName"] => "ServiceAccount",
            [.., "claimName"] => "PersistentVolumeClaim",
            ["roleRef", "name"] => {
                object.get_path(&["roleRef", "kind"]).and_then(Node::as_str).unwrap_or_default()
            }
            [.., "volumeMounts", "", "name"] => "",
            _ => return,
        };
        // A claim from a template has the name of its volume.
        let has_volume = || {
            all.iter().any(|(way, value)| {
                matches!(fields(way).as_slice(), [.., "volumes", "", "name"]) && value.as_str() == Some(name)
            })
        };
        let is_there = if kind.is_empty() { has_volume() } else { self.overlay.has_object(kind, name) };
        if is_there {
            self.misspell(value);
        }
    }

    fn directives(&mut self) {
        for (right, wrong) in [("$patch:", "$pacth:"), ("$patch: delete", "$patch: delte")] {
            for (start, _) in self.text.match_indices(right) {
                let line = self.line(start);
                let (file, text, end) = (self.file, self.text, start + right.len());
                let lines = (line, line);
                self.found.push(Change { file, text, start, end, new: wrong.into(), lines });
            }
        }
    }
}

/// The possible mistakes of one kind in an overlay.
fn changes<'o>(overlay: &'o Overlay, mistake: Mistake, dice: &mut Dice, schema: &Schema) -> Vec<Change<'o>> {
    let mut found = Vec::new();
    for (file, text) in &overlay.files {
        let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        // An anchored value occurs more than once, and so would the mistake.
        let has_anchors = text.contains(": &") || text.contains("- &");
        let is_text = (is_yaml || is_kustomization(file)) && !overlay.contents.contains(file);
        if !is_text || has_anchors {
            continue;
        }
        let mut mistakes = Mistakes { overlay, file, text, dice: &mut *dice, found: Vec::new() };
        if mistake == Mistake::Directive {
            mistakes.directives();
        } else {
            for node in parsed(text) {
                if is_kustomization(file) {
                    mistakes.kustomization(mistake, &node);
                } else {
                    mistakes.manifest(mistake, &node, schema);
                }
            }
        }
        found.append(&mut mistakes.found);
    }
    found
}

/// The number of missing required fields of workloads and services.
fn lacks(built: &[Node]) -> usize {
    built.iter().map(lacking).sum()
}

fn lacking(object: &Node) -> usize {
    let kind = object.get("kind").and_then(Node::as_str).unwrap_or_default();
    let is_workload = matches!(kind, "Deployment" | "StatefulSet" | "DaemonSet");
    let own = usize::from(is_workload && object.get_path(&["spec", "selector"]).is_none());
    let mut all = Vec::new();
    values(object, &mut Vec::new(), &mut all);
    let of_lists = all.iter().filter(|(_, value)| value.as_map().is_some()).map(|(way, value)| {
        let way = fields(way);
        let [.., list, ""] = way.as_slice() else { return 0 };
        let here = REQUIRED.iter().filter(|(of, field)| {
            of == list && (*field == "port") == (kind == "Service" && *list == "ports")
        });
        here.filter(|(_, field)| value.get(field).is_none()).count()
    });
    own + of_lists.sum::<usize>()
}

/// The results of all mistakes.
#[derive(Debug, Default)]
struct Tally {
    /// By mistake: how many were made, were reported at their location, and were reported there first.
    made: BTreeMap<Mistake, [usize; 3]>,
    /// Changes that are not mistakes.
    none: usize,
    missed: Vec<String>,
}

impl Tally {
    fn join(mut self, other: Self) -> Self {
        for (mistake, counts) in other.made {
            let own = self.made.entry(mistake).or_default();
            own.iter_mut().zip(counts).for_each(|(own, other)| *own += other);
        }
        self.none += other.none;
        self.missed.extend(other.missed);
        self
    }

    fn count(&mut self, mistake: Mistake, change: &Change<'_>, overlay: &Overlay) {
        let now = overlay.checked(Some((change.file, &change.made())));
        let (before, after) = (overlay.known.built.as_deref().unwrap_or_default(), now.built.as_deref());
        let is_none = after.is_some_and(|after| {
            after == before || (mistake == Mistake::Required && lacks(after) <= lacks(before))
        });
        if is_none {
            self.none += 1;
            return;
        }
        let fresh = fresh(&overlay.known.findings, now.findings);
        let is_here = |(file, line): &(PathBuf, usize)| {
            file == change.file && (change.lines.0..=change.lines.1).contains(line)
        };
        let is_reported = fresh.iter().any(|reported| reported.places.iter().any(is_here));
        let is_first = fresh.iter().any(|reported| reported.places.first().is_some_and(is_here));
        let counts = self.made.entry(mistake).or_default();
        let more = [1, usize::from(is_reported), usize::from(is_first)];
        counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        if !is_reported {
            let made: String = change.new.chars().take(80).collect();
            self.missed.push(format!(
                "{mistake:?} in {}: {}:{}: `{made}`: {:?}",
                overlay.target.display(),
                change.file.display(),
                change.lines.0,
                fresh.iter().take(2).collect::<Vec<_>>()
            ));
        }
    }
}

/// The findings that were not there before.
fn fresh(before: &[ReportedFinding], mut now: Vec<ReportedFinding>) -> Vec<ReportedFinding> {
    let mut known: FxHashMap<_, usize> = FxHashMap::default();
    for reported in before {
        *known.entry(reported.key()).or_default() += 1;
    }
    now.retain(|reported| match known.get_mut(&reported.key()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    now
}

/// Makes mistakes in an overlay, of each kind in turn.
fn make(overlay: &Overlay, first: usize, tries: usize, seed: u64) -> Tally {
    let mut tally = Tally::default();
    let mut dice = Dice::new(seed);
    let schema = Schema::embedded();
    let (mut made, mut turn) = (0, first);
    while made < tries && turn < first + 3 * MISTAKES.len() {
        let mistake = MISTAKES[turn % MISTAKES.len()];
        turn += 1;
        let changes = changes(overlay, mistake, &mut dice, &schema);
        if !changes.is_empty() {
            let before = tally.none;
            tally.count(mistake, &changes[dice.below(changes.len())], overlay);
            made += usize::from(tally.none == before);
        }
    }
    tally
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn mistakes_in_real_overlays_are_reported_at_their_location() {
    let folder = PathBuf::from(requirements::required_env("SMP_TEST_REALWORLD", "CONTRIBUTING.md"));
    let number = |name: &str, default: usize| {
        env::var(name).map_or(default, |text| text.parse::<usize>().expect("a number"))
    };
    let wanted = number("SMP_TEST_CHECK_MUTATIONS", 500);
    let seed = number("SMP_TEST_CHECK_MUTATIONS_SEED", 0);
    let mut targets = Vec::new();
    kustomizations(&folder.canonicalize().expect("a folder"), &mut targets);
    let overlays: Vec<Overlay> = targets.par_iter().filter_map(|target| Overlay::read(target)).collect();
    let (step, tries) = ((overlays.len() / wanted.max(1)).max(1), wanted.div_ceil(overlays.len().max(1)));
    let tally = overlays.par_iter().enumerate().filter(|(i, _)| (i + seed) % step == 0);
    let tally = tally.map(|(i, overlay)| make(overlay, i + seed, tries, (seed + i) as u64));
    let tally = tally.reduce(Tally::default, Tally::join);
    tally.missed.iter().take(number("SMP_TEST_SHOWN", 1000)).for_each(|one| eprintln!("missed: {one}"));
    for (mistake, [made, reported, first]) in &tally.made {
        eprintln!("{mistake:?}: {made} made, {reported} reported, {first} of them there first");
    }
    let sum = |i: usize| tally.made.values().map(|counts| counts[i]).sum::<usize>();
    let (made, reported) = (sum(0), sum(1));
    eprintln!(
        "{} overlays, {made} mistakes, {reported} reported; {} more were none",
        overlays.len(),
        tally.none
    );
    assert!(made * 2 >= wanted, "{made} were made");
    assert!(reported * 100 >= made * FLOOR, "{reported} of {made}");
}
