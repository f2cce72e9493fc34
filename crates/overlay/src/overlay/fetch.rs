//! Fetches the remote references of a target before it is built.
//!
//! The walk reads kustomizations and the configurations of plugins. Other files are only read if they are remote. It
//! starts no threads, so that a sandbox can be entered afterwards. This module must not depend on builds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::find_bases;
use super::kustomization::Kustomization;
use super::load_tree::load_tree;
use super::plugin;
use super::remote::is_remote_file;
use super::root::{Reader, Root, Target};
use super::tree::{SharedTrees, inline_manifests, manifests, resolve_entry_path};
use crate::resource::Resource;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::yaml::{Node, Spanned};

/// A walk over the references of targets. It continues after references that cannot be fetched or read.
pub(super) struct FetchWalk<'w> {
    /// The explicit bases of a plain directory.
    bases: &'w [PathBuf],
    schema: &'w Schema,
    /// Visited directories, by real path.
    entered: BTreeSet<Arc<Path>>,
    /// The fetched repositories among them.
    repositories: BTreeSet<PathBuf>,
    /// Directories with plugin configurations, which are read completely, each once.
    trees: SharedTrees,
    /// Visited directories whose kustomizations were not read yet.
    waiting: Vec<Root>,
    /// The first error.
    problem: Option<Diagnostic>,
}

impl<'w> FetchWalk<'w> {
    pub(super) fn new(bases: &'w [PathBuf], schema: &'w Schema) -> Self {
        let (entered, repositories) = (BTreeSet::new(), BTreeSet::new());
        let trees = SharedTrees::default();
        Self { bases, schema, entered, repositories, trees, waiting: Vec::new(), problem: None }
    }

    /// Returns the first error: a reference that cannot be fetched, or a kustomization that cannot be read.
    pub(super) fn take_problem(&mut self) -> Option<Diagnostic> {
        self.problem.take()
    }

    /// Returns the real paths of the visited directories. For repositories these are their top directories.
    pub(super) fn into_directories(self) -> Vec<PathBuf> {
        let Self { entered, repositories, .. } = self;
        let is_fetched = |path: &&Arc<Path>| path.ancestors().any(|above| repositories.contains(above));
        let own: Vec<_> = entered.iter().filter(|path| !is_fetched(path)).map(|p| p.to_path_buf()).collect();
        own.into_iter().chain(repositories).collect()
    }

    /// Fetches the remote references of a target.
    pub(super) fn target(&mut self, reader: &Reader, target: &Path) {
        let Some((root, file)) = self.record_error(reader.open_target(target)) else { return };
        self.visit(&root);
        match self.record_error(root.kustomization_file()) {
            // A manifest next to a kustomization is rejected by the build.
            Some(Some(_)) if file.is_some() => {}
            Some(Some(file)) => self.kustomization(&root, &file),
            Some(None) => {
                let bases = self.record_error(find_bases(&root, self.bases)).flatten().unwrap_or_default();
                for base in &bases {
                    self.directory(base);
                }
            }
            None => {}
        }
        while let Some(root) = self.waiting.pop() {
            if let Some(Some(file)) = self.record_error(root.kustomization_file()) {
                self.kustomization(&root, &file);
            }
        }
    }

