//! Built-in generators and transformers with their own configuration, and transformer configurations.

use super::layer::Draft;
use super::resource_model::{FieldType, ModelResource, distinct};
use super::{OverlayGenerator, indent, line};

impl OverlayGenerator {
    /// Writes `generators`, `transformers`, `validators`, `configurations` and `crds` at random. `percent` is the
    /// probability of an ordinary field; that of these fields is lower.
    pub fn plugins(&mut self, draft: &mut Draft, percent: usize) {
        if self.dice.chance(percent / 3) {
            let mut all = Vec::new();
            for _ in 0..=self.dice.below(2) {
                all.extend(self.transformer(draft));
            }
            self.list(draft, "transformers", &all);
        }
        if self.dice.chance(percent / 4) {
            let all: Vec<String> = self.generator(draft).into_iter().collect();
            self.list(draft, "generators", &all);
        }
        if self.dice.chance(percent / 10) {
            let validator = plugin("LabelTransformer", "check", "labels: {}\n");
            self.list(draft, "validators", &[validator]);
        }
        if self.dice.chance(percent / 3) {
            self.configurations(draft);
        }
        if self.dice.chance(percent / 8) {
            let file = draft.file_name("crd", "json");
            self.file(&format!("{}/{file}", draft.directory), CRD);
            line!(draft.text, "crds: [{file}]");
        }
    }

    /// Writes plugins inline or in files.
    fn list(&mut self, draft: &mut Draft, field: &str, plugins: &[String]) {
        if plugins.is_empty() {
            return;
        }
        line!(draft.text, "{field}:");
        for plugin in plugins {
            if self.dice.chance(35) {
                let file = draft.file_name("plugin", "yaml");
                self.file(&format!("{}/{file}", draft.directory), plugin);
                line!(draft.text, "- {file}");
            } else {
                line!(draft.text, "- |-\n{}", indent(plugin.trim_end(), 2).trim_end());
            }
        }
    }

    fn generator(&mut self, draft: &mut Draft) -> Option<String> {
        let number = self.number();
        let (kind, name) = self.dice.pick(&[("ConfigMap", "made"), ("Secret", "sealed")]);
        let name = format!("{name}{number}");
        let literal = self.dice.pick(&["[a=1]", "[\"a=x y\", one=b]", "[]"]);
        let options =
            self.dice.pick(&["", "options: {disableNameSuffixHash: true}\n", "options: {labels: {l: m}}\n"]);
        if self.dice.chance(15) {
            let config = format!(
                "\
cloud: gke
kubernetesService: {{name: ksa{number}}}
serviceAccount: {{name: gsa, projectId: p}}
"
            );
            return Some(plugin("IAMPolicyGenerator", &name, &config));
        }
        let mut thing = ModelResource::new("v1", kind, &name);
        thing.generated = true;
        if draft.resources.iter().any(|t| t.conflicts_with(&thing)) {
            return None;
        }
        Some(plugin(&format!("{kind}Generator"), &name, &format!("literals: {literal}\n{options}")))
    }

    /// Returns the configuration of a transformer.
    fn transformer(&mut self, draft: &mut Draft) -> Option<String> {
        let (kind, config) = match self.dice.below(12) {
            0..=2 => self.simple_transformer(draft),
            3 => self.replica_counts(draft)?,
            4..=6 => self.patching_transformer(draft)?,
            7 => {
                let replacement = self.replacement(draft);
                if replacement.is_empty() {
                    return None;
                }
                ("ReplacementTransformer", format!("replacements:\n{replacement}"))
            }
            8 => {
                let text = self.dice.text();
                let target = self.dice.pick(&[
                    "{selector: {kind: Widget}, fieldPath: spec/added}",
                    "{fieldPath: metadata/annotations/added}",
                    "{selector: {kind: Service}, fieldPath: metadata/labels/x}",
                ]);
                (
                    "ValueAddTransformer",
                    format!(
                        "\
value: {text}
targets:
- {target}
"
                    ),
                )
            }
            9 => self.affix(draft),
            10 => ("HashTransformer", String::new()),
            _ => {
                let mode = self.dice.pick(&[
                    "",
                    "unsetOnly: true\n",
                    "setRoleBindingSubjects: none\n",
                    "setRoleBindingSubjects: allServiceAccounts\n",
                ]);
                return namespace_plugin(draft, self.number(), mode);
            }
        };
        Some(plugin(kind, &format!("plugin{}", self.number()), &config))
    }

