//! `--validate`: whether an API server would take what was built, asked here, and before anything is done with it.

use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use rustc_hash::FxHashSet;

use super::select::is_stream;
use smp_inspect::check::{ObjectJudgement, Unfinished};
use smp_merge::schema::{Schema, is_built_in_group};
use smp_overlay::overlay::{Builder, Histories};
use smp_overlay::package::Package;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::Node;
use smp_validate::{CEL, ValidateOptions, Violation, validate};

/// Whether objects are judged.
#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// Fail when an API server would refuse an object, before anything is printed, written or compared
    #[arg(long)]
    validate: bool,

    /// The release of Kubernetes that objects are for, such as 1.34
    #[arg(long, value_name = "VERSION", requires = "validate", hide_short_help = true)]
    kubernetes: Option<KubernetesVersion>,
}

impl ValidateArgs {
    /// What judges objects, if something does.
    pub(super) fn validation<'s>(
        &self,
        unfinished: Unfinished,
        sources: &'s SourceMap,
    ) -> Option<Validation<'s>> {
        self.validate.then(|| Validation::new(self.kubernetes, unfinished, sources))
    }
}

/// A release of Kubernetes.
#[derive(Debug, Clone, Copy)]
pub(super) struct KubernetesVersion {
    major: u32,
    minor: u32,
}

impl KubernetesVersion {
    /// How objects for it are judged; for none those for the newest one.
    pub(super) fn options(version: Option<Self>) -> ValidateOptions {
        match version {
            Some(Self { major, minor }) => ValidateOptions::for_kubernetes(major, minor),
            None => ValidateOptions::default(),
        }
    }
}

impl FromStr for KubernetesVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.trim_start_matches('v').split('.').collect();
        let number = |part: &str| part.parse().map_err(|_| "write it as 1.34".to_string());
        let (major, minor) = match parts.as_slice() {
            [major, minor] | [major, minor, _] => (number(major)?, number(minor)?),
            _ => return Err("write it as 1.34".into()),
        };
        let [oldest, newest] = ValidateOptions::known_releases();
        if (oldest..=newest).contains(&(major, minor)) {
            return Ok(Self { major, minor });
        }
        let shown = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        Err(format!("the releases from {} to {} are known", shown(oldest), shown(newest)))
    }
}

/// The group of admission policies and their bindings, and the kind of the policies.
const ADMISSION: &str = "admissionregistration.k8s.io";
const POLICY: &str = "ValidatingAdmissionPolicy";

/// The same with the admission policies that are among objects and other manifests.
pub(super) fn with_policies<'r>(
    options: &ValidateOptions,
    objects: &[&'r Resource],
    others: &'r [Node],
) -> ValidateOptions {
    let is_policy = |resource: &Resource| {
        resource.id().gvk.group == ADMISSION && resource.id().gvk.kind.starts_with(POLICY)
    };
    if others.is_empty() && !objects.iter().any(|resource| is_policy(resource)) {
        return options.clone();
    }
    #[cfg(feature = "cel")]
    {
        let all: Vec<Node> = objects.iter().map(|resource| resource.node()).chain(others).cloned().collect();
        options.clone().with_policies(&all)
    }
    #[cfg(not(feature = "cel"))]
    options.clone()
}

/// The manifests of a directory, or of a file, with policies.
///
/// # Errors
/// They cannot be read; without the feature `cel` they cannot be asked.
pub(super) fn read_policies(path: &Path, sources: &SourceMap) -> Result<Vec<Node>, Diagnostic> {
    if !cfg!(feature = "cel") {
        let message = "admission policies are asked only by a program with the feature `cel`";
        return Err(Diagnostic::error(Code::Unsupported, message));
    }
    let package = Package::read(path, Reading::Kubectl, sources)?;
    let manifests: Vec<Node> = package.manifests().cloned().collect();
    let text = |node: &Node, key| node.get(key).and_then(Node::as_str).unwrap_or_default().to_string();
    let is_policy = |node: &Node| {
        text(node, "kind") == POLICY && text(node, "apiVersion").split('/').next() == Some(ADMISSION)
    };
    if !manifests.iter().any(is_policy) {
        let what = if manifests.is_empty() { "manifests" } else { POLICY };
        return Err(Diagnostic::error(Code::NoMatch, format!("{} has no {what}", path.display()))
            .help("name a directory with policies and bindings"));
    }
    manifests.iter().filter(|node| is_policy(node)).try_for_each(check_expressions)?;
    Ok(manifests)
}

