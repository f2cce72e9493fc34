//! Helpers for the unit tests of transformers.

use super::Files;
use super::generator::GeneratorArgs;
use crate::resource::{Resource, ResourceSet};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, ParseOptions, from_node, parse_documents, to_yaml};

/// Parses the documents of YAML text.
pub(super) fn nodes(text: &str) -> Vec<Node> {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    let mut nodes = parse_documents(&sources, id, ParseOptions::default()).expect("valid YAML");
    nodes.retain(|n| !n.is_null());
    nodes
}

/// Parses the resources of YAML text.
pub(super) fn set(text: &str) -> ResourceSet {
    let schema = Schema::kustomize();
    let mut set = ResourceSet::new();
    for node in nodes(text) {
        set.append(Resource::new(node, &schema).expect("a resource")).expect("a new id");
    }
    set
}

/// Returns the names of the resources in order.
pub(super) fn names(set: &ResourceSet) -> Vec<String> {
    set.iter().map(|r| r.id().name.to_string()).collect()
}

/// Returns the resources as `kustomize build` prints them.
pub(super) fn text(set: &ResourceSet) -> String {
    set.iter().map(|r| to_yaml(r.node()).expect("printable")).collect::<Vec<_>>().join("---\n")
}

/// Returns a value of the resource at a position as text: `null` if it is null, empty if it does not exist.
pub(super) fn at(set: &ResourceSet, i: usize, path: &str) -> String {
    let names: Vec<&str> = path.split('.').collect();
    let node = names.iter().try_fold(set.as_slice()[i].node(), |node, name| match name.parse::<usize>() {
        Ok(i) => node.as_list().and_then(|l| l.get(i)),
        Err(_) => node.get(name),
    });
    node.map_or_else(String::new, |n| to_yaml(n).expect("printable").trim_end().to_string())
}

/// Parses the arguments of a generator.
pub(super) fn generator_args(text: &str) -> GeneratorArgs {
    from_node(&nodes(text)[0]).expect("arguments")
}

/// Three files for generators.
pub(super) struct SomeFiles;

impl Files for SomeFiles {
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
        match path {
            "dir/text" => Ok(b"two\nlines\n".to_vec()),
            "bin" => Ok(vec![0xff; 60]),
            "x.env" => Ok(b"E=1\nF=2".to_vec()),
            _ => Err(Diagnostic::error(Code::Io, format!("no file {path}")).at(at)),
        }
    }
}