    fn replica_counts(&mut self, draft: &Draft) -> Option<(&'static str, String)> {
        let scaled = |t: &&ModelResource| matches!(t.kind, "Deployment" | "StatefulSet");
        let things: Vec<&ModelResource> = draft.resources.iter().filter(scaled).collect();
        let thing = self.dice.any(&things)?;
        let (name, kind) = (&thing.original_name, thing.kind);
        let spec = format!("{{path: spec/replicas, create: true, kind: {kind}}}");
        let config = format!(
            "\
replica: {{name: {name}, count: 4}}
fieldSpecs:
- {spec}
"
        );
        Some(("ReplicaCountTransformer", config))
    }

    fn simple_transformer(&mut self, draft: &Draft) -> (&'static str, String) {
        let mark = &draft.suffix;
        match self.dice.below(3) {
            0 => {
                let text = self.dice.text();
                let spec = "{path: metadata/annotations, create: true}";
                (
                    "AnnotationsTransformer",
                    format!(
                        "\
annotations: {{by-plugin: {text}}}
fieldSpecs:
- {spec}
"
                    ),
                )
            }
            1 => {
                let spec = self.dice.pick(&[
                    "{path: metadata/labels, create: true}",
                    "{path: spec/template/metadata/labels, create: false}",
                    "{path: spec/selector/matchLabels, kind: Deployment}",
                ]);
                (
                    "LabelTransformer",
                    format!(
                        "\
labels: {{by-plugin: p{mark}}}
fieldSpecs:
- {spec}
"
                    ),
                )
            }
            _ => {
                let image = self.dice.pick(&[
                    "{name: busybox, newTag: \"9\"}",
                    "{name: nginx, newName: nn, digest: \"sha256:1\"}",
                ]);
                let spec = "{path: \"spec/template/spec/containers[]/image\"}";
                (
                    "ImageTagTransformer",
                    format!(
                        "\
imageTag: {image}
fieldSpecs:
- {spec}
"
                    ),
                )
            }
        }
    }

    fn patching_transformer(&mut self, draft: &Draft) -> Option<(&'static str, String)> {
        let thing = self.any_known(draft)?;
        let ModelResource { api, kind, original_name: name, .. } = &thing;
        Some(match self.dice.below(3) {
            0 => {
                let patch = "\
apiVersion: v1
kind: Any
metadata: {name: any, annotations: {patch: plugin}}
";
                (
                    "PatchTransformer",
                    format!(
                        "\
patch: |-
{}target: {{kind: Service}}
",
                        indent(patch, 2)
                    ),
                )
            }
            1 => {
                let test = format!("{{\"op\": \"test\", \"path\": \"/kind\", \"value\": \"{kind}\"}}");
                let add = "{\"op\": \"add\", \"path\": \"/metadata/json\", \"value\": 1.50}";
                let target = format!("{{kind: {kind}, name: {name}}}");
                (
                    "PatchJson6902Transformer",
                    format!(
                        "\
target: {target}
jsonOp: '[{test}, {add}]'
"
                    ),
                )
            }
            _ => {
                let space = thing
                    .original_namespace
                    .as_ref()
                    .map(|s| format!(", namespace: {s}"))
                    .unwrap_or_default();
                let metadata = format!("{{name: {name}{space}, labels: {{strategic: plugin}}}}");
                let patch = format!(
                    "\
apiVersion: {api}
kind: {kind}
metadata: {metadata}
"
                );
                ("PatchStrategicMergeTransformer", format!("patches: |-\n{}", indent(&patch, 2)))
            }
        })
    }

    fn affix(&mut self, draft: &mut Draft) -> (&'static str, String) {
        let is_prefix = self.dice.chance(50);
        let spec = self.dice.pick(&[
            "{path: metadata/name}",
            "{path: metadata/name, kind: Service}",
            "{path: metadata/labels/app}",
        ]);
        let renamed = |t: &&mut ModelResource| {
            t.kind != "Namespace"
                && !spec.contains("labels")
                && (!spec.contains("Service") || t.kind == "Service")
        };
        for thing in draft.resources.iter_mut().filter(renamed) {
            thing.name = if is_prefix { format!("pp-{}", thing.name) } else { format!("{}-ss", thing.name) };
        }
        let (kind, affix) = if is_prefix {
            ("PrefixTransformer", "prefix: pp-")
        } else {
            ("SuffixTransformer", "suffix: -ss")
        };
        (
            kind,
            format!(
                "\
{affix}
fieldSpecs:
- {spec}
"
            ),
        )
    }

