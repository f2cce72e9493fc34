//! The views of a session.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};

use super::hunks::DiffLine;
use super::model::{
    ChainLink, ChangedObject, DangerView, DiffView, ErrorView, ExcerptLine, FieldView, FindingView,
    FoundLine, LineView, LocationView, ResourceView, SearchView, SourceView, TargetView,
};
use super::session::{BuiltTarget, EvaluatedTarget, KnownTarget, Session, shown_paths};
use smp_files::{DiskTree, FileTree as _};
use smp_inspect::explain::{
    BlamedLocation, BlamedWrite, Blamer, ResourceBlame, build_tree, fields_at, hidden_value, printed_lines,
    tree_to_json,
};
use smp_inspect::review::forms::review_to_html;
use smp_inspect::review::{ChangeDanger, ObjectChange, Review, TargetOutcome};
use smp_overlay::overlay::Built;
use smp_overlay::resource::{ResId, Resource};
use smp_text::diagnostic::{Diagnostic, MessageFormat, MessageRenderer, RenderedLocation};
use smp_text::path::{FieldPath, PathElement, pointer_steps};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, to_yaml};

/// The maximum number of matches of a search.
const MAX_MATCHES: usize = 200;

/// The number of lines of an excerpt before and after the line of the value.
const CONTEXT: usize = 2;

/// Replacement for a line or value with secrets.
const HIDDEN: &str = "***";

impl Session {
    /// Returns the output of a target, or `None` if there is no such target.
    pub fn view(&self, name: &str) -> Option<TargetView> {
        let target = self.target(name)?;
        let shown = Shown::new(&target.last);
        let evaluated = &target.last.evaluated;
        let good = target.good.as_deref();
        let resources = good.and_then(|good| Some((good.evaluated.built.as_ref().ok()?, &good.sources)));
        let resources = resources.map(|(built, sources)| resource_views(built, sources)).unwrap_or_default();
        let layers =
            good.and_then(|good| Some(layers(good.evaluated.built.as_ref().ok()?, &Shown::new(good))));
        Some(TargetView {
            name: name.to_string(),
            generation: target.summary.generation,
            state: target.summary.state,
            stale: evaluated.built.is_err() && good.is_some(),
            error: evaluated.built.as_ref().err().map(|problem| shown.error(problem)),
            resources,
            findings: shown.findings(evaluated),
            layers: layers.unwrap_or_default(),
            files: shown_paths(files_of(&target)),
        })
    }

    /// Returns the provenance of a value. `resource` is the index in the output.
    pub fn field(&self, name: &str, resource: usize, pointer: &str) -> Option<FieldView> {
        let good = self.target(name)?.good?;
        let built = good.evaluated.built.as_ref().ok()?;
        let shown = Shown::new(&good);
        let blame = Blamer::new(built, &good.sources, &shown.renderer).resource(resource)?;
        let field = blame.shown_field(pointer)?;
        Some(FieldView {
            resource: resource_id(&blame.id, &good.sources),
            pointer: pointer.to_string(),
            path: field_path(built.resources.as_slice()[resource].node(), pointer),
            chain: field.writes.iter().map(|write| shown.link(write)).collect(),
        })
    }

    /// Returns the text of a hidden value of a Secret, or `None` for any other value.
    pub fn reveal(&self, name: &str, resource: usize, pointer: &str) -> Option<String> {
        let good = self.target(name)?.good?;
        let resource = good.evaluated.built.as_ref().ok()?.resources.as_slice().get(resource)?;
        hidden_value(resource, pointer, &good.sources)
    }

