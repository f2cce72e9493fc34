//! Labels, annotations and IDs of ApplySets, as specified in KEP-3659.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// The key of a parent's label that contains the ID of its set.
pub(super) const ID: &str = "applyset.kubernetes.io/id";

/// The key of a member's label that contains the ID of its set.
pub(crate) const PART_OF: &str = "applyset.kubernetes.io/part-of";

/// The label of a CRD whose custom resources may be parents.
pub(super) const IS_PARENT_TYPE: &str = "applyset.kubernetes.io/is-parent-type";

/// The key of a parent's annotation that contains the tool that manages the set.
pub(super) const TOOLING: &str = "applyset.kubernetes.io/tooling";

/// The key of a parent's annotation that contains the kinds of its members: `ConfigMap,Deployment.apps`.
pub(super) const GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";

/// The annotation that older parents have in place of [`GROUP_KINDS`]: `configmaps,deployments.apps`.
pub(super) const GROUP_RESOURCES: &str = "applyset.kubernetes.io/contains-group-resources";

/// The key of a parent's annotation that contains the namespaces of members, except its own namespace.
pub(super) const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// The key of a parent's annotation that contains the target from which the set was last applied.
pub(super) const TARGET: &str = "smp.kubectl.dev/target";

/// The key of a parent's annotation that contains the repository of the target.
pub(super) const REPOSITORY: &str = "smp.kubectl.dev/repository";

/// The key of a cluster-scoped parent's annotation that contains the namespace of its history. Users set it.
pub(super) const HISTORY_NAMESPACE: &str = "smp.kubectl.dev/history-namespace";

/// The key of a stored revision's label that contains the ID of its set.
pub(super) const HISTORY_OF: &str = "smp.kubectl.dev/history-of";

/// The key of a stored revision's label that contains its number.
pub(super) const REVISION: &str = "smp.kubectl.dev/revision";

/// The key of a stored revision's annotation that contains the time when it was applied.
pub(super) const TIME: &str = "smp.kubectl.dev/applied-at";

/// The key of a stored revision's annotation that contains the number of its objects.
pub(super) const OBJECTS: &str = "smp.kubectl.dev/objects";

/// The key of a stored revision's annotation that contains its compressed size.
pub(super) const SIZE: &str = "smp.kubectl.dev/size";

/// The key of a stored revision's annotation that contains the number of Secrets in which it is stored.
pub(super) const CHUNKS: &str = "smp.kubectl.dev/chunks";

/// The key of a stored revision's annotation that contains the hash of its content.
pub(super) const DIGEST: &str = "smp.kubectl.dev/digest";

/// The key of a stored revision's annotation that contains the number of the earlier revision that it restored.
pub(super) const ROLLBACK_OF: &str = "smp.kubectl.dev/rollback-of";

/// Returns the ID of a parent's set. The namespace and the group may be empty.
pub(super) fn set_id(name: &str, namespace: &str, kind: &str, group: &str) -> String {
    let hash = Sha256::digest(format!("{name}.{namespace}.{kind}.{group}"));
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_match_kubectl() {
        // The IDs that `kubectl apply --prune --applyset=[configmaps/]set1 -n a` of 1.36.3 writes.
        let secret = set_id("set1", "a", "Secret", "");
        assert_eq!(secret, "applyset-fWABoIUcOV5TuCpCvPitNq36PbnnQ6UDjwpMKuWxd1Q-v1");
        let map = set_id("set1", "a", "ConfigMap", "");
        assert_eq!(map, "applyset-8c4AGmI1nHpxqxp0u-3tR0AMWyDVk4LPPlpRYhXviX0-v1");
        assert!(map.len() <= 63, "fits into a label value");
    }
}
