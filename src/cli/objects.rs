//! The objects that a command sends to a cluster, from built targets or manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::disk::record_access;
use super::document::stdin_bytes;
use super::select::{SelectArgs, is_stream, with_target};
use super::target::{ClusterUse, SchemaArgs, TargetArgs, has_kustomization};
use super::validation::{Validation, histories_for};
use super::{Failure, render};
use smp_cluster::ConnectOptions;
use smp_files::{DiskTree, FileKind, FileTree as _, Hidden, LinkPolicy, SPECIAL_FILE, TreeWalk, WalkOptions};
use smp_merge::schema::{Gvk, Schema, TypeGraph};
use smp_overlay::overlay::{Builder, Histories, Remotes, is_remote_file, without_secrets};
use smp_overlay::resource::{LabelSelector, Resource, flatten_lists};
use smp_overlay::schema_chain::cache::{SchemaCache, ServerId};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{SourceId, SourceMap, Span, is_kustomization};
use smp_text::yaml::{Node, ParseOptions, PrintFormat, decode, parse_documents};

/// The flags that select objects.
#[derive(Debug, Args)]
pub(super) struct ObjectArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// File, directory or URL with manifests, or -; repeatable
    ///
    /// The manifests are used as they are, without a build. With --recursive, subdirectories are also
    /// searched.
    #[arg(short, long, value_name = "FILE", value_delimiter = ',', conflicts_with_all = ["targets", "kustomize", "leaves"])]
    filename: Vec<PathBuf>,

    /// Label selector of the objects, such as app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    selector: String,

    #[command(flatten)]
    target: TargetArgs,
}

impl ObjectArgs {
    /// Returns the connection options of the cluster.
    pub(super) fn connect(&self, sources: &SourceMap) -> ConnectOptions {
        self.target.schema.connect.options(sources)
    }

    /// Returns the flags that select targets, and the build flags.
    pub(super) fn build_flags(&self) -> (&SelectArgs, &TargetArgs) {
        (&self.select, &self.target)
    }

    /// Returns a mutable reference to the flags that select targets, and the build flags.
    pub(super) fn build_flags_mut(&mut self) -> (&mut SelectArgs, &TargetArgs) {
        (&mut self.select, &self.target)
    }

    /// Returns true if a label selector is set.
    pub(super) fn is_selective(&self) -> bool {
        !self.selector.is_empty()
    }

    /// Returns the files and directories as the user typed them.
    pub(super) fn paths(&self) -> &[PathBuf] {
        if self.filename.is_empty() { self.select.named() } else { &self.filename }
    }

    /// Builds the target or reads the manifests.
    pub(super) fn load(&self, sources: &SourceMap) -> std::result::Result<Vec<Resource>, Failure> {
        self.load_validated(None, sources)
    }

    /// Builds the target or reads the manifests. Validates the objects if `validation` is set.
    ///
    /// # Errors
    /// No target and no file is named, a build fails, manifests cannot be read, no object is
    /// selected, or an object is invalid.
    pub(super) fn load_validated(
        &self,
        validation: Option<&Validation<'_>>,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<Resource>, Failure> {
        if self.filename.is_empty() && self.select.is_empty() {
            let message = "no objects given: use a TARGET to build, such as overlays/prod, or --filename";
            return Err(Failure::Usage(message.into()));
        }
        let filter = ObjectFilter { labels: LabelSelector::parse(&self.selector)?, validation };
        let mut resources = if self.filename.is_empty() {
            self.build(&filter, sources)?
        } else {
            self.manifests(&filter, sources)?
        };
        let all = resources.len();
        resources.retain(|resource| filter.matches(resource));
        match (resources.is_empty(), all) {
            (false, _) => Ok(resources),
            (true, 0) => Err(Diagnostic::error(Code::NoMatch, "no objects found").into()),
            (true, all) => {
                let message = format!("none of {all} objects matches the selector `{}`", self.selector);
                Err(Diagnostic::error(Code::NoMatch, message).help("check --selector").into())
            }
        }
    }

    /// Removes the cached schemas of a server, which are outdated.
    pub(super) fn forget_schemas(&self, server: &ServerId) {
        if let Some(cache) = SchemaCache::open(self.target.cache()) {
            cache.remove_index(server);
        }
    }

    /// Builds the targets.
    fn build(
        &self,
        filter: &ObjectFilter<'_>,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<Resource>, Failure> {
        let selection = self.select.select(self.target.bases(), sources)?;
        let builder = self.target.builder(
            histories_for(filter.validation),
            sources,
            &selection.targets,
            ClusterUse::Required,
        )?;
        let (mut resources, mut problems) = (Vec::new(), Vec::new());
        for target in &selection.targets {
            let named = |problems: Vec<Diagnostic>| with_target(problems, target, selection.targets.len());
            match selection.build(&builder, target) {
                Ok(built) => {
                    let (without_schema, warnings): (Vec<_>, Vec<_>) = built
                        .warnings
                        .into_iter()
                        .partition(|one| is_plain(target) && is_without_schema(one));
                    problems.extend(named(without_schema.into_iter().map(schema_required).collect()));
                    render::print_or_reject(&named(warnings), sources)?;
                    match filter.validate(&builder, target, &built.resources) {
                        Ok(found) => render::print_or_reject(&named(found), sources)?,
                        Err(found) => problems.extend(named(found)),
                    }
                    resources.extend(built.resources);
                }
                Err(problem) => problems.extend(named(vec![problem])),
            }
        }
        render::print_or_reject(&builder.take_warnings(), sources)?;
        render::print_schema_sources(&builder.schema_sources());
        if problems.is_empty() { Ok(resources) } else { Err(Failure::Problems(problems)) }
    }

