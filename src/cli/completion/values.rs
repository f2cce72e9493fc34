//! The values of flags and arguments, from a closed list or from files.
//!
//! Nothing is fetched, no program is run, and no cluster is contacted, since a completion must be
//! fast and silent.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use clap::{Arg, ValueHint};

use super::answer::{Candidate, Completions, Directive};
use super::line::Line;
use crate::cli::format::OutputFormat;
use crate::cli::target::has_kustomization;
use smp_files::{DiskTree, FileKind, FileTree as _};
use smp_inspect::check::{RULES, message_codes};
use smp_inspect::explain::image_fields;
use smp_merge::schema::{Cursor, Schema, TypeKind, named_kinds, short_names};
use smp_overlay::edit::BUILD_METADATA;
use smp_overlay::overlay::{BuildOptions, Builder, Built};
use smp_overlay::resource::{ObjectArg, Resource};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml::{Node, ParseOptions, parse_documents};

/// The maximum number of directories in which targets are searched.
const MAX_DIRECTORIES: usize = 500;

/// The maximum number of targets that are completed. If there are more, directories are completed
/// step by step.
const MAX_TARGETS: usize = 100;

/// Returns the values of a flag or argument.
pub(super) fn values(line: &Line<'_>, arg: &Arg, typed: &str) -> Completions {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let visible = possible.iter().filter(|value| !value.is_hide_set());
        let described = |value: &clap::builder::PossibleValue| {
            Candidate::new(value.get_name(), value.get_help().map(ToString::to_string).unwrap_or_default())
        };
        return Completions::closed(visible.map(described).collect());
    }
    if let Some(found) = of_edit(line, arg, typed) {
        return found;
    }
    match (arg.get_id().as_str(), value_name(arg)) {
        ("rules" | "ignore" | "explain", "CODE") => Completions::closed(rules()),
        ("context" | "cluster" | "user", "NAME") => {
            Completions::closed(kubeconfig_names(line, arg.get_id().as_str()))
        }
        // With `-k`, the first argument of `blame` is the resource.
        (_, "TARGET") if line.path == ["blame"] && line.values_of("kustomize").next().is_some() => {
            resources(line, typed)
        }
        (_, "TARGET") => targets(typed),
        (_, "KIND/[NAMESPACE/]NAME[:FIELD.PATH]" | "KIND/NAME") => resources(line, typed),
        (_, "KIND" | "KIND[.GROUP]" | "KIND[.FIELD...]") => Completions::closed(kinds()),
        ("behavior", _) => {
            Completions::closed(["create", "merge", "replace"].into_iter().map(Candidate::plain).collect())
        }
        ("layout", _) => Completions::closed(
            ["resource", "target", "single", "{target}/{kind}-{name}.yaml"].map(Candidate::plain).into(),
        ),
        // `kustomize version` also accepts other formats, but prints nothing.
        ("output", "FORMAT") => Completions::closed(["yaml", "json"].map(Candidate::plain).into()),
        (_, "OPTION,...") => Completions::closed(BUILD_METADATA.map(Candidate::plain).into()),
        (_, "DIR") => Completions::by_shell(Directive::Directories),
        (_, "FORMAT|PATH") => Completions {
            candidates: OutputFormat::NAMES.into_iter().map(Candidate::plain).collect(),
            directive: Directive::Files,
        },
        (_, "FILE" | "PATH" | "FILE|DIR|-" | "SOURCE") => Completions::by_shell(Directive::Files),
        _ => by_hint(arg),
    }
}

fn value_name(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn by_hint(arg: &Arg) -> Completions {
    Completions::by_shell(match arg.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath => Directive::Files,
        ValueHint::DirPath => Directive::Directories,
        _ => Directive::Nothing,
    })
}

/// Returns the lint rules with their descriptions.
fn rules() -> Vec<Candidate> {
    let codes = RULES.iter().map(|rule| rule.code).chain(message_codes());
    codes.map(|code| Candidate::new(code.name(), code.meaning())).collect()
}

