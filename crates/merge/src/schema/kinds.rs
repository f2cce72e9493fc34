//! Resolves kind names as users type them: `deploy`, `Deployments`, `ingress.networking.k8s.io`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::embedded;
use super::graph::KindEntry;
use super::source::NamedKind;
use super::{Gvk, Schema, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::did_you_mean;

/// The short names that `kubectl api-resources` lists. OpenAPI documents lack them.
const SHORT_NAMES: [(&str, &str); 31] = [
    ("cj", "CronJob"),
    ("cm", "ConfigMap"),
    ("crd", "CustomResourceDefinition"),
    ("crds", "CustomResourceDefinition"),
    ("cs", "ComponentStatus"),
    ("csr", "CertificateSigningRequest"),
    ("deploy", "Deployment"),
    ("ds", "DaemonSet"),
    ("ep", "Endpoints"),
    ("ev", "Event"),
    ("hpa", "HorizontalPodAutoscaler"),
    ("ing", "Ingress"),
    ("ip", "IPAddress"),
    ("limits", "LimitRange"),
    ("netpol", "NetworkPolicy"),
    ("no", "Node"),
    ("ns", "Namespace"),
    ("pc", "PriorityClass"),
    ("pdb", "PodDisruptionBudget"),
    ("po", "Pod"),
    ("psp", "PodSecurityPolicy"),
    ("pv", "PersistentVolume"),
    ("pvc", "PersistentVolumeClaim"),
    ("quota", "ResourceQuota"),
    ("rc", "ReplicationController"),
    ("rs", "ReplicaSet"),
    ("sa", "ServiceAccount"),
    ("sc", "StorageClass"),
    ("sts", "StatefulSet"),
    ("svc", "Service"),
    ("vac", "VolumeAttributesClass"),
];

/// Finds the kind at the start of `words`, and the number of words that its name consists of.
///
/// Matching ignores case. The name is a kind, its plural, its singular or a short name. The group, or the version and
/// the group, may follow: `ingress`, `ing.networking.k8s.io`, `ingresses.v1.networking.k8s.io`. With `api_version`,
/// only kinds of that API version match. If several kinds match, Kubernetes' own kinds take precedence over custom
/// ones, then the most stable and highest version, then the core group, as in kubectl.
pub fn find_kind(schema: &Schema, words: &[&str], api_version: Option<&str>) -> Result<(Gvk, usize)> {
    let word = words.first().copied().unwrap_or_default().to_lowercase();
    let rest = words.get(1..).unwrap_or_default();
    let candidates = known_kinds(schema).filter(|entry| has_name(*entry, &word)).map(KindEntry::gvk);
    let matching = candidates.filter(|gvk| api_version.is_none_or(|want| gvk.api_version() == want));
    let best = matching.min_by_key(|gvk| {
        let rank = (!is_kubernetes(&gvk.group), Reverse(version_priority(&gvk.version)), gvk.group.clone());
        (Reverse(qualifiers(gvk, rest)), rank)
    });
    best.map(|gvk| (gvk.clone(), 1 + qualifiers(&gvk, rest)))
        .ok_or_else(|| unknown_kind(schema, words.first().copied().unwrap_or_default(), api_version))
}

/// Finds a kind by the exact plural in its REST API path, such as `deployments` in `apps/v1`.
pub(super) fn find_resource(schema: &Schema, plural: &str, api_version: &str) -> Option<Gvk> {
    let is_called = |entry: &KindEntry<'_>| entry.names().next().is_some_and(|name| name == plural);
    let kinds = known_kinds(schema).filter(is_called).map(KindEntry::gvk);
    kinds.into_iter().find(|gvk| gvk.api_version() == api_version)
}

/// Returns the names of the kinds in an `apiVersion`.
pub fn kinds_in_api_version(schema: &Schema, api_version: &str) -> BTreeSet<String> {
    let entries = known_kinds(schema).filter(|entry| entry.gvk().api_version() == api_version);
    entries.map(|entry| entry.kind().to_string()).collect()
}

/// Returns the kinds of a graph with their other names.
pub fn named_kinds(graph: &TypeGraph) -> impl Iterator<Item = NamedKind> {
    graph.kind_entries().filter(|entry| entry.root().is_known()).map(|entry| NamedKind {
        gvk: entry.gvk(),
        scope: graph.scope(&entry.gvk()),
        names: names_of(entry),
    })
}

/// Returns the plural, the other names and, for Kubernetes' kinds, the short names.
fn names_of(entry: KindEntry<'_>) -> Vec<SmolStr> {
    let mut names: Vec<SmolStr> = entry.names().map(SmolStr::from).collect();
    if names.is_empty() {
        names.push(plural(entry.kind()).into());
    }
    names.extend(short_names(&entry.gvk()).map(SmolStr::from));
    names
}

/// Returns the short names of a Kubernetes kind.
pub fn short_names(gvk: &Gvk) -> impl Iterator<Item = &'static str> {
    let is_called = is_kubernetes(&gvk.group);
    SHORT_NAMES.iter().filter(move |(_, kind)| is_called && *kind == gvk.kind).map(|(name, _)| *name)
}