    /// Returns the changes of the last successful build of a target, or `None` if there is no such target or no
    /// comparison.
    pub fn diff(&self, name: &str) -> Option<DiffView> {
        let target = self.target(name)?;
        let comparison = self.comparison()?;
        let failed = |problem: &str| format!("Comparison with {comparison} failed: {problem}");
        let compared = match &target.good {
            Some(good) => Shown::new(good).changes(&good.evaluated).map_err(|problem| failed(&problem)),
            None => Err("No comparison: the target does not build.".into()),
        };
        let stale = target.last.evaluated.built.is_err() && target.good.is_some();
        let (objects, error) = match compared {
            Ok(objects) => (objects, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Some(DiffView { comparison, stale, error, objects })
    }

    /// Returns the review of the last build of a target as an HTML page, or `None` if there is no such target or no
    /// review. A comparison with the cluster has none.
    pub fn export(&self, name: &str) -> Option<String> {
        let target = self.target(name)?;
        let (review, sources) = (target.last.evaluated.review.as_ref()?, &target.last.sources);
        let mut review = Review { targets: vec![review.clone()], ..Review::default() };
        review.mask_values(|text| sources.without_hidden_values(text));
        let page = review_to_html(&review, &Shown::new(&target.last).renderer);
        Some(sources.json_without_hidden_values(&page).into_owned())
    }

    /// Returns a file that the build of a target read. `file` is one of [`TargetView::files`].
    pub fn source(&self, name: &str, file: &str) -> Option<SourceView> {
        let target = self.target(name)?;
        let path = files_of(&target).into_iter().find(|path| shown_paths([*path]) == [file])?;
        Some(SourceView {
            file: file.to_string(),
            path: Some(path.display().to_string()),
            text: shown_source(path, &target.last.sources)?,
        })
    }

    /// Finds lines that contain a text, and resources whose names contain it, in all targets. Case is ignored.
    pub fn search(&self, query: &str) -> SearchView {
        let query = query.to_lowercase();
        let found = self.good_builds();
        let found = found.par_iter().flat_map_iter(|(name, good)| {
            let built = good.evaluated.built.as_ref().ok();
            let resources = built.map_or(&[][..], |built| built.resources.as_slice());
            let found =
                resources.iter().enumerate().flat_map(|(i, one)| found_lines(one, i, &good.sources, &query));
            found.map(|line| FoundLine { target: name.clone(), ..line }).collect::<Vec<_>>()
        });
        let mut matches: Vec<FoundLine> = if query.is_empty() { Vec::new() } else { found.collect() };
        let more = matches.len().saturating_sub(MAX_MATCHES);
        matches.truncate(MAX_MATCHES);
        SearchView { matches, more }
    }
}

/// Returns the files that the last build and the last successful one read.
fn files_of(target: &KnownTarget) -> BTreeSet<&PathBuf> {
    let builds = [Some(&target.last), target.good.as_ref()].into_iter().flatten();
    builds.flat_map(|build| &build.evaluated.reads.files).collect()
}

/// Returns the kind, namespace and name of a resource, without values of Secrets.
fn resource_id(id: &ResId, sources: &SourceMap) -> String {
    let namespace = if id.namespace.is_empty() { String::new() } else { format!("{}/", id.namespace) };
    sources.without_hidden_values(&format!("{} {namespace}{}", id.gvk.kind, id.name)).into_owned()
}

fn resource_views(built: &Built, sources: &SourceMap) -> Vec<ResourceView> {
    built.resources.as_slice().par_iter().map(|resource| resource_view(resource, sources)).collect()
}

fn resource_view(resource: &Resource, sources: &SourceMap) -> ResourceView {
    // Printing cannot fail, since the build has already rejected resources that cannot be printed.
    let lines = printed_lines(resource, sources).unwrap_or_default();
    let mut hash = Sha256::new();
    for line in &lines {
        hash.update(format!("{}\n{:?}\n", line.text, line.pointer));
    }
    let id = resource.id();
    let masked = |text: &str| sources.without_hidden_values(text).into_owned();
    ResourceView {
        id: resource_id(id, sources),
        api_version: id.gvk.api_version().to_string(),
        kind: id.gvk.kind.to_string(),
        namespace: masked(&id.namespace),
        name: masked(&id.name),
        hash: smp_files::hex(&hash.finalize()[..8]),
        lines: lines
            .into_iter()
            .map(|line| LineView { text: line.text, pointer: line.pointer, secret: line.is_hidden })
            .collect(),
    }
}

fn found_lines<'r>(
    resource: &'r Resource,
    position: usize,
    sources: &'r SourceMap,
    query: &'r str,
) -> impl Iterator<Item = FoundLine> + 'r {
    let view = resource_view(resource, sources);
    let is_named = view.id.to_lowercase().contains(query);
    let line = |(pointer, text): (Option<String>, String)| FoundLine {
        target: String::new(),
        resource: position,
        id: view.id.clone(),
        pointer,
        text,
    };
    let named = is_named.then(|| (None, view.id.clone()));
    let lines = view.lines.iter().filter(|line| line.text.to_lowercase().contains(query));
    let found =
        named.into_iter().chain(lines.map(|line| (line.pointer.clone(), line.text.trim().to_string())));
    found.map(line).collect::<Vec<_>>().into_iter()
}