/// Returns the kinds of Kubernetes in lower case, as in kubectl, with their short names as
/// descriptions.
fn kinds() -> Vec<Candidate> {
    let schema = Schema::embedded();
    let kinds = schema.graphs().flat_map(|(_, graph)| named_kinds(graph));
    let described: BTreeSet<(String, String)> = kinds
        .filter(|kind| !kind.gvk.kind.ends_with("List"))
        .map(|kind| {
            let short: Vec<&str> = short_names(&kind.gvk).collect();
            (kind.gvk.kind.to_lowercase(), short.join(", "))
        })
        .collect();
    described.into_iter().map(|(kind, short)| Candidate::new(kind, short)).collect()
}

/// Returns the names of the contexts, clusters or users in the kubeconfig.
#[cfg(feature = "cluster")]
fn kubeconfig_names(line: &Line<'_>, id: &str) -> Vec<Candidate> {
    use smp_cluster::{ConnectOptions, KubeconfigNames};
    let kubeconfig = line.values_of("kubeconfig").last().map(PathBuf::from);
    let options = ConnectOptions { kubeconfig, ..ConnectOptions::default() };
    let KubeconfigNames { contexts, clusters, users } = options.names().unwrap_or_default();
    let names = match id {
        "context" => contexts,
        "cluster" => clusters,
        _ => users,
    };
    names.into_iter().map(Candidate::plain).collect()
}

#[cfg(not(feature = "cluster"))]
fn kubeconfig_names(_: &Line<'_>, _: &str) -> Vec<Candidate> {
    Vec::new()
}

/// Returns the directories with a kustomization at or below the typed directory. If there are none
/// or too many, the shell completes directories.
fn targets(typed: &str) -> Completions {
    let above = typed.rfind('/').map_or("", |end| &typed[..=end]);
    let (mut open, mut found, mut listed) = (VecDeque::from([PathBuf::from(above)]), Vec::new(), 0);
    while let Some(directory) = open.pop_front() {
        listed += 1;
        if listed > MAX_DIRECTORIES || found.len() > MAX_TARGETS {
            return Completions::by_shell(Directive::Directories);
        }
        if !directory.as_os_str().is_empty() && has_kustomization(&DiskTree, &directory) {
            found.push(directory.to_string_lossy().into_owned());
        }
        let here = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
        let is_hidden = |name: &str| name.starts_with('.') || name == "node_modules";
        let below = DiskTree.list(here).unwrap_or_default().into_iter();
        let below = below.filter(|entry| entry.kind == FileKind::Directory);
        let names =
            below.filter_map(|entry| entry.name.to_str().filter(|name| !is_hidden(name)).map(str::to_string));
        open.extend(names.map(|name| directory.join(name)).filter(|path| {
            let path = path.to_string_lossy();
            path.starts_with(typed) || typed.starts_with(&*path)
        }));
    }
    if found.is_empty() {
        return Completions::by_shell(Directive::Directories);
    }
    Completions::closed(found.into_iter().map(Candidate::plain).collect())
}

/// Builds the target of a command line: that of the last `--kustomize`, otherwise the first
/// argument or the working directory.
fn built(line: &Line<'_>) -> Option<Built> {
    let named = line.values_of("kustomize").last().or_else(|| line.arguments.first().map(String::as_str));
    build(Path::new(named.unwrap_or(".")))
}

fn build(directory: &Path) -> Option<Built> {
    let options = BuildOptions { offline: true, ..BuildOptions::default() };
    Builder::new(options).ok()?.build(directory).ok()
}