/// Returns all kinds with a known type.
fn known_kinds(schema: &Schema) -> impl Iterator<Item = KindEntry<'_>> {
    schema.graphs().flat_map(|(_, graph)| graph.kind_entries()).filter(|entry| entry.root().is_known())
}

/// Returns true if an embedded kind has this group, which means that the group is part of Kubernetes.
pub fn is_built_in_group(group: &str) -> bool {
    static GROUPS: LazyLock<FxHashSet<SmolStr>> =
        LazyLock::new(|| embedded::kubernetes().kind_entries().map(|entry| entry.group().into()).collect());
    GROUPS.contains(group)
}

/// Returns the kinds of a Kubernetes group, in all versions.
pub fn kinds_in_group(group: &str) -> Vec<Gvk> {
    let graph = embedded::kubernetes();
    graph.kind_entries().filter(|entry| entry.group() == group).map(KindEntry::gvk).collect()
}

/// Returns true if a group belongs to Kubernetes. The name of a custom group must be another domain.
fn is_kubernetes(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

fn has_name(entry: KindEntry<'_>, word: &str) -> bool {
    let kind = entry.kind();
    kind.eq_ignore_ascii_case(word)
        || entry.names().any(|name| name.eq_ignore_ascii_case(word))
        || (is_kubernetes(entry.group()) && SHORT_NAMES.contains(&(word, kind)))
        || (entry.names().next().is_none() && plural(kind) == word)
}

/// Returns true if the words are a name of the kind: its name, plural or short name, optionally followed by its group,
/// or by version and group. Case is ignored.
pub fn matches_kind(gvk: &Gvk, words: &[&str]) -> bool {
    let Some((word, rest)) = words.split_first() else { return false };
    let (word, kind) = (word.to_lowercase(), gvk.kind.to_lowercase());
    let is_short = || is_kubernetes(&gvk.group) && SHORT_NAMES.contains(&(&*word, &*gvk.kind));
    let is_called = word == kind || word == plural(&kind) || is_short();
    is_called && qualifiers(gvk, rest) == rest.len()
}

/// Returns the plural that Kubernetes derives from a kind, for kinds whose plural is not documented.
fn plural(kind: &str) -> String {
    let word = kind.to_lowercase();
    if word.ends_with(['s', 'x']) || word.ends_with("ch") || word.ends_with("sh") {
        return word + "es";
    }
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => word + "s",
    }
}

/// Returns the number of words that make up the kind's group, or its version and group.
fn qualifiers(gvk: &Gvk, rest: &[&str]) -> usize {
    let group: Vec<&str> = gvk.group.split('.').filter(|part| !part.is_empty()).collect();
    let version = usize::from(rest.first().is_some_and(|word| *word == gvk.version));
    let starts = |from: usize| rest.get(from..).is_some_and(|rest| rest.starts_with(&group));
    if starts(version) {
        version + group.len()
    } else if starts(0) {
        group.len()
    } else {
        0
    }
}