    fn manifests(
        &self,
        filter: &ObjectFilter<'_>,
        sources: &SourceMap,
    ) -> std::result::Result<Vec<Resource>, Failure> {
        let schema = Schema::embedded();
        let mut resources = Vec::new();
        let depth = if self.select.is_recursive() { usize::MAX } else { 1 };
        for node in read_manifests(&self.filename, depth, self.target.schema.offline, sources)? {
            let resource = Resource::new(node, &schema)?;
            resource.check_printable(PrintFormat::Json)?;
            resources.push(resource);
        }
        if filter.validation.is_some() {
            let builder = self.target.builder(Histories::Disabled, sources, &[], ClusterUse::Required)?;
            let found = filter.validate(&builder, Path::new("."), &resources)?;
            render::print_or_reject(&found, sources)?;
        }
        Ok(resources)
    }

    /// Reads a dump of live objects. Returns it with the built-in types and those of `--schema
    /// FILE`. CRDs in this file are treated as live if the dump lacks them.
    pub(super) fn dump(&self, paths: &[PathBuf], sources: &SourceMap) -> Result<(Vec<Value>, Schema)> {
        let args = &self.target.schema;
        let mut live = read_dump(paths, args.offline, sources)?;
        let (file, definitions) = args.file_with_definitions(sources)?;
        let is_crd = |object: &&Value| Gvk::from_object(object).is_some_and(|gvk| gvk.is_crd());
        let name = |object: &Value| object["metadata"]["name"].clone().to_string();
        let known: FxHashSet<String> = live.iter().filter(is_crd).map(name).collect();
        let definitions = definitions.iter().map(Node::to_json_value);
        live.extend(definitions.filter(|definition| !known.contains(&name(definition))));
        Ok((live, with_embedded(file.map(Arc::new))))
    }
}

/// Reads a dump of live objects. Prints a note if no object has managed fields, which kubectl omits
/// by default.
pub(super) fn read_dump(paths: &[PathBuf], offline: bool, sources: &SourceMap) -> Result<Vec<Value>> {
    let documents = read_documents(paths, usize::MAX, offline, sources)?;
    if documents.is_empty() {
        let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        let message = format!("no objects in {}", paths.join(", "));
        let help = "pass what `kubectl get -o yaml --show-managed-fields` prints; if nothing is live, write \
                    `{apiVersion: v1, kind: List, items: []}`";
        return Err(Diagnostic::error(Code::MissingField, message).help(help));
    }
    let nodes = flatten_lists(documents)?;
    nodes.iter().try_for_each(check_live)?;
    let has_managers = |node: &Node| node.get_path(&["metadata", "managedFields"]).is_some();
    if !nodes.is_empty() && !nodes.iter().any(has_managers) {
        render::print_note(
            "the live objects have no managed fields: `kubectl get -o yaml --show-managed-fields` writes them",
        );
    }
    Ok(nodes.iter().map(Node::to_json_value).collect())
}

/// Checks that a live object can be found by its kind and name.
fn check_live(object: &Node) -> Result<()> {
    let has =
        |path: &[&str]| object.get_path(path).and_then(Node::as_str).is_some_and(|text| !text.is_empty());
    if has(&["apiVersion"]) && has(&["kind"]) && has(&["metadata", "name"]) {
        return Ok(());
    }
    let message = "a live object lacks `apiVersion`, `kind` or `metadata.name`";
    Err(Diagnostic::error(Code::MissingField, message)
        .at(object.span().at_start())
        .help("pass what `kubectl get -o yaml --show-managed-fields` prints"))
}

/// Returns the built-in types and those of `--schema FILE`.
pub(super) fn schema_without_cluster(args: &SchemaArgs, sources: &SourceMap) -> Result<Schema> {
    Ok(with_embedded(args.file(sources)?))
}

fn with_embedded(file: Option<Arc<TypeGraph>>) -> Schema {
    let mut schema = Schema::embedded();
    if let Some(graph) = file {
        schema.push_front("file", graph);
    }
    schema
}

/// Reads the objects in manifests. Lists are replaced by their items.
pub(super) fn read_manifests(
    paths: &[PathBuf],
    depth: usize,
    offline: bool,
    sources: &SourceMap,
) -> Result<Vec<Node>> {
    flatten_lists(read_documents(paths, depth, offline, sources)?)
}

