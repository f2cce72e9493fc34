//! Changes that only add or remove defaults of the API server.

use smp_merge::defaults;
use smp_merge::schema::Schema;
use smp_text::path::FieldPath;
use smp_text::yaml::Node;

/// Both versions of an object, with defaults.
pub(super) struct WithDefaults([Node; 2]);

impl WithDefaults {
    /// Sets the defaults in both versions.
    pub fn new(versions: [&Node; 2], schema: &Schema) -> Self {
        Self(versions.map(|node| {
            let mut json = node.to_json_value();
            defaults::fill(&mut json, schema);
            Node::from(&json)
        }))
    }

    /// Returns true if both versions have the same value at a path.
    pub fn is_same_at(&self, path: &FieldPath) -> bool {
        let [old, new] = self.0.each_ref().map(|node| path.find(node).map(Node::to_json_value));
        old == new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_merge::diff::compare;

    #[test]
    fn written_defaults_are_the_same_and_other_values_are_not() {
        let schema = Schema::embedded();
        let service = |spec: &str| -> Node {
            format!("{{apiVersion: v1, kind: Service, metadata: {{name: a}}, spec: {spec}}}")
                .parse()
                .expect("YAML")
        };
        let old = service("{ports: [{port: 80}]}");
        let new = service(
            "{type: ClusterIP, sessionAffinity: ClientIP, ports: [{port: 80, targetPort: 80, protocol: TCP}]}",
        );
        let both = WithDefaults::new([&old, &new], &schema);
        let gvk = smp_merge::schema::Gvk::from_object(&old.to_json_value()).expect("a kind");
        let comparison = compare(Some(&old), Some(&new), schema.kind(&gvk).expect("known"));
        let left: Vec<String> = comparison
            .changes()
            .iter()
            .filter(|change| !both.is_same_at(&change.path))
            .map(|change| change.path.to_string())
            .collect();
        assert_eq!(left, ["spec.sessionAffinity"]);
    }
}