/// Returns a sort key for a version: stable before beta before alpha, then the higher version. Other version names are
/// last.
pub fn version_priority(version: &str) -> (u8, u32, u32) {
    let Some(text) = version.strip_prefix('v') else { return (0, 0, 0) };
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (major, rest) = text.split_at(end);
    let (stability, minor) = match rest {
        "" => (3, "0"),
        _ => match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
            (Some(minor), _) => (2, minor),
            (_, Some(minor)) => (1, minor),
            _ => return (0, 0, 0),
        },
    };
    (stability, major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

fn unknown_kind(schema: &Schema, word: &str, api_version: Option<&str>) -> Diagnostic {
    let suffix = api_version.map(|version| format!(" in {version}")).unwrap_or_default();
    let error = Diagnostic::error(Code::NoSchema, format!("unknown kind `{word}`{suffix}"));
    let mut names: Vec<String> = known_kinds(schema).map(|entry| entry.kind().to_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let help = did_you_mean(word, &names).filter(|_| api_version.is_none());
    error.help(
        help.unwrap_or_else(|| "for a custom resource, pass `--schema FILE` or `--schema cluster`".into()),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::schema::{KindDef, Model, TypeDef, TypeKind};

    #[test]
    fn kinds_are_found_by_plural_singular_and_short_name() {
        let schema = Schema::embedded();
        let table = [
            ("deployment", "apps/v1 Deployment", 1),
            ("Deployments", "apps/v1 Deployment", 1),
            ("deploy.spec.replicas", "apps/v1 Deployment", 1),
            ("deploy.apps.spec", "apps/v1 Deployment", 2),
            ("deploy.v1.apps.spec", "apps/v1 Deployment", 3),
            ("svc", "v1 Service", 1),
            ("pods.v1.spec", "v1 Pod", 2),
            ("event", "v1 Event", 1),
            ("event.events.k8s.io", "events.k8s.io/v1 Event", 4),
            ("hpa", "autoscaling/v2 HorizontalPodAutoscaler", 1),
            ("hpa.v1.autoscaling", "autoscaling/v1 HorizontalPodAutoscaler", 3),
            ("ing", "networking.k8s.io/v1 Ingress", 1),
            ("ing.extensions", "extensions/v1beta1 Ingress", 2),
            ("ingresses", "networking.k8s.io/v1 Ingress", 1),
            ("networkpolicies", "networking.k8s.io/v1 NetworkPolicy", 1),
            ("compositepodgroups", "scheduling.k8s.io/v1alpha3 CompositePodGroup", 1),
            ("endpoints", "v1 Endpoints", 1),
            ("psp", "policy/v1beta1 PodSecurityPolicy", 1),
        ];
        for (text, want, count) in table {
            let words: Vec<&str> = text.split('.').collect();
            let (gvk, used) = find_kind(&schema, &words, None).expect(text);
            assert_eq!((gvk.to_string().as_str(), used), (want, count), "{text}");
        }
        let (gvk, _) = find_kind(&schema, &["cronjob"], Some("batch/v1beta1")).expect("known");
        assert_eq!(gvk.to_string(), "batch/v1beta1 CronJob");
    }

    #[test]
    fn kinds_of_kubernetes_come_before_custom_ones() {
        let custom = Gvk::from_manifest("serving.example.com/v1", "Service");
        let kind = KindDef { root: Some(TypeDef::new(TypeKind::Object)), ..KindDef::default() };
        let kind = KindDef { names: vec!["services".into(), "kservice".into()], ..kind };
        let model = Model { kinds: [(custom.clone(), kind)].into(), ..Model::default() };
        let mut schema = Schema::embedded();
        schema.push_front("crd.yaml", Arc::new(model.compile().expect("small")));
        let find = |words: &[&str]| find_kind(&schema, words, None).expect("known").0.to_string();
        assert_eq!(find(&["svc"]), "v1 Service");
        assert_eq!(find(&["services"]), "v1 Service");
        assert_eq!(find(&["kservice"]), custom.to_string());
        assert_eq!(find(&["service", "serving", "example", "com"]), custom.to_string());
    }

    #[test]
    fn words_match_kinds_by_name_plural_and_group() {
        let deployment = Gvk::from_manifest("apps/v1", "Deployment");
        let custom = Gvk::from_manifest("example.com/v1", "Deployment");
        let table = [
            ("deployment", true, true),
            ("Deployments", true, true),
            ("deploy", true, false),
            ("deploy.apps", true, false),
            ("deployment.v1.apps", true, false),
            ("deployments.v1.example.com", false, true),
            ("deployment.v1", false, false),
            ("deployment.v2.apps", false, false),
            ("deploymen", false, false),
            ("", false, false),
        ];
        for (text, of_kubernetes, of_another) in table {
            let words: Vec<&str> = text.split('.').collect();
            let named = (matches_kind(&deployment, &words), matches_kind(&custom, &words));
            assert_eq!(named, (of_kubernetes, of_another), "{text}");
        }
    }

    #[test]
    fn resources_are_found_by_plural_only() {
        let schema = Schema::embedded();
        let find = |plural, version| find_resource(&schema, plural, version).map(|gvk| gvk.kind.to_string());
        assert_eq!(find("configmaps", "v1").as_deref(), Some("ConfigMap"));
        assert_eq!(find("events", "events.k8s.io/v1").as_deref(), Some("Event"));
        for (plural, version) in [
            ("ConfigMaps", "v1"),
            ("configmap", "v1"),
            ("cm", "v1"),
            ("ConfigMap", "v1"),
            ("configmaps", "v2"),
            ("", "v1"),
        ] {
            assert_eq!(find(plural, version), None, "{plural} {version}");
        }
    }

    #[test]
    fn unknown_kinds_are_rejected_with_a_suggestion() {
        let schema = Schema::embedded();
        let error = find_kind(&schema, &["deploymnet"], None).expect_err("no such kind");
        assert_eq!(error.message(), "unknown kind `deploymnet`");
        assert_eq!(error.help_text(), Some("did you mean `deployment`?"));
        let error = find_kind(&schema, &["deployment"], Some("apps/v9")).expect_err("no such version");
        assert_eq!(error.message(), "unknown kind `deployment` in apps/v9");
        assert!(find_kind(&schema, &[], None).is_err());
    }

    #[test]
    fn stable_versions_come_first() {
        let mut versions = ["v1beta2", "v1alpha1", "v2", "v10", "v1", "odd", "v1beta1", "v2beta1"];
        versions.sort_by_key(|version| Reverse(version_priority(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "odd"]);
    }
}
