//! The objects that a command sends to a cluster: built targets, or plain manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::document::stdin_bytes;
use super::select::{SelectArgs, is_stream, of_target};
use super::target::{ClusterUse, TargetArgs, has_kustomization};
use super::validation::{Validation, histories_for};
use super::{Failure, render};
use smp_cluster::ConnectOptions;
use smp_files::{DiskTree, FileKind, FileTree as _, Hidden, LinkPolicy, NO_FILE, TreeWalk, WalkOptions};
use smp_merge::schema::Schema;
use smp_overlay::overlay::{Builder, Histories, Remotes, is_remote_file, without_secrets};
use smp_overlay::resource::{LabelSelector, Resource, flatten_lists};
use smp_overlay::schema_chain::cache::{SchemaCache, ServerId};
use smp_text::diagnostic::{Code, Diagnostic, Result, unreadable};
use smp_text::source::{SourceId, SourceMap, Span, is_kustomization};
use smp_text::yaml::{Node, ParseOptions, PrintForm, decode, parse_documents};

/// What to send.
#[derive(Debug, Args)]
pub(super) struct ObjectArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Manifests to use as they are: a file, a directory, a URL, or - for stdin; may be given several times. With
    /// --recursive also what is in the directories of a directory
    #[arg(short, long, value_name = "FILE", value_delimiter = ',', conflicts_with_all = ["targets", "kustomize", "leaves"])]
    filename: Vec<PathBuf>,

    /// Labels that objects must have to be used, as in app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "LABELS", default_value = "", hide_default_value = true)]
    selector: String,

    #[command(flatten)]
    target: TargetArgs,
}

impl ObjectArgs {
    /// Which cluster they are sent to.
    pub(super) fn connect(&self, sources: &SourceMap) -> ConnectOptions {
        self.target.schema.connect.options(sources)
    }

    /// Whether objects are chosen by labels.
    pub(super) fn is_selective(&self) -> bool {
        !self.selector.is_empty()
    }

    /// Builds the target or reads the manifests.
    pub(super) fn load(&self, sources: &SourceMap) -> std::result::Result<Vec<Resource>, Failure> {
        self.load_judged(None, sources)
    }

    /// The same; nothing where a server would refuse something.
    pub(super) fn load_judged(
        &self,
        validation: Option<&Validation<'_>>,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<Resource>, Failure> {
        if self.filename.is_empty() && self.select.is_empty() {
            let message = "name a TARGET to build, such as overlays/prod, or manifests with --filename";
            return Err(Failure::Usage(message.into()));
        }
        let chosen = ChosenObjects { labels: LabelSelector::parse(&self.selector)?, validation };
        let mut resources = if self.filename.is_empty() {
            self.built(&chosen, sources)?
        } else {
            self.manifests(&chosen, sources)?
        };
        let all = resources.len();
        resources.retain(|resource| chosen.has(resource));
        match (resources.is_empty(), all) {
            (false, _) => Ok(resources),
            (true, 0) => Err(Diagnostic::error(Code::NoMatch, "there are no objects").into()),
            (true, all) => {
                let message = format!("none of {all} objects has the labels `{}`", self.selector);
                Err(Diagnostic::error(Code::NoMatch, message).help("look at --selector").into())
            }
        }
    }

    /// Has what a server said of its schemas forgotten: it says something else by now.
    pub(super) fn forget_schemas(&self, server: &ServerId) {
        if let Some(cache) = SchemaCache::open(self.target.cache()) {
            cache.forget(server);
        }
    }

    /// What the targets are built to.
    fn built(
        &self,
        chosen: &ChosenObjects<'_>,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<Resource>, Failure> {
        let selection = self.select.select(self.target.bases(), sources)?;
        let builder = self.target.builder(
            histories_for(chosen.validation),
            sources,
            &selection.targets,
            ClusterUse::Needed,
        )?;
        let (mut resources, mut problems) = (Vec::new(), Vec::new());
        for target in &selection.targets {
            let named = |problems: Vec<Diagnostic>| of_target(problems, target, selection.targets.len());
            match selection.build(&builder, target) {
                Ok(built) => {
                    let (guesses, warnings): (Vec<_>, Vec<_>) =
                        built.warnings.into_iter().partition(|told| is_plain(target) && is_guess(told));
                    problems.extend(named(guesses.into_iter().map(refused).collect()));
                    render::print_before(&named(warnings), sources)?;
                    match chosen.judge(&builder, target, &built.resources) {
                        Ok(found) => render::print_before(&named(found), sources)?,
                        Err(found) => problems.extend(named(found)),
                    }
                    resources.extend(built.resources);
                }
                Err(problem) => problems.extend(named(vec![problem])),
            }
        }
        render::print_before(&builder.take_warnings(), sources)?;
        render::print_schema_sources(&builder.schema_sources());
        if problems.is_empty() { Ok(resources) } else { Err(Failure::Problems(problems)) }
    }