/// Checks that an API server can read the expressions of a policy.
fn check_expressions(policy: &Node) -> Result<(), Diagnostic> {
    let found = validate(policy, &Schema::embedded(), &ValidateOptions::default());
    let is_wrong = |violation: &Violation| violation.rule == CEL && violation.severity == Severity::Error;
    let Some(wrong) = found.into_iter().find(is_wrong) else { return Ok(()) };
    let name = policy.get_path(&["metadata", "name"]).and_then(Node::as_str).unwrap_or_default();
    Err(wrong.into_diagnostic().note(format!("an API server rejects the policy {name}")))
}

/// Judges objects, those of all targets in one way.
#[derive(Debug)]
pub(super) struct Validation<'s> {
    options: ValidateOptions,
    unfinished: Unfinished,
    sources: &'s SourceMap,
    /// What was said of kinds that nobody knows.
    unknown: Mutex<FxHashSet<String>>,
}

impl<'s> Validation<'s> {
    pub(super) fn new(
        version: Option<KubernetesVersion>,
        unfinished: Unfinished,
        sources: &'s SourceMap,
    ) -> Self {
        let options = KubernetesVersion::options(version);
        Self { options, unfinished, sources, unknown: Mutex::default() }
    }

    /// Judges resources of a target, by the types that all resources of the target give.
    ///
    /// Returns what there is to say though a server would take them.
    ///
    /// # Errors
    /// What it would refuse, and what else there is to say; the types cannot be read.
    pub(super) fn judge<'r>(
        &self,
        builder: &Builder,
        target: &Path,
        all: impl IntoIterator<Item = &'r Resource>,
        judged: impl Iterator<Item = &'r Resource>,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let mut found = Vec::new();
        let all: Vec<&Resource> = all.into_iter().collect();
        let options = with_policies(&self.options, &all, &[]);
        let schema = builder.types_of(directory, all).map_err(|problem| vec![problem])?.note_in(&mut found);
        let (schema, sources) = (schema.as_ref(), self.sources);
        let judgement = ObjectJudgement { schema, sources, options: &options, unfinished: self.unfinished };
        let mut unknown = FxHashSet::default();
        let judged = judged.inspect(|resource| {
            let gvk = &resource.id().gvk;
            if !is_built_in_group(&gvk.group) && schema.kind(gvk).is_none() && unknown.insert(gvk) {
                found.push(not_judged(resource));
            }
        });
        let refused = judgement.of(judged);
        found.extend(refused);
        let is_refused = found.iter().any(|problem| problem.severity() == Severity::Error);
        if is_refused { Err(found) } else { Ok(found) }
    }

    /// Leaves out what was said before of kinds that nobody knows. To be asked of one target behind the other.
    pub(super) fn once(&self, said: &mut Vec<Diagnostic>) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_kind =
            |problem: &Diagnostic| problem.severity() == Severity::Note && problem.code() == Code::NoSchema;
        said.retain(|problem| !is_of_kind(problem) || unknown.insert(problem.message().to_string()));
    }
}

/// What builds keep of their resources for what judges them, if something does: what made their values.
pub(super) fn histories_for(validation: Option<&Validation<'_>>) -> Histories {
    if validation.is_some() { Histories::Kept } else { Histories::Dropped }
}

/// That nobody knows the kind of a resource.
fn not_judged(resource: &Resource) -> Diagnostic {
    let gvk = &resource.id().gvk;
    Diagnostic::info(Code::NoSchema, format!("no schema of {gvk} is known: its objects are not judged"))
        .at(resource.node().span().at_start())
        .help("add the CRD to the build, or give a schema by `--schema`")
}
