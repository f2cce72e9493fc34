//! The schema tables that are compiled into the program.
//!
//! Each table is a compiled graph that is read directly from the program's binary. CONTRIBUTING.md lists the documents
//! from which the tables are compiled.

use std::sync::{Arc, LazyLock};

use super::{Gvk, TypeGraph};

static KUBERNETES: LazyLock<Arc<TypeGraph>> =
    LazyLock::new(|| open(include_bytes!("embedded/kubernetes.smpschema")));
static KUSTOMIZE: LazyLock<Arc<TypeGraph>> =
    LazyLock::new(|| open(include_bytes!("embedded/kustomize.smpschema")));

/// The oldest and the newest Kubernetes version whose kinds are embedded.
pub const KUBERNETES_VERSIONS: [&str; 2] = ["1.21", "1.37"];

/// Returns the types of Kubernetes 1.37, and the types of kinds that were removed since 1.21.
pub fn kubernetes() -> Arc<TypeGraph> {
    Arc::clone(&KUBERNETES)
}

/// Returns true if a kind is part of Kubernetes.
pub fn is_built_in(gvk: &Gvk) -> bool {
    KUBERNETES.kind(gvk).is_some()
}

/// Returns the types that kustomize embeds, which are those of Kubernetes 1.21.2.
pub(super) fn kustomize() -> Arc<TypeGraph> {
    Arc::clone(&KUSTOMIZE)
}

/// Opens an embedded table. Returns no types if the table cannot be opened. A test opens both tables and checks their
/// checksums.
fn open(bytes: &'static [u8]) -> Arc<TypeGraph> {
    Arc::new(TypeGraph::open_unchecked(bytes).unwrap_or_else(|_| TypeGraph::empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Scope;

    #[test]
    fn both_tables_open_and_stay_small() {
        let tables: [&'static [u8]; 2] =
            [include_bytes!("embedded/kubernetes.smpschema"), include_bytes!("embedded/kustomize.smpschema")];
        for (bytes, graph) in tables.into_iter().zip([kubernetes(), kustomize()]) {
            assert!(graph.kinds().count() > 250);
            assert!(bytes.len() < 250 * 1024, "{} bytes", bytes.len());
            let checked = TypeGraph::from_bytes(bytes).expect("its checksum is right");
            assert_eq!(checked.to_bytes(), graph.to_bytes());
        }
    }

    fn scope(graph: &TypeGraph, api_version: &str, kind: &str) -> Option<Scope> {
        graph.scope(&Gvk::from_manifest(api_version, kind))
    }

    #[test]
    fn scopes_of_new_and_removed_kinds() {
        use Scope::{Cluster, Namespaced};
        let (new, old) = (kubernetes(), kustomize());
        let table = [
            ("v1", "Pod", Some(Namespaced), Some(Namespaced)),
            ("v1", "Node", Some(Cluster), Some(Cluster)),
            ("v1", "Binding", Some(Namespaced), None),
            ("authentication.k8s.io/v1", "TokenReview", Some(Cluster), None),
            ("policy/v1beta1", "PodSecurityPolicy", Some(Cluster), Some(Cluster)),
            ("batch/v1beta1", "CronJob", Some(Namespaced), Some(Namespaced)),
            ("extensions/v1beta1", "Ingress", Some(Namespaced), Some(Namespaced)),
            ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", Some(Cluster), Some(Cluster)),
            ("storagemigration.k8s.io/v1", "StorageVersionMigration", Some(Cluster), None),
            ("certificates.k8s.io/v1", "PodCertificateRequest", Some(Namespaced), None),
            ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", Some(Cluster), None),
            ("example.com/v1", "Thing", None, None),
        ];
        for (api_version, kind, in_new, in_old) in table {
            assert_eq!(scope(&new, api_version, kind), in_new, "{api_version} {kind}");
            assert_eq!(scope(&old, api_version, kind), in_old, "{api_version} {kind} in kustomize");
        }
    }

    #[test]
    fn only_kinds_that_are_not_persisted_have_no_scope() {
        let graph = kubernetes();
        let odd = ["APIGroup", "APIVersions", "DeleteOptions", "Status", "WatchEvent"];
        for (gvk, scope) in graph.kinds() {
            let exempt = gvk.kind.ends_with("List") || odd.contains(&gvk.kind.as_str());
            assert!(scope.is_some() || exempt, "{gvk}");
        }
    }

    #[test]
    fn service_ports_have_keys_and_the_protocol_default() {
        let graph = kubernetes();
        let spec = graph.named("io.k8s.api.core.v1.ServiceSpec").expect("known");
        let ports = spec.field("ports");
        assert_eq!(ports.list_map_keys().collect::<Vec<_>>(), ["port", "protocol"]);
        assert_eq!(ports.patch_merge_key(), Some("port"));
        assert_eq!(ports.element().key_default("protocol"), Some("\"TCP\""));
        assert_eq!(ports.element().key_default("port"), None);
    }

    #[test]
    fn values_have_their_constraints() {
        let graph = kubernetes();
        let port = graph.named("io.k8s.api.core.v1.ContainerPort").expect("known");
        assert_eq!(port.field("protocol").constraints().enumeration, ["SCTP", "TCP", "UDP"]);
        assert_eq!(port.field("containerPort").constraints().format.as_deref(), Some("int32"));
        let pod = graph.kind(&Gvk::from_manifest("v1", "Pod")).expect("known");
        assert!(pod.field("kind").constraints().is_empty(), "a kind is known by more than its schema");
    }
}