    fn any_known(&mut self, draft: &Draft) -> Option<ModelResource> {
        let known = distinct(&draft.resources);
        self.dice.any(&known).map(|t| (*t).clone())
    }

    fn configurations(&mut self, draft: &mut Draft) {
        let file = draft.file_name("config", "yaml");
        let mut text = String::new();
        for _ in 0..=self.dice.below(3) {
            let part = self.dice.pick(&[
                "\
nameReference:
- {kind: ConfigMap, version: v1, fieldSpecs: [{path: spec/configRef/name, kind: Widget}]}
",
                "\
varReference:
- {path: spec/text, kind: Widget}
- {path: metadata/annotations}
",
                "\
commonLabels:
- {path: spec/labels, kind: Widget, create: true}
",
                "\
commonAnnotations:
- {path: spec/notes, kind: Widget, create: true}
",
                "\
images:
- {path: spec/image, kind: Widget}
",
                "\
replicas:
- {path: spec/size, kind: Widget, create: true}
",
                "\
namePrefix:
- {path: spec/text, kind: Widget}
",
                "\
namespace:
- {path: spec/space, kind: Widget, create: true}
",
                "\
templateLabels:
- {path: spec/labels, kind: Widget, create: true}
",
                "\
labels:
- {path: spec/labels, kind: Widget, create: true}
",
            ]);
            let field = part.split(':').next().unwrap_or_default();
            if !text.contains(field) {
                text += part;
            }
        }
        self.file(&format!("{}/{file}", draft.directory), &text);
        line!(draft.text, "configurations: [{file}]");
        for thing in draft.resources.iter_mut().filter(|t| t.kind == "Widget") {
            thing.fields.retain(|f| f.shape != FieldType::Number);
        }
    }
}

/// Returns a NamespaceTransformer that moves the resources to the namespace `plugged`. Returns `None` if two resources
/// would then have the same name.
fn namespace_plugin(draft: &mut Draft, number: usize, mode: &str) -> Option<String> {
    let mut things = draft.resources.clone();
    for thing in &mut things {
        if thing.kind == "Namespace" {
            thing.name = "plugged".into();
        } else if !thing.is_cluster_scoped() && (!mode.contains("unsetOnly") || thing.namespace.is_none()) {
            thing.namespace = Some("plugged".into());
        }
    }
    if things.iter().enumerate().any(|(i, a)| things[..i].iter().any(|b| a.conflicts_with(b))) {
        return None;
    }
    draft.resources = things;
    let metadata = format!("{{name: plugin{number}, namespace: plugged}}");
    let head = format!(
        "\
apiVersion: builtin
kind: NamespaceTransformer
metadata: {metadata}
"
    );
    Some(format!(
        "\
{head}{mode}fieldSpecs:
- {{path: metadata/name, kind: Namespace, create: true}}
"
    ))
}

/// Returns the configuration of a built-in plugin.
fn plugin(kind: &str, name: &str, rest: &str) -> String {
    format!(
        "\
apiVersion: builtin
kind: {kind}
metadata: {{name: {name}}}
{rest}"
    )
}

/// The content of a file of `crds`: it declares that `spec.configRef` of a Widget names a ConfigMap.
const CRD: &str = r#"{
  "github.com/example/pkg/apis/v1.Widget": {
    "Schema": {
      "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"},
        "spec": {"$ref": "github.com/example/pkg/apis/v1.WidgetSpec"}
      }
    },
    "Dependencies": []
  },
  "github.com/example/pkg/apis/v1.WidgetSpec": {
    "Schema": {
      "properties": {
        "configRef": {
          "x-kubernetes-object-ref-api-version": "v1",
          "x-kubernetes-object-ref-kind": "ConfigMap",
          "$ref": "k8s.io/api/core/v1.LocalObjectReference"
        }
      }
    },
    "Dependencies": []
  }
}
"#;