/// Returns the tree of a target. Parts in local files also have an absolute `path`.
fn layers(built: &Built, shown: &Shown<'_>) -> serde_json::Value {
    let text = tree_to_json(&build_tree(built, shown.sources, &shown.renderer)).unwrap_or_default();
    let text = shown.sources.json_without_hidden_values(&text);
    let mut root: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let mut open = vec![&mut root];
    while let Some(node) = open.pop() {
        let file = node["file"].as_str().and_then(|file| shown.local_path(file));
        if let Some(path) = file {
            node["path"] = path.into();
        }
        open.extend(node.get_mut("children").and_then(serde_json::Value::as_array_mut).into_iter().flatten());
    }
    root
}

/// Returns the path of a field. List entries are identified by their index.
fn field_path(root: &Node, pointer: &str) -> String {
    let (mut path, mut at) = (FieldPath::default(), Some(root));
    for step in pointer_steps(pointer) {
        let list = at.and_then(Node::as_list);
        if let (Some(list), Ok(i)) = (list, step.parse::<usize>()) {
            at = list.get(i);
            path.push(PathElement::Index(i));
        } else {
            at = at.and_then(|node| node.get(&step));
            path.push(PathElement::Field((*step).into()));
        }
    }
    path.to_string()
}

/// Returns the text of a file without its secrets.
fn shown_source(path: &Path, sources: &SourceMap) -> Option<String> {
    let here = DiskTree.working_directory().unwrap_or_default();
    let known = sources.top_level_texts().into_iter().filter_map(|id| sources.get(id));
    let known = known.into_iter().find(|source| here.join(source.name()) == path);
    let source = if let Some(source) = known {
        source
    } else {
        let other = SourceMap::default();
        other.get(other.add(path, DiskTree.read_text(path).ok()?))?
    };
    let shown = |(line, number): (&str, usize)| {
        if source.may_show(number) { line.to_string() } else { hidden_line(line) + "\n" }
    };
    let lines = source.text().split_inclusive('\n').zip(1..).map(shown);
    Some(sources.without_hidden_values(&lines.collect::<String>()).into_owned())
}

/// Replaces a line, except for its indentation.
fn hidden_line(line: &str) -> String {
    let indent: String = line.chars().take_while(|c| *c == ' ').collect();
    indent + HIDDEN
}

/// Converts parts of a build to views.
struct Shown<'b> {
    sources: &'b SourceMap,
    renderer: MessageRenderer<'b>,
    directory: PathBuf,
}

impl<'b> Shown<'b> {
    fn new(target: &'b BuiltTarget) -> Self {
        let directory = DiskTree.working_directory().unwrap_or_default();
        let renderer = MessageRenderer::new(&target.sources, MessageFormat::Text).relative_to(&directory);
        Self { sources: &target.sources, renderer, directory }
    }

    fn location(&self, file: &str, line: usize, column: usize) -> LocationView {
        LocationView { file: file.to_string(), path: self.local_path(file), line, column }
    }

    fn local_path(&self, file: &str) -> Option<String> {
        let path = Some(self.directory.join(file)).filter(|path| DiskTree.contains(path));
        path.map(|path| path.display().to_string())
    }

    /// Returns the findings of a target, with the pointers of their fields in the output.
    fn findings(&self, evaluated: &EvaluatedTarget) -> Vec<FindingView> {
        let Ok(built) = &evaluated.built else {
            return evaluated.findings.iter().map(|finding| self.finding(finding)).collect();
        };
        let resources = built.resources.as_slice();
        let names = resources.iter().zip(0..).map(|(one, i)| (one.id().to_string(), i));
        let names: FxHashMap<String, usize> = names.collect();
        let blamer = Blamer::new(built, self.sources, &self.renderer);
        let mut blames: FxHashMap<usize, Option<ResourceBlame>> = FxHashMap::default();
        let findings = evaluated.findings.iter().map(|finding| {
            let mut view = self.finding(finding);
            if let Some(i) = finding.resource_name().and_then(|name| names.get(name)) {
                view.resource = Some(resource_id(resources[*i].id(), self.sources));
                let blame = blames.entry(*i).or_insert_with(|| blamer.resource(*i));
                let fields = blame.as_ref().zip(finding.field_path());
                let fields = fields.map(|(blame, path)| fields_at(blame, path));
                view.pointer = fields.and_then(|fields| Some(fields.first()?.pointer.clone()));
            }
            view
        });
        findings.collect()
    }