/// Returns the resources of the target as `kind/name`, and the field paths of a resource after `:`.
fn resources(line: &Line<'_>, typed: &str) -> Completions {
    let Some(built) = built(line) else { return Completions::closed(Vec::new()) };
    if let Some((object, _)) = typed.rsplit_once(':') {
        let named = ObjectArg::parse(object)
            .and_then(|object| built.resources.iter().find(|resource| object.matches(resource.id())));
        let mut paths = Vec::new();
        if let Some(resource) = named {
            field_paths(resource.node(), "", &mut paths);
        }
        return Completions::closed(
            paths.into_iter().map(|path| Candidate::plain(format!("{object}:{path}"))).collect(),
        );
    }
    let candidate = |resource: &Resource| {
        let id = resource.id();
        Candidate::new(
            format!("{}/{}", id.gvk.kind.to_lowercase(), id.name),
            id.effective_namespace().to_string(),
        )
    };
    Completions::closed(built.resources.iter().map(candidate).collect())
}

/// Collects the paths of all scalar fields. Entries of lists are identified by their `name` or
/// index.
fn field_paths(node: &Node, path: &str, found: &mut Vec<String>) {
    if let Some(map) = node.as_map() {
        for (name, value) in map.iter() {
            field_paths(
                value,
                &if path.is_empty() { name.to_string() } else { format!("{path}.{name}") },
                found,
            );
        }
    } else if let Some(list) = node.as_list() {
        for (i, entry) in list.iter().enumerate() {
            let step = match entry.get("name").and_then(Node::as_str) {
                Some(name) => format!("{path}[name={name}]"),
                None => format!("{path}[{i}]"),
            };
            field_paths(entry, &step, found);
        }
    } else {
        found.push(path.to_string());
    }
}

/// The arguments of `edit` commands with values from the kustomization: the command, the field with
/// the values, the field of each entry, and the text after each value.
const EDITED: [(&[&str], &str, &str, &str); 11] = [
    (&["remove", "resource"], "resources", "", ""),
    (&["remove", "component"], "components", "", ""),
    (&["remove", "transformer"], "transformers", "", ""),
    (&["remove", "configmap"], "configMapGenerator", "name", ""),
    (&["remove", "secret"], "secretGenerator", "name", ""),
    (&["set", "configmap"], "configMapGenerator", "name", ""),
    (&["set", "secret"], "secretGenerator", "name", ""),
    (&["remove", "label"], "commonLabels", "", ""),
    (&["set", "label"], "commonLabels", "", ":"),
    (&["remove", "annotation"], "commonAnnotations", "", ""),
    (&["set", "annotation"], "commonAnnotations", "", ":"),
];

/// Returns the values of an argument of `edit`, or `None` for a flag or another command.
fn of_edit(line: &Line<'_>, arg: &Arg, typed: &str) -> Option<Completions> {
    if !arg.is_positional() {
        return None;
    }
    let at = line.path.iter().position(|name| *name == "edit")?;
    let words = &line.path[at + 1..];
    let directory = line.values_of("kustomize").last().unwrap_or(".");
    if words == ["set", "image"] {
        return Some(no_space(images(Path::new(directory)), "="));
    }
    if words == ["set", "replicas"] {
        return Some(no_space(scaled(Path::new(directory)), "="));
    }
    if words == ["add", "patch"] {
        return line.arguments.first().map(|object| fields_to_patch(Path::new(directory), object, typed));
    }
    let (_, field, key, end) = EDITED.iter().find(|(path, ..)| *path == words)?;
    let node = kustomization(Path::new(directory))?;
    let value = node.get(field)?;
    let names: BTreeSet<String> = match (value.as_map(), value.as_list()) {
        (Some(map), _) => map.iter().map(|(name, _)| name.to_string()).collect(),
        (_, Some(list)) => {
            let text = |entry: &Node| match *key {
                "" => entry.as_str().map(str::to_string),
                key => entry.get(key).and_then(Node::as_str).map(str::to_string),
            };
            list.iter().filter_map(text).collect()
        }
        _ => BTreeSet::new(),
    };
    Some(no_space(names, end))
}

