//! The codes of diagnostics, with their meaning and remedy. The page `book/messages.md` is generated from them.

use std::fmt;

/// The name, meaning and remedy of a lint rule's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleText {
    /// The name in messages, such as `misspelled-reference`.
    pub name: &'static str,
    /// The meaning, in one sentence.
    pub meaning: &'static str,
    /// The way to fix it.
    pub remedy: &'static str,
}

/// Declares the codes once, so that the enum, the names and the documentation are consistent.
macro_rules! codes {
    ($($variant:ident $name:literal $meaning:literal $remedy:literal)*) => {
        /// The code of a diagnostic, for programs. It is stable across releases.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
            /// A finding of a lint rule. Lint rules have a separate registry and documentation.
            Rule(&'static RuleText),
        }

        impl Code {
            /// All codes except those of lint rules, which have a separate registry.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name in messages, such as `unmatched-patch`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::Rule(rule) => rule.name }
            }

            /// Returns the meaning, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* Self::Rule(rule) => rule.meaning }
            }

            /// Returns the suggested fix.
            #[must_use]
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* Self::Rule(rule) => rule.remedy }
            }
        }
    };
}

codes! {
    Syntax "syntax" "The file is not valid YAML or JSON."
        "Check indentation, quotes and brackets at the location and in the lines above it. Indent YAML with spaces. kubectl and kustomize parse some YAML differently. A kustomization and the files that it lists are parsed as kustomize does. Manifests without a kustomization are parsed as kubectl does."
    DuplicateKey "duplicate-key" "A map has the same key twice."
        "Remove one of the two. Parsers disagree about which one is used, so this is an error. In kustomizations and patches it is a warning, because kustomize accepts duplicate keys. It uses the last value in a kustomization or JSON patch, and the first value in a strategic merge patch."
    IgnoredDocument "ignored-document" "A kustomization file has a second document, which is ignored."
        "Move the fields of the second document into the first one, or remove the second one. kustomize does not report this."
    LimitExceeded "limit-exceeded" "A limit on depth, size or alias expansion was exceeded."
        "The limits are far above what manifests need. A file that exceeds one is damaged or malicious."
    WrongType "wrong-type" "A value has the wrong type for its field."
        "Quote numbers and booleans that are meant as strings. Start list entries with a dash."
    UnknownField "unknown-field" "A field is unknown."
        "Correct its spelling or indentation. If possible, the help suggests a similar field or the right parent, lists the known fields, or names the command that lists them."
    Unsupported "unsupported" "A field or feature exists but is not supported by this version."
        "The help names the alternative."
    MissingField "missing-field" "A required field is missing or empty, or the path of a JSON patch does not exist."
        "Add the field, or correct the path. A resource without kind or name cannot be identified."
    InvalidValue "invalid-value" "A value has the right type but is not allowed."
        "The message or the help shows the allowed values or the expected format."
    DeprecatedField "deprecated-field" "A field is deprecated: it will not be part of the `kustomize.config.k8s.io/v1` API."
        "Use the field that the help names. `kubectl smp check --fix` replaces most deprecated fields if the output stays the same."
    Io "io" "A file or directory does not exist, cannot be read or written, or is not in a git repository."
        "Check the path and its permissions. Paths in a kustomization are relative to the directory of the kustomization file."
    OutsideRoot "outside-root" "A path leads outside the directory that it is restricted to."
        "Move the file into the directory, or turn its directory into a base. `--load-restrictor LoadRestrictionsNone` disables the check for local builds."
    Cycle "cycle" "Kustomizations include each other in a cycle."
        "Remove one of the entries."
    DuplicateResource "duplicate-resource" "Two resources have the same group, kind, namespace and name."
        "Remove one of the two, or turn the second one into a patch."
    NoMatch "no-match" "A reference, selector or path matches nothing."
        "Correct the kind, name, namespace or path. Use the names as they are before this kustomization adds its prefix, suffix and hashes."
    AddedDocument "added-document" "A manifest in a directory without a kustomization (see `--base`) matches no resource of the base. It would be added, but it resembles a resource of the base or is incomplete."
        "Correct the kind, name or namespace. To add a new resource, set all fields that its schema requires."
    StandaloneComponent "standalone-component" "A Component is built on its own, without the resources that it should change."
        "Build a kustomization that lists it under `components`. kustomize does not report this."
    UnmatchedPatch "unmatched-patch" "A patch with `target` matches no resource, so it has no effect."
        "Correct the target, or remove the patch. kustomize does not report this."
    AbsentDeletion "unmatched-deletion" "A patch removes a field or list entry that does not exist."
        "Correct the name, or remove the deletion from the patch. kustomize does not report this."
    ReplaceMissingField "replace-missing-field" "A JSON patch replaces a field that does not exist, which adds it."
        "Correct the path, or use `add` to add the field. kustomize and the API server do not report this."
    UnmatchedImage "unmatched-image" "An entry of `images` names an image that no resource uses."
        "Correct the name: write it as in the manifests, with the registry and without the tag. Or remove the entry. kustomize does not report this."
    UnmatchedReplacement "unmatched-replacement" "A target of a replacement matches no resource, or matches resources but no field to write to."
        "Correct `select`, or remove the target. If a value is not written, the help names the reason. kustomize does not report this."
    OverwrittenReplacement "overwritten-replacement" "Two replacements of a kustomization write the same field, and no replacement between them uses the first value as its source. Only the second value remains."
        "Remove one of the two, or let the second one write a part of the value with `delimiter` and `index`. kustomize does not report this."
    UnusedVariable "unused-variable" "A variable of `vars` is never used."
        "Remove it, or list the field that uses it under `varReference`. Prefer `replacements`."
    Ambiguous "ambiguous" "A reference matches several resources or files, but must match one."
        "Make it more specific: add a namespace, an API version or a key."
    MissingMergeKey "missing-merge-key" "A list entry has no merge key."
        "Add the key that the message names to each entry. Without it, entries cannot be matched."
    DuplicateMergeKey "duplicate-merge-key" "Two entries of a list have the same value of the merge key, or a set contains a value twice. In a list that is merged, this is an error. In other lists, it is an error if the API server rejects the object, and a warning otherwise."
        "Remove one of the two."
    Directive "directive" "A directive (`$patch`, ...) is invalid or misplaced."
        "The directives of strategic merge patches are `$patch`, `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList`. `$patchMergeKey` is a proposed extension (see [Merge keys](merge-keys.md)). Directives only work in patches. In the patches of a kustomization, only `$patch` and `$patchMergeKey` work, and the others become fields of the object. kustomize itself ignores `$patchMergeKey`."
    Conflict "conflict" "In `merge3`, UPDATED and DEST both changed a value of ORIGINAL, differently. In `apply`, another field manager owns a field that the manifest sets to another value."
        "Choose the correct value. `merge3 --on-conflict` resolves all conflicts in one way. `apply --force-conflicts` takes ownership of fields from other field managers."
    TestFailed "test-failed" "A `test` operation of a JSON patch failed: the value differs."
        "The patch was created for another version of the object. Compare the two and create the patch again."
    NoSchema "no-schema" "A kind has no schema."
        "Pass one with `--schema`, add the CRD to the build, or pin schemas with `kubectl smp lock --pin-schemas cluster`. Without a schema, lists are replaced instead of merged."
    Remote "remote" "A remote server (the cluster, a git or HTTP server) did not respond, or rejected a request."
        "The message quotes the server. `--context`, `--server` and `--token` select another cluster or user."
    Locked "lock-file" "A lock file does not match the build: an entry is missing or differs, or the lock file has a schema for a built-in kind. Schemas of built-in kinds are embedded and cannot be replaced."
        "If the difference is intended, run `kubectl smp lock`. It also removes schemas of built-in kinds."
    NotFetched "not-fetched" "A remote reference is not in the cache and may not be fetched: because of `--offline`, or because it is not in the lock file."
        "Build without `--offline`, or run `kubectl smp lock`."
    Command "command" "An external command failed or printed a warning."
        "The notes show its output. Run the command manually to see more."
    CommandNotFound "command-not-found" "An external command is not installed."
        "Install it, or add its directory to `PATH`."
    CommandTimeout "command-timeout" "An external command exceeded its time limit."
        "Run the command manually to see why it takes so long. For git, the query parameter `timeout=SECONDS` of a reference sets the limit."
    ServerWarning "server-warning" "The API server completed the request with a warning, for example about a deprecated version."
        "The message quotes the server."
    ClusterState "cluster-state" "The result is incomplete: an object could not be read, a check was skipped, or an object is being deleted."
        "This is not a failed change: the cluster rejected nothing. The message names the part that is missing. For a complete result, grant permission to read the objects, or run the command again after the deletion."
    NotReady "not-ready" "An object cannot become ready, did not become ready in time, or still exists after its deletion."
        "The notes show its state in the cluster: its Pods, the last warning event, its finalizers. `--timeout` sets a longer timeout."
    ApplySet "applyset" "A member of an ApplySet was not pruned, or the parent of the ApplySet is locked, invalid or managed by another tool."
        "The help explains what to do. A member that was not pruned remains in the ApplySet, and the next apply checks it again."
    CascadingDeletion "cascading-deletion" "Deleting a namespace or CRD also deletes objects that are not in the manifests."
        "`delete --dry-run=server` lists these objects and deletes nothing. Keep the namespace or CRD, or move the objects that are still needed."
    Usage "usage" "The command line is invalid, or it needs a feature that is not enabled."
        "See `kubectl smp COMMAND -h`."
    SystemResource "system" "A system resource, such as a thread, is not available."
        "Try again when more resources are free."
    SchemaSource "schema-source" "The source of a kind's schema. It is always reported if the schema comes from a lock file in a parent directory of the target; otherwise only with `--verbose` and in JSON."
        "No action is needed. `--schema` selects another source, and `kubectl smp lock --pin-schemas cluster` pins the schemas."
    Summary "summary" "The summary of a command. The problems themselves are reported before it."
        "See the messages above it."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
