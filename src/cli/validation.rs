//! `--validate`: validates objects locally as an API server does, before they are printed, written
//! or sent.

use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use rustc_hash::FxHashSet;

use super::disk::record_access;
use super::select::is_stream;
use smp_inspect::check::{IncompleteObjects, ObjectValidation};
use smp_merge::schema::{Schema, is_built_in_group};
use smp_overlay::overlay::{Builder, Histories};
use smp_overlay::package::Package;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::Node;
use smp_validate::{CEL, ValidateOptions, Violation, validate};

/// The validation flags.
#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// Fail if an API server would reject an object
    ///
    /// Nothing is printed in this case.
    #[arg(long)]
    validate: bool,

    /// Report API versions removed in Kubernetes VERSION, 1.16 to 1.37
    ///
    /// Also reports API versions that are deprecated in it.
    ///
    /// Fields are always validated against the newest known version. Requires --validate.
    #[arg(long, alias = "kubernetes", value_name = "VERSION", requires = "validate", hide_short_help = true)]
    kubernetes_version: Option<KubernetesVersion>,
}

impl ValidateArgs {
    /// Returns the validation if it is enabled.
    pub(super) fn validation<'s>(
        &self,
        unfinished: IncompleteObjects,
        sources: &'s SourceMap,
    ) -> Option<Validation<'s>> {
        self.validate.then(|| Validation::new(self.kubernetes_version, unfinished, sources))
    }
}

/// A Kubernetes version.
#[derive(Debug, Clone, Copy)]
pub(super) struct KubernetesVersion {
    major: u32,
    minor: u32,
}

impl KubernetesVersion {
    /// Returns the validation options for a version. The default is the newest known version.
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
        let number = |part: &str| part.parse().map_err(|_| "use a version such as 1.34".to_string());
        let (major, minor) = match parts.as_slice() {
            [major, minor] | [major, minor, _] => (number(major)?, number(minor)?),
            _ => return Err("use a version such as 1.34".into()),
        };
        let [oldest, newest] = ValidateOptions::known_releases();
        if (oldest..=newest).contains(&(major, minor)) {
            return Ok(Self { major, minor });
        }
        let shown = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        Err(format!("supported versions are {} to {}", shown(oldest), shown(newest)))
    }
}

/// The API group of admission policies and their bindings, and the kind of the policies.
const ADMISSION: &str = "admissionregistration.k8s.io";
const POLICY: &str = "ValidatingAdmissionPolicy";

/// Adds the admission policies among objects and other manifests to validation options.
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

/// Reads the manifests of a directory or file with admission policies.
///
/// # Errors
/// The manifests cannot be read or contain no policy, an expression of a policy is invalid, or the
/// program was compiled without the feature `cel`.
pub(super) fn read_policies(path: &Path, sources: &SourceMap) -> Result<Vec<Node>, Diagnostic> {
    if !cfg!(feature = "cel") {
        let message = "admission policies require a program built with the feature `cel`";
        return Err(Diagnostic::error(Code::Unsupported, message));
    }
    record_access(path);
    let package = Package::read(path, Reading::Kubectl, sources)?;
    let manifests: Vec<Node> = package.manifests().cloned().collect();
    let text = |node: &Node, key| node.get(key).and_then(Node::as_str).unwrap_or_default().to_string();
    let is_policy = |node: &Node| {
        text(node, "kind") == POLICY && text(node, "apiVersion").split('/').next() == Some(ADMISSION)
    };
    if !manifests.iter().any(is_policy) {
        let what = if manifests.is_empty() { "manifests" } else { POLICY };
        return Err(Diagnostic::error(Code::NoMatch, format!("{} contains no {what}", path.display()))
            .help("use a directory with policies and bindings"));
    }
    manifests.iter().filter(|node| is_policy(node)).try_for_each(check_expressions)?;
    Ok(manifests)
}

/// Checks that an API server accepts the expressions of a policy.
fn check_expressions(policy: &Node) -> Result<(), Diagnostic> {
    let found = validate(policy, &Schema::embedded(), &ValidateOptions::default());
    let is_wrong = |violation: &Violation| violation.rule == CEL && violation.severity == Severity::Error;
    let Some(wrong) = found.into_iter().find(is_wrong) else { return Ok(()) };
    let name = policy.get_path(&["metadata", "name"]).and_then(Node::as_str).unwrap_or_default();
    Err(wrong.into_diagnostic().note(format!("an API server rejects the policy {name}")))
}

/// Validates the objects of all targets with the same options.
#[derive(Debug)]
pub(super) struct Validation<'s> {
    options: ValidateOptions,
    unfinished: IncompleteObjects,
    sources: &'s SourceMap,
    /// The messages about unknown kinds that were already returned.
    unknown: Mutex<FxHashSet<String>>,
}

impl<'s> Validation<'s> {
    pub(super) fn new(
        version: Option<KubernetesVersion>,
        unfinished: IncompleteObjects,
        sources: &'s SourceMap,
    ) -> Self {
        let options = KubernetesVersion::options(version);
        Self { options, unfinished, sources, unknown: Mutex::default() }
    }

    /// Validates resources of a target. The CRDs among `all` resources of the target define custom
    /// types.
    ///
    /// Returns warnings and notes if all resources are valid.
    ///
    /// # Errors
    /// A resource is invalid, or the types cannot be read. The errors include all warnings and notes.
    pub(super) fn validate<'r>(
        &self,
        builder: &Builder,
        target: &Path,
        all: impl IntoIterator<Item = &'r Resource>,
        validated: impl Iterator<Item = &'r Resource>,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let mut found = Vec::new();
        let all: Vec<&Resource> = all.into_iter().collect();
        let options = with_policies(&self.options, &all, &[]);
        let schema =
            builder.schema_for(directory, all).map_err(|problem| vec![problem])?.into_value(&mut found);
        let (schema, sources) = (schema.as_ref(), self.sources);
        let judgement = ObjectValidation { schema, sources, options: &options, incomplete: self.unfinished };
        let mut unknown = FxHashSet::default();
        let validated = validated.inspect(|resource| {
            let gvk = &resource.id().gvk;
            if !is_built_in_group(&gvk.group) && schema.kind(gvk).is_none() && unknown.insert(gvk) {
                found.push(not_validated(resource));
            }
        });
        let invalid = judgement.diagnostics(validated);
        found.extend(invalid);
        let is_invalid = found.iter().any(|problem| problem.severity() == Severity::Error);
        if is_invalid { Err(found) } else { Ok(found) }
    }

    /// Removes messages about unknown kinds that were already returned for another target.
    pub(super) fn deduplicate(&self, messages: &mut Vec<Diagnostic>) {
        let mut unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_kind =
            |problem: &Diagnostic| problem.severity() == Severity::Note && problem.code() == Code::NoSchema;
        messages.retain(|problem| !is_of_kind(problem) || unknown.insert(problem.message().to_string()));
    }
}

/// Returns `Enabled` if objects are validated, since validation needs the origin of values for
/// source locations.
pub(super) fn histories_for(validation: Option<&Validation<'_>>) -> Histories {
    if validation.is_some() { Histories::Enabled } else { Histories::Disabled }
}

/// Returns the note that a resource of an unknown kind is not validated.
fn not_validated(resource: &Resource) -> Diagnostic {
    let gvk = &resource.id().gvk;
    Diagnostic::info(Code::NoSchema, format!("objects of {gvk} are not validated: no schema is known"))
        .at(resource.node().span().at_start())
        .help("add the CRD to the build, or use `--schema FILE`")
}