/// Returns names as completions. If they end with a separator, no space is added after them.
fn no_space(names: BTreeSet<String>, end: &str) -> Completions {
    let candidates = names.into_iter().map(|name| Candidate::plain(format!("{name}{end}"))).collect();
    let directive = if end.is_empty() { Directive::Nothing } else { Directive::NoSpace };
    Completions { candidates, directive }
}

fn kustomization(directory: &Path) -> Option<Node> {
    let text = KUSTOMIZATION_FILES.iter().find_map(|name| DiskTree.read_text(&directory.join(name)).ok())?;
    let sources = SourceMap::default();
    let id = sources.add(directory.to_path_buf(), text);
    parse_documents(&sources, id, ParseOptions::default()).ok()?.into_iter().next()
}

/// Returns the names of the images in the build of a directory, and in its entries of `images`.
fn images(directory: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(entries) = kustomization(directory).as_ref().and_then(|node| node.get("images")?.as_list()) {
        names.extend(entries.iter().filter_map(|entry| entry.get("name")?.as_str().map(str::to_string)));
    }
    let built = build(directory);
    let fields = built.iter().flat_map(|built| built.resources.iter()).flat_map(image_fields);
    names.extend(fields.map(|field| smp_overlay::edit::image_name(&field.image).to_string()));
    names
}

/// Returns the names of scalable objects in a build, and the names in the `replicas` of its
/// directory.
fn scaled(directory: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(entries) = kustomization(directory).as_ref().and_then(|node| node.get("replicas")?.as_list())
    {
        names.extend(entries.iter().filter_map(|entry| entry.get("name")?.as_str().map(str::to_string)));
    }
    let is_scaled = |resource: &&Resource| {
        matches!(
            &*resource.id().gvk.kind,
            "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet"
        )
    };
    let built = build(directory);
    let scaled = built.iter().flat_map(|built| built.resources.iter()).filter(is_scaled);
    names.extend(scaled.map(|resource| resource.original_id().name.to_string()));
    names
}

/// Returns field paths for `edit add patch`: those of the object, and those of the schema.
///
/// The schema is only searched directly below the typed path.
fn fields_to_patch(directory: &Path, object: &str, typed: &str) -> Completions {
    let built = build(directory);
    let wanted = ObjectArg::parse(object);
    let found = built
        .iter()
        .flat_map(|built| built.resources.iter())
        .find(|resource| wanted.as_ref().is_some_and(|wanted| resource.ids().any(|id| wanted.matches(id))));
    let mut paths = BTreeSet::new();
    if let Some(resource) = found {
        let mut known = Vec::new();
        field_paths(resource.node(), "", &mut known);
        // List entries are identified by their keys, not by their index.
        let has_position = |path: &String| path.split('[').skip(1).any(|step| !step.contains('='));
        paths.extend(known.into_iter().filter(|path| !has_position(path)).map(|path| path + "="));
        paths.extend(schema_fields(resource, typed.rfind('.').map_or("", |end| &typed[..=end])));
    }
    paths.retain(|path| {
        !["apiVersion=", "kind=", "metadata.name=", "metadata.namespace="].contains(&path.as_str())
    });
    let candidates = paths.into_iter().map(Candidate::plain).collect();
    Completions { candidates, directive: Directive::NoSpace }
}

/// Returns the fields of the schema of a resource directly below a path that ends with a dot.
fn schema_fields(resource: &Resource, above: &str) -> Vec<String> {
    let schema = Schema::embedded();
    let Some(kind) = schema.kind(&resource.id().gvk) else { return Vec::new() };
    let parent = above.split('.').filter(|step| !step.is_empty()).fold(kind, |cursor, step| {
        match step.split_once('[') {
            Some((name, _)) => cursor.field(name).element(),
            None => cursor.field(step),
        }
    });
    let end = |cursor: Cursor<'_>| match cursor.type_kind() {
        TypeKind::Object => ".",
        TypeKind::Array => "[",
        _ => "=",
    };
    parent.fields().map(|(name, field)| format!("{above}{name}{}", end(field))).collect()
}