    fn rendered(&self, at: &RenderedLocation) -> LocationView {
        self.location(&at.file, at.line, at.column)
    }

    fn blamed(&self, at: &BlamedLocation) -> LocationView {
        self.location(&at.file, at.line, at.column)
    }

    fn error(&self, problem: &Diagnostic) -> ErrorView {
        let clean =
            |text: &str| self.sources.without_hidden_values(&self.renderer.clean_text(text)).into_owned();
        ErrorView {
            message: clean(problem.message()),
            text: self.renderer.render(problem),
            location: self.renderer.locations(problem).first().map(|at| self.rendered(at)),
        }
    }

    fn finding(&self, finding: &Diagnostic) -> FindingView {
        let clean =
            |text: &str| self.sources.without_hidden_values(&self.renderer.clean_text(text)).into_owned();
        FindingView {
            severity: finding.severity().name(),
            code: finding.code().name(),
            message: clean(finding.message()),
            resource: finding.resource_name().map(clean),
            field: finding.field_path().map(clean),
            pointer: None,
            location: self.renderer.locations(finding).first().map(|at| self.rendered(at)),
            help: finding.help_text().map(clean),
        }
    }

    fn link(&self, write: &BlamedWrite) -> ChainLink {
        let value = write
            .value
            .scalar_text()
            .map_or_else(|| write.value.to_json_value().to_string(), ToString::to_string);
        ChainLink {
            value: self.sources.without_hidden_values(&value).into_owned(),
            by: write.by.to_string(),
            at: write.at.as_ref().map(|at| self.blamed(at)),
            excerpt: write
                .at
                .as_ref()
                .or(write.caused_at.as_ref())
                .map_or_else(Vec::new, |at| self.excerpt(at)),
            caused_at: write.caused_at.as_ref().map(|at| self.blamed(at)),
        }
    }

    fn excerpt(&self, at: &BlamedLocation) -> Vec<ExcerptLine> {
        let Some(source) = self.sources.get(self.sources.outermost(at.span).source) else {
            return Vec::new();
        };
        let last = source.text().lines().count();
        let shown = |line: usize| ExcerptLine {
            line,
            text: if source.may_show(line) {
                self.sources.without_hidden_values(source.line(line)).into_owned()
            } else {
                hidden_line(source.line(line))
            },
            highlight: line == at.line,
        };
        (at.line.saturating_sub(CONTEXT).max(1)..=(at.line + CONTEXT).min(last)).map(shown).collect()
    }

    /// Returns the changes of a build.
    ///
    /// # Errors
    /// The builds could not be compared.
    fn changes(&self, evaluated: &EvaluatedTarget) -> Result<Vec<ChangedObject>, String> {
        if let Some(live) = &evaluated.live {
            return live.clone().map_err(|problem| self.error(&problem).message);
        }
        match evaluated.review.as_ref().map(|review| &review.outcome) {
            Some(TargetOutcome::Compared(changes)) => {
                Ok(changes.objects.iter().map(|object| self.object(object)).collect())
            }
            Some(TargetOutcome::Failed(sides)) => {
                let errors = sides.iter().flatten().map(|problem| self.error(problem).message);
                Err(errors.collect::<Vec<_>>().join("\n"))
            }
            None => Err("the target was not compared".into()),
        }
    }

    fn object(&self, object: &ObjectChange) -> ChangedObject {
        let text =
            |node: &Option<Node>| node.as_ref().and_then(|node| to_yaml(node).ok()).unwrap_or_default();
        let texts = [&object.old, &object.new].map(text);
        let [old, new] = texts.map(|text| self.sources.without_hidden_values(&text).into_owned());
        ChangedObject {
            id: self.sources.without_hidden_values(&object.shown().name).into_owned(),
            action: object.action.as_str(),
            dangers: object.dangers.iter().map(|danger| self.danger(danger)).collect(),
            lines: DiffLine::between(&old, &new),
        }
    }

    fn danger(&self, danger: &ChangeDanger) -> DangerView {
        let finding = self.finding(&danger.finding);
        DangerView {
            severity: finding.severity,
            code: finding.code,
            message: finding.message,
            location: finding.location,
        }
    }
}