fn read_documents(paths: &[PathBuf], depth: usize, offline: bool, sources: &SourceMap) -> Result<Vec<Node>> {
    let remotes = Remotes::new(None, offline);
    let inputs = paths.iter().map(|path| inputs_of(path, depth)).collect::<Result<Vec<_>>>()?;
    let mut nodes = Vec::new();
    for input in inputs.concat() {
        let id = read(&input, &remotes, sources)?;
        let documents = parse_documents(sources, id, ParseOptions::kubectl())?;
        nodes.extend(documents.into_iter().map(with_kinds_of_items));
    }
    Ok(nodes)
}

/// Returns the inputs that `path` names. For a directory, these are its manifest files, sorted by
/// name.
fn inputs_of(path: &Path, max_depth: usize) -> Result<Vec<Input>> {
    if path == Path::new("-") {
        return Ok(vec![Input::Stdin]);
    }
    if let Some(url) = path.to_str().filter(|text| is_remote_file(text)) {
        return Ok(vec![Input::Url(url.into())]);
    }
    record_access(path);
    if !DiskTree.is_directory(path) {
        return Ok(vec![Input::Named(path.to_path_buf())]);
    }
    let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Keep, max_depth };
    let mut files = Vec::new();
    for walked in TreeWalk::new(&DiskTree, path, options) {
        let walked = walked.map_err(|error| error.diagnostic())?;
        let extension = walked.path.extension().and_then(|e| e.to_str());
        if !matches!(extension, Some("json" | "yaml" | "yml")) {
            continue;
        }
        match walked.kind {
            FileKind::File => files.push(Input::InDirectory(path.join(walked.path))),
            FileKind::Other => {
                let message = format!("{} is {SPECIAL_FILE}", path.join(walked.path).display());
                return Err(Diagnostic::error(Code::Io, message).help("remove it from the directory"));
            }
            FileKind::Directory | FileKind::Link => {}
        }
    }
    Ok(files)
}

/// Returns true for a plain overlay. Its lists are only merged by schema. In kustomizations, lists
/// without a schema are replaced, as in kustomize.
fn is_plain(target: &Path) -> bool {
    !is_stream(target)
        && !Builder::is_remote(target)
        && !is_kustomization(target)
        && !has_kustomization(&DiskTree, target)
}

/// Returns true for the warning that a list was replaced because it has no schema.
fn is_without_schema(warning: &Diagnostic) -> bool {
    warning.code() == Code::NoSchema
}

/// Converts the warning about a missing schema to an error, since objects for a cluster are never
/// merged without a schema.
fn schema_required(warning: Diagnostic) -> Diagnostic {
    warning.into_error().help(
        "use a cluster that has the CRD, add the CRD to the base, use `--schema FILE`, or pin the schema with \
         `kubectl smp lock --pin-schemas cluster`",
    )
}

/// A source of manifests.
#[derive(Debug, Clone)]
enum Input {
    Url(String),
    Stdin,
    /// A file that the user typed. It may be a pipe.
    Named(PathBuf),
    /// A file in a directory that the user typed.
    InDirectory(PathBuf),
}

fn read(input: &Input, remotes: &Remotes, sources: &SourceMap) -> Result<SourceId> {
    let (name, bytes) = match input {
        Input::Url(url) => (PathBuf::from(without_secrets(url)), Ok(remotes.file(url, Span::default())?)),
        Input::Stdin => ("<stdin>".into(), stdin_bytes()),
        Input::Named(path) => (path.clone(), DiskTree.read_stream(path)),
        Input::InDirectory(path) => (path.clone(), DiskTree.read(path)),
    };
    let text = decode(bytes.map_err(|error| read_error(format_args!("`{}`", name.display()), &error))?)
        .map_err(|error| error.note(format!("in {}", name.display())))?;
    Ok(sources.add(name, text))
}

/// Selects objects by labels, and validates the selected ones.
struct ObjectFilter<'o> {
    labels: LabelSelector,
    validation: Option<&'o Validation<'o>>,
}

impl ObjectFilter<'_> {
    fn matches(&self, resource: &Resource) -> bool {
        let own: BTreeMap<&str, &str> = resource.labels().collect();
        self.labels.matches(|name| own.get(name).copied())
    }

    /// Validates the selected objects. Returns warnings and notes. If an object is invalid, returns
    /// errors.
    fn validate<'r>(
        &self,
        builder: &Builder,
        target: &Path,
        all: impl IntoIterator<Item = &'r Resource> + Clone,
    ) -> std::result::Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let Some(validation) = self.validation else { return Ok(Vec::new()) };
        let selected = all.clone().into_iter().filter(|resource| self.matches(resource));
        let mut found = validation.validate(builder, target, all, selected);
        validation.deduplicate(match &mut found {
            Ok(found) | Err(found) => found,
        });
        found
    }
}

/// Adds `apiVersion` and `kind` to the items of a typed list such as ConfigMapList, in which
/// servers omit them.
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