    fn manifests(
        &self,
        chosen: &ChosenObjects<'_>,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<Resource>, Failure> {
        let schema = Schema::embedded();
        let mut resources = Vec::new();
        let inputs = self.filename.iter().map(|path| self.inputs(path)).collect::<Result<Vec<_>>>()?;
        let remotes = Remotes::new(None, self.target.schema.offline);
        for input in inputs.concat() {
            let id = read(&input, &remotes, sources)?;
            let documents = parse_documents(sources, id, ParseOptions::kubectl())?;
            let documents = flatten_lists(documents.into_iter().map(with_kinds_of_items).collect())?;
            for node in documents {
                let resource = Resource::new(node, &schema)?;
                resource.check_printable(PrintForm::Json)?;
                resources.push(resource);
            }
        }
        if chosen.validation.is_some() {
            let builder = self.target.builder(Histories::Dropped, sources, &[], ClusterUse::Needed)?;
            let found = chosen.judge(&builder, Path::new("."), &resources)?;
            render::print_before(&found, sources)?;
        }
        Ok(resources)
    }

    /// What a path stands for: of a directory the files with the names of manifests, sorted.
    fn inputs(&self, path: &Path) -> Result<Vec<Input>> {
        if path == Path::new("-") {
            return Ok(vec![Input::Stdin]);
        }
        if let Some(url) = path.to_str().filter(|text| is_remote_file(text)) {
            return Ok(vec![Input::Url(url.into())]);
        }
        if !DiskTree.is_directory(path) {
            return Ok(vec![Input::Named(path.to_path_buf())]);
        }
        let max_depth = if self.select.is_recursive() { usize::MAX } else { 1 };
        let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Keep, max_depth };
        let mut files = Vec::new();
        for walked in TreeWalk::new(&DiskTree, path, options) {
            let walked = walked.map_err(|error| unreadable(path.display(), &error))?;
            let extension = walked.path.extension().and_then(|e| e.to_str());
            if !matches!(extension, Some("json" | "yaml" | "yml")) {
                continue;
            }
            match walked.kind {
                FileKind::File => files.push(Input::InDirectory(path.join(walked.path))),
                FileKind::Other => {
                    let message = format!("{} is {NO_FILE}", path.join(walked.path).display());
                    return Err(Diagnostic::error(Code::Io, message).help("take it out of the directory"));
                }
                FileKind::Directory | FileKind::Link => {}
            }
        }
        Ok(files)
    }
}

/// Whether a target is merged by schemas alone: kustomize replaces what it has no schema of, and so do kustomizations.
fn is_plain(target: &Path) -> bool {
    !is_stream(target)
        && !Builder::is_remote(target)
        && !is_kustomization(target)
        && !has_kustomization(target)
}

/// Whether a list was replaced since nobody knows how it is merged.
fn is_guess(warning: &Diagnostic) -> bool {
    warning.code() == Code::NoSchema
}

/// What goes to a cluster, or is shown as what would, is not merged by guess.
fn refused(guess: Diagnostic) -> Diagnostic {
    guess.into_error().help(
        "name a cluster that has the CRD, add the CRD to the base, give its schema by `--schema FILE`, or write it down \
         with `kubectl smp lock --schemas cluster`",
    )
}

/// Where manifests come from.
#[derive(Debug, Clone)]
enum Input {
    Url(String),
    Stdin,
    /// What the user names, which may be a pipe.
    Named(PathBuf),
    /// A file in a directory that the user names.
    InDirectory(PathBuf),
}

fn read(input: &Input, remotes: &Remotes, sources: &SourceMap) -> Result<SourceId> {
    let (name, bytes) = match input {
        Input::Url(url) => (PathBuf::from(without_secrets(url)), Ok(remotes.file(url, Span::default())?)),
        Input::Stdin => ("<stdin>".into(), stdin_bytes()),
        Input::Named(path) => (path.clone(), DiskTree.read_stream(path)),
        Input::InDirectory(path) => (path.clone(), DiskTree.read(path)),
    };
    let text = decode(bytes.map_err(|error| unreadable(name.display(), &error))?)
        .map_err(|error| error.note(format!("in {}", name.display())))?;
    Ok(sources.add(name, text))
}

/// Which of the objects are used, and what judges those.
struct ChosenObjects<'o> {
    labels: LabelSelector,
    validation: Option<&'o Validation<'o>>,
}

impl ChosenObjects<'_> {
    fn has(&self, resource: &Resource) -> bool {
        let own: BTreeMap<&str, &str> = resource.labels().collect();
        self.labels.matches(|name| own.get(name).copied())
    }

    /// What there is to say of those that are used.
    fn judge<'r>(
        &self,
        builder: &Builder,
        target: &Path,
        all: impl IntoIterator<Item = &'r Resource> + Clone,
    ) -> std::result::Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let Some(validation) = self.validation else { return Ok(Vec::new()) };
        let chosen = all.clone().into_iter().filter(|resource| self.has(resource));
        let mut found = validation.judge(builder, target, all, chosen);
        validation.once(match &mut found {
            Ok(found) | Err(found) => found,
        });
        found
    }
}

/// A list of one kind, such as a ConfigMapList, whose items say what they are: servers leave that out.
fn with_kinds_of_items(mut list: Node) -> Node {
    let text = |field: &str| list.get(field).and_then(Node::as_str).unwrap_or_default().to_string();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let Some(kind) = kind.strip_suffix("List").filter(|kind| !kind.is_empty()) else { return list };
    for item in list.get_mut("items").and_then(Node::as_list_mut).into_iter().flatten() {
        if let Some(item) = item.as_map_mut().filter(|item| !item.contains_key("kind")) {
            item.insert("apiVersion", Node::string(version.clone()));
            item.insert("kind", Node::string(kind));
        }
    }
    list
}