    /// Returns the value, or records the error.
    fn record_error<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problem.get_or_insert(problem);
                None
            }
        }
    }

    /// Records a directory. Returns true if it is new.
    fn visit(&mut self, root: &Root) -> bool {
        self.repositories.extend(root.checkout().map(|checkout| checkout.clone_dir.clone()));
        self.entered.insert(root.directory().shared_path().clone())
    }

    /// Fetches the remote references of a kustomization. Its directories are visited later.
    fn kustomization(&mut self, root: &Root, file: &Path) {
        let read = |source| Kustomization::read(root.reader().sources(), source);
        let Some(kustomization) = self.record_error(root.text_at(file).and_then(read)) else { return };
        let kustomization = &kustomization.value;
        for entry in &kustomization.resources {
            if let Some(Target::Directory(below)) =
                self.record_error(resolve_entry_path(root, entry, entry.span))
            {
                self.directory(&below);
            }
        }
        for entry in &kustomization.components {
            if let Some(below) = self.record_error(root.enter(entry, entry.span)) {
                self.directory(&below);
            }
        }
        let plugins = kustomization.generators.iter().chain(&kustomization.transformers);
        for entry in plugins.chain(&kustomization.validators) {
            let documents = self.plugins(root, entry);
            let documents = self.record_error(documents).unwrap_or_default();
            for document in documents {
                self.plugin(root, document);
            }
        }
        self.files(root, kustomization.named_files());
    }

    /// Visits a directory. The build rejects it if it has no kustomization.
    fn directory(&mut self, root: &Root) {
        if self.visit(root) {
            self.waiting.push(root.clone());
        }
    }

    /// Returns the configurations of an entry of generators, transformers or validators.
    fn plugins(&mut self, root: &Root, entry: &Spanned<String>) -> Result<Vec<Node>> {
        if let Some(documents) = inline_manifests(root, entry) {
            return Ok(documents);
        }
        match resolve_entry_path(root, entry, entry.span)? {
            Target::Text(source) => manifests(root, source),
            Target::File(real) => manifests(root, root.text_at(&real)?),
            Target::Directory(below) => {
                self.directory(&below);
                // Loaded like a shared directory, which starts no threads.
                let tree = load_tree(&below, Some(&self.trees))?.value;
                let mut documents = Vec::new();
                tree.manifests(&mut |node| documents.push(node.clone()));
                Ok(documents)
            }
        }
    }

    fn plugin(&mut self, root: &Root, document: Node) {
        let named = Resource::new(document, self.schema).and_then(|plugin| plugin::named_files(&plugin));
        let named = self.record_error(named).unwrap_or_default();
        self.files(root, named.into_iter());
    }

    /// Fetches the remote ones of the given files.
    fn files(&mut self, root: &Root, files: impl Iterator<Item = Spanned<String>>) {
        for file in files.filter(|file| is_remote_file(file)) {
            self.record_error(root.reader().remotes().file(&file, file.span));
        }
    }
}

