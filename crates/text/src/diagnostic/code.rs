//! The kinds of problems: their names, what they mean, and what to do. The page `book/messages.md` is made of it.

use std::fmt;

/// What a rule calls its findings, and what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleText {
    /// Its name in messages, such as `dangling-reference`.
    pub name: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
    /// What can be done about it.
    pub remedy: &'static str,
}

/// Declares the codes once: the enum, its names and its documentation cannot differ.
macro_rules! codes {
    ($($variant:ident $name:literal $meaning:literal $remedy:literal)*) => {
        /// The kind of a problem, for programs; stable across releases.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
            /// What a rule of a registry of its own finds, which documents it.
            Rule(&'static RuleText),
        }

        impl Code {
            /// All of them but the rules that have a registry of their own.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in messages, such as `unmatched-patch`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::Rule(rule) => rule.name }
            }

            /// What it means, in a sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* Self::Rule(rule) => rule.meaning }
            }

            /// What can be done about it.
            #[must_use]
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* Self::Rule(rule) => rule.remedy }
            }
        }
    };
}

codes! {
    Syntax "syntax" "The text is not well-formed YAML or JSON."
        "Look at the place and at the lines above it: indentation, quotes, brackets. YAML is indented with spaces. What kubectl or kustomize reads otherwise is read here as by the one whose file it is."
    DuplicateKey "duplicate-key" "One mapping has the same key twice."
        "Remove one of the two. Readers differ in which one they take, so none is chosen here; of a kustomization the last one counts, as for kustomize, which says nothing."
    IgnoredDocument "ignored-document" "A kustomization file has a second document, which is not read."
        "Move what it says into the first document, or remove it. kustomize says nothing here."
    LimitExceeded "limit-exceeded" "A bound on depth, size or alias expansion was passed."
        "The bounds are far above what manifests need; a text that passes one is damaged or made to do harm."
    WrongType "wrong-type" "A value has another type than its place needs."
        "Quote numbers and booleans that are meant as texts; begin the entries of lists with a dash."
    UnknownField "unknown-field" "A field that nobody knows."
        "Correct its spelling or its indentation; the help names the field that is most alike."
    Unsupported "unsupported" "A field or feature that exists and that this version does not have."
        "The help says what to use instead."
    MissingField "missing-field" "A needed field is missing or empty."
        "Add it. A document without kind or name cannot be told from others."
    InvalidValue "invalid-value" "A value is of the right type and still makes no sense."
        "The help says what is possible there."
    DeprecatedField "deprecated-field" "A field that kustomize will drop."
        "Use the field that the help names; `kubectl smp check --fix` replaces most of them where the output stays the same."
    Io "io" "A file or directory is not there, or cannot be read or written."
        "Look at the path and at who may read it. A path in a kustomization begins at the directory of that file."
    OutsideRoot "outside-root" "A path leads outside the directory that it must stay in."
        "Move the file into the directory, or make a base of its directory. `--load-restrictor LoadRestrictionsNone` lifts this for local builds."
    Cycle "cycle" "Kustomizations that contain each other."
        "Take one of the entries out."
    DuplicateResource "duplicate-resource" "Two resources with the same id."
        "Remove one of the two, or make a patch of the second one."
    NoMatch "no-match" "No resource, or not exactly one, fits what names it."
        "Correct kind, name or namespace; they are compared with those at that step of the build."
    AddedDocument "added-document" "A document of a plain overlay matches nothing in the base, which has something much like it."
        "Correct kind, name or namespace; what is meant as a new resource must have all that its schema requires, and is added."
    ComponentAlone "standalone-component" "A Component is built by itself, without the resources that it is made to change."
        "Build a kustomization that names it under `components`. kustomize says nothing here."
    UnmatchedPatch "unmatched-patch" "The target of a patch selects no resource, so the patch changes nothing."
        "Correct the target, or remove the patch. kustomize says nothing here."
    AbsentDeletion "unmatched-deletion" "A patch removes a field, or deletes an entry of a list, that is not there."
        "Correct the name, or take the deletion out of the patch. kustomize says nothing here."
    AddingReplace "replace-missing-field" "A JSON patch replaces a field that is not there, and so adds it."
        "Correct the path, or write `add` where that is meant. kustomize and the API server say nothing here."
    UnmatchedImage "unmatched-image" "An entry of `images` names an image that nothing has."
        "Correct the name, which is the one in the manifests, with its registry and without tag; or remove the entry. kustomize says nothing here."
    UnmatchedReplacement "unmatched-replacement" "A replacement found nothing to write to."
        "Correct `select` or `fieldPaths`, or remove the target. `create: true` makes fields that are not there."
    OverwrittenReplacement "overwritten-replacement" "A replacement puts another value where another replacement of the same kustomization has put one, which nothing took from there."
        "Remove one of the two; or let the second one write a part of the value, with `delimiter` and `index`. kustomize says nothing here."
    UnusedVariable "unused-variable" "A variable of `vars` is replaced nowhere."
        "Remove it, or name the field that refers to it under `varReference`; better, use `replacements`."
    Ambiguous "ambiguous" "Several things fit where one must."
        "Say more: a namespace, an API version, a key."
    MissingMergeKey "missing-merge-key" "A list entry lacks its merge key."
        "Give each entry of the list the key that the message names. Without it nobody knows which entry is meant."
    DuplicateMergeKey "duplicate-merge-key" "Two entries of a list have the same merge key."
        "Remove one of the two."
    Directive "directive" "A directive (`$patch`, ...) is wrong or stands where it cannot."
        "Directives are `$patch`, `$patchMergeKey`, `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList`; they work in patches only."
    Conflict "conflict" "Both sides changed the same field."
        "Decide which value is right. `merge3 --on-conflict` chooses for all; `apply --force-conflicts` takes fields over from other managers."
    TestFailed "test-failed" "The `test` of a JSON patch found another value."
        "The patch was made for another object. Look at both, and make it anew."
    NoSchema "no-schema" "No schema is known for a kind."
        "Give one with `--schema`, add the CRD to the build, or pin schemas with `kubectl smp lock --schemas cluster`. Without one, lists are replaced."
    Remote "remote" "The cluster, or another server, did not answer or refused."
        "The message has the server's own words. `--context`, `--server` and `--token` choose another cluster or user."
    Locked "locked" "A lock file lacks what is used, differs from it, or has a schema of a kind that is built into Kubernetes."
        "Run `kubectl smp lock` where the difference is meant, and to drop schemas of built-in kinds."
    NotFetched "not-fetched" "A remote reference is not at hand and may not be fetched: offline, or since the lock file lacks it."
        "Fetch it by a build without `--offline`, or run `kubectl smp lock`."
    Command "command" "A command that was run failed, or had something to say."
        "The notes have what it said; run it by hand to see more."
    ServerWarning "server-warning" "The API server did what it was asked and warned, of a deprecated version, say."
        "The message has the server's own words."
    ClusterState "cluster-state" "Something about the cluster that no server said: what cannot be seen, is not checked, or is being deleted."
        "Nothing was refused; the message says what is not as it may seem."
    NotReady "not-ready" "An object does not get ready, did not in time, or is still there after its deletion."
        "The notes have what the cluster says of it: its Pods, the last warning event, its finalizers. `--timeout` waits longer."
    ApplySet "apply-set" "Something about an ApplySet, such as an object that is not pruned since it still holds others."
        "The help says what lets it go. What stays is a member of its set and is looked at again by the next apply."
    TakenAlong "cascading-deletion" "Objects that are not among those to delete go with a namespace or a CRD that is."
        "`delete --dry-run=server` tells it and deletes nothing. Leave the namespace or the CRD out, or take elsewhere what is still needed."
    Usage "usage" "The command line is wrong."
        "See `kubectl smp COMMAND -h`."
    Failed "failed" "The system refused something that has no place in the input, such as a thread."
        "Try again when the machine has more to give."
    SchemaSource "schema-source" "Which source answered for the schema of a kind: with `--verbose` and in JSON, and always for a lock file above the target."
        "Nothing has to be done. Choose another source with `--schema`, or write the schemas down with `kubectl smp lock --schemas cluster`."
    Summary "summary" "How a command ended; what it speaks of was told before."
        "Look at the messages above it."
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