#[cfg(all(test, feature = "remote"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::overlay::remote::Remotes;
    use crate::overlay::remote::tests::server::Server;
    use smp_files::DiskTree;
    use smp_text::source::SourceMap;

    const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

    /// A directory with files, in which `URL` is replaced by the URL of the server.
    struct Fixture {
        home: tempfile::TempDir,
        server: Server,
    }

    impl Fixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let home = tempfile::tempdir().expect("a directory");
            let server = Server::start(home.path());
            let url = server.url("");
            for (path, text) in files {
                let path = home.path().join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("made");
                fs::write(path, text.replace("URL", url.trim_end_matches('/'))).expect("written");
            }
            Self { home, server }
        }

        fn walk(&self, target: &str) -> Result<(Reader, Vec<PathBuf>)> {
            let remotes = Remotes::new(Some(self.home.path().join("cache")), false);
            let reader = Reader::new(Arc::new(DiskTree), SourceMap::default(), true, remotes)?;
            let schema = Schema::kustomize();
            let mut walk = FetchWalk::new(&[], &schema);
            walk.target(&reader, &self.home.path().join(target));
            match walk.take_problem() {
                Some(problem) => Err(problem),
                None => Ok((reader, walk.into_directories())),
            }
        }

        /// Returns the sorted names of the requested files.
        fn requests(&self) -> String {
            let mut names: Vec<String> = self.server.requests();
            names.sort();
            names.iter().map(|name| name.trim_start_matches("GET /")).collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn files_of_all_steps_and_plugins_are_fetched() {
        let kustomization = "
resources: [URL/resource.yaml, ../base, local.yaml]
openapi: {path: URL/openapi.json}
crds: [URL/crd.json]
configurations: [URL/config.yaml]
patches: [{path: URL/patch.yaml}, {patch: 'a: URL/no'}]
patchesStrategicMerge: [URL/merge.yaml]
patchesJson6902: [{path: URL/json.yaml, target: {name: a}}]
replacements: [{path: URL/replacement.yaml}]
configMapGenerator: [{name: a, files: [a=URL/file, URL/file2], envs: [URL/env], literals: [a=URL/no]}]
secretGenerator: [{name: a, env: URL/env2}]
generators: [generator.yaml]
transformers: [plugins, \"apiVersion: builtin\\nkind: PatchTransformer\\nmetadata: {name: a}\\npath: URL/inline\"]
helmCharts: [{name: a, repo: URL/no, valuesFile: URL/values}]
";
        let generator =
            "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: [a=URL/own]\n";
        let transformers = [
            "PatchJson6902Transformer",
            "ValueAddTransformer",
            "PatchStrategicMergeTransformer",
        ]
        .map(|kind| format!("apiVersion: builtin\nkind: {kind}\nmetadata: {{name: a}}\npath: URL/{kind}\n"))
        .join("---\n")
            + "paths: [URL/paths, 'a:\n\n  URL/no']\n---\napiVersion: builtin\nkind: ReplacementTransformer\n\
               metadata: {name: a}\nreplacements: [{path: URL/replacements}]\n";
        let fixture = Fixture::new(&[
            ("app/kustomization.yaml", kustomization),
            ("app/generator.yaml", generator),
            ("app/plugins/kustomization.yaml", "resources: [t.yaml]\nnamePrefix: a-\n"),
            (
                "app/plugins/t.yaml",
                &transformers.replace("path: URL/ValueAdd", "targetFilePath: URL/ValueAdd"),
            ),
            ("base/kustomization.yaml", "resources: [URL/resource.yaml]\npatches: [{path: URL/below}]\n"),
            ("app/local.yaml", "is not read: ["),
            ("resource.yaml", MANIFEST),
        ]);
        let others = "below config.yaml crd.json env env2 file file2 inline json.yaml merge.yaml openapi.json own \
                      patch.yaml paths replacement.yaml replacements values PatchJson6902Transformer \
                      ValueAddTransformer";
        for name in others.split(' ') {
            fs::write(fixture.home.path().join(name), "x").expect("written");
        }
        let (reader, directories) = fixture.walk("app").expect("all is there");
        let mut want: Vec<&str> = others.split(' ').chain(["resource.yaml"]).collect();
        want.sort_unstable();
        assert_eq!(fixture.requests(), want.join(" "));
        for name in want {
            reader
                .remotes()
                .file(&fixture.server.url(name), smp_text::source::Span::default())
                .expect("known");
        }
        let home = fixture.home.path().canonicalize().expect("there");
        assert_eq!(directories, ["app", "app/plugins", "base"].map(|name| home.join(name)));
        assert_eq!(
            fixture.server.requests().len(),
            others.split(' ').count() + 1,
            "nothing is requested twice"
        );
    }

    #[test]
    fn missing_file_is_an_error() {
        let fixture = Fixture::new(&[
            ("app/kustomization.yaml", "resources: [../base, URL/resource.yaml]\n"),
            ("base/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: URL/nope}]\n"),
            ("base/a.yaml", MANIFEST),
            ("resource.yaml", MANIFEST),
        ]);
        let error = fixture.walk("app").expect_err("not there");
        assert_eq!(fixture.requests(), "nope resource.yaml", "the rest is fetched");
        assert!(error.message().ends_with("server returned status 404"), "{error}");
        assert!(!error.labels().is_empty());
    }

    #[test]
    fn bases_of_plain_directories_are_entered() {
        let fixture = Fixture::new(&[
            ("base/kustomization.yaml", "resources: [URL/resource.yaml]\n"),
            ("over/a.yaml", MANIFEST),
            ("resource.yaml", MANIFEST),
        ]);
        let (_, directories) = fixture.walk("over").expect("a plain directory");
        assert_eq!(fixture.requests(), "resource.yaml");
        let home = fixture.home.path().canonicalize().expect("there");
        assert_eq!(directories, ["base", "over"].map(|name| home.join(name)));
    }
}
