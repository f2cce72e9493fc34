//! Strategic merge patches and JSON patches, in all their forms.

use super::layer::Draft;
use super::resource_model::{Field, FieldType, ModelResource, distinct};
use super::{OverlayGenerator, indent, line};

impl OverlayGenerator {
    /// Writes patches that apply before all other changes of a layer.
    pub fn patches(&mut self, draft: &mut Draft) {
        if self.dice.chance(12) {
            self.deprecated_strategic_merge_patches(draft);
        }
        let mut entries = String::new();
        for _ in 0..=self.dice.below(3) {
            entries += &match self.dice.below(10) {
                0..=3 => self.strategic(draft),
                4..=5 => self.strategic_by_target(draft),
                6..=7 => self.operations(draft),
                8 => self.wide(),
                _ => self.renaming(draft),
            };
        }
        if !entries.is_empty() {
            line!(draft.text, "patches:\n{}", entries.trim_end());
        }
    }

    /// Returns an entry of `patches` or a similar list, with the patch inline or in a file.
    fn entry(&mut self, draft: &mut Draft, head: &str, patch: &str) -> String {
        if self.dice.chance(25) {
            let file = draft.file_name("patch", "yaml");
            self.file(&format!("{}/{file}", draft.directory), patch);
            return format!("- path: {file}\n{head}");
        }
        format!("- patch: |-\n{}{head}", indent(patch.trim_end(), 4))
    }

    /// Writes a patch that identifies its target by name.
    fn strategic(&mut self, draft: &mut Draft) -> String {
        let Some(patch) = self.named_patch(draft) else { return String::new() };
        self.entry(draft, "", &patch)
    }

    fn named_patch(&mut self, draft: &mut Draft) -> Option<String> {
        let known = distinct(&draft.resources);
        let thing = (*self.dice.any(&known)?).clone();
        if self.dice.chance(4) && draft.resources.len() > 3 {
            draft.resources.retain(|t| !(t.kind == thing.kind && t.original_name == thing.original_name));
            return Some(format!("{}$patch: delete\n", head(&thing, "")));
        }
        let index = draft
            .resources
            .iter()
            .position(|t| t.kind == thing.kind && t.original_name == thing.original_name)?;
        let (metadata, body) = self.body(&mut draft.resources[index]);
        Some(format!("{}{body}\n", head(&thing, &metadata)))
    }

    fn strategic_by_target(&mut self, draft: &mut Draft) -> String {
        let known = distinct(&draft.resources);
        let Some(thing) = self.dice.any(&known).map(|t| (*t).clone()) else { return String::new() };
        let Some(index) = draft
            .resources
            .iter()
            .position(|t| t.kind == thing.kind && t.original_name == thing.original_name)
        else {
            return String::new();
        };
        let (metadata, body) = self.body(&mut draft.resources[index]);
        let head = match self.dice.below(2) {
            0 => head(&thing, &metadata),
            _ => format!(
                "\
apiVersion: any/v1
kind: Any
metadata: {{name: any{metadata}}}
"
            ),
        };
        let target = self.target(&thing);
        self.entry(draft, &format!("  target: {target}\n"), &format!("{head}{body}\n"))
    }

    /// Returns a selector for exactly this resource.
    fn target(&mut self, thing: &ModelResource) -> String {
        let (kind, group) = (thing.kind, thing.group());
        let name = if self.dice.chance(70) { &thing.original_name } else { &thing.name };
        let version = thing.api.rsplit('/').next().unwrap_or_default();
        let group = if group.is_empty() { String::new() } else { format!("group: {group}, ") };
        match self.dice.below(4) {
            0 => format!("{{{group}version: {version}, kind: {kind}, name: {name}}}"),
            1 => format!("{{kind: {kind}, name: \"^{name}$\"}}"),
            _ => format!("{{kind: {kind}, name: {name}}}"),
        }
    }

    /// Writes a patch that fits most resources, for targets that select any number of them.
    fn wide(&mut self) -> String {
        let target = self.dice.pick(&[
            "{kind: Deployment}",
            "{kind: \"Deployment|StatefulSet\"}",
            "{labelSelector: \"app=web0\"}",
            "{labelSelector: \"app in (web, api0), part\"}",
            "{labelSelector: \"!app\"}",
            "{annotationSelector: \"note\"}",
            "{name: \".*a.*\"}",
            "{group: apps, version: v1}",
            "{namespace: default, kind: Service}",
            "{kind: ConfigMap, name: settings.*}",
            "{name: '\\${NAME}|web\\d'}",
            "{name: 'db{0,1}\\w{1,2}|[a[]pi.{,3}'}",
            "{name: '(?i)WEB[[:digit:]]+'}",
        ]);
        let body = if target.contains("Deployment") {
            let (text, image) = (self.dice.text(), self.dice.pick(&["", ", image: main:2"]));
            format!(
                "spec: {{template: {{spec: {{containers: [{{name: main, env: [{{name: A, value: {text}}}]{image}}}]}}}}}}"
            )
        } else {
            String::new()
        };
        let text = self.dice.text();
        let metadata = self.dice.pick(&[
            "annotations: {wide: TEXT}",
            "labels: {wide: patch}",
            "annotations: {note: null}",
        ]);
        let metadata = metadata.replace("TEXT", text);
        format!(
            "\
- target: {target}
  patch: |-
    apiVersion: v1
    kind: Any
    metadata: {{name: any, {metadata}}}
    {body}
"
        )
    }

    /// Returns additional metadata and the other fields of a strategic merge patch for a resource.
    fn body(&mut self, thing: &mut ModelResource) -> (String, String) {
        if self.dice.chance(25) {
            return (self.metadata(thing), String::new());
        }
        if thing.is_workload() {
            return (String::new(), self.workload(thing));
        }
        let (text, value) = (self.dice.text(), self.dice.value());
        let body = match thing.kind {
            "Service" if self.dice.chance(50) => "spec: {type: LoadBalancer, sessionAffinity: null}".into(),
            "Service" => "spec: {ports: [{name: extra, port: 81, protocol: UDP}]}".into(),
            "ConfigMap" if thing.generated => format!("data: {{patched: {text}}}"),
            "ConfigMap" => format!("data: {{key: {text}, more: {text}}}"),
            "Secret" => "stringData: {patched: x}".into(),
            "HorizontalPodAutoscaler" => "spec: {minReplicas: 1, maxReplicas: 7}".into(),
            "Ingress" => "spec: {ingressClassName: nginx, tls: null}".into(),
            "Role" | "ClusterRole" => {
                "rules: [{apiGroups: [apps], resources: [deployments], verbs: [get]}]".into()
            }
            "Widget" => format!("spec: {{text: {text}, list: [{value}], added: {{b: {value}, a: 1}}}}"),
            "Gadget" => format!(
                "\
data: {value}
ratio: 1.10
flags: {{off: {value}}}"
            ),
            _ => return (self.metadata(thing), String::new()),
        };
        if thing.kind == "Ingress" {
            thing.remove_fields("spec.tls");
        }
        if thing.kind == "Widget" || thing.kind == "Gadget" {
            thing.fields.retain(|f| f.path.starts_with("metadata"));
        }
        (String::new(), body)
    }

    fn metadata(&mut self, thing: &mut ModelResource) -> String {
        let text = self.dice.text();
        if self.dice.chance(30) {
            return ", labels: {app: null, patched: \"yes\"}, finalizers: [x/y]".into();
        }
        if self.dice.chance(15) {
            thing.remove_fields("metadata.annotations");
            return ", annotations: null".into();
        }
        thing.add_field("metadata.annotations", FieldType::Map);
        format!(", annotations: {{patched: {text}, a.b/c: \"1\"}}")
    }

    fn workload(&mut self, thing: &mut ModelResource) -> String {
        let name = self.dice.any(&thing.containers).cloned().unwrap_or_default();
        let (text, pod) = (self.dice.text(), thing.pod_spec_path());
        let protocol = if self.habits.port_protocols { ", protocol: TCP" } else { "" };
        let inner = match self.dice.below(13) {
            0 | 1 => format!(
                "containers: [{{name: {name}, env: [{{name: A, value: {text}}}, {{name: C, value: new}}]}}]"
            ),
            2 if thing.containers.len() > 1 => {
                thing.containers.retain(|c| *c != name);
                thing.remove_fields(&format!("{pod}.containers."));
                format!("containers: [{{name: {name}, $patch: delete}}]")
            }
            3 => "containers: [{name: third, image: \"third:1\"}]".into(),
            4 => "volumes: [{name: w, emptyDir: {}}, {name: v, $patch: delete}], nodeSelector: {disk: ssd}"
                .into(),
            5 => {
                thing.remove_fields(&format!("{pod}.containers.[name={name}].args"));
                format!("containers: [{{name: {name}, args: [z, {text}], command: null, stdin: true}}]")
            }
            6 => {
                thing.fields.retain(|f| !f.path.starts_with(pod));
                thing.containers = vec!["only".into()];
                "$patch: replace, containers: [{name: only, image: \"only:1\"}]".into()
            }
            7 => format!(
                "containers: [{{name: {name}, ports: [{{containerPort: 80, name: web{protocol}}}, {{containerPort: 443{protocol}}}]}}]"
            ),
            8 => "tolerations: [{key: k, operator: Exists}], terminationGracePeriodSeconds: 5".into(),
            9 => format!(
                "containers: [{{name: {name}, env: [{{name: A, $patch: delete}}, {{name: B, value: plain, valueFrom: null}}]}}]"
            ),
            10 => format!(
                "containers: [{{name: {name}, resources: {{requests: {{cpu: 1, memory: \"1e3\"}}}}}}]"
            ),
            11 => format!("initContainers: [{{name: init, args: [{text}]}}], hostNetwork: false"),
            _ => "securityContext: {runAsUser: 1000, fsGroup: 0}, serviceAccountName: null".into(),
        };
        thing.wrap_in_pod_spec(&inner)
    }

    /// Writes a JSON patch for one resource.
    fn operations(&mut self, draft: &mut Draft) -> String {
        let Some((target, operations)) = self.json_patch(draft) else { return String::new() };
        let head = format!("  target: {target}\n");
        if self.dice.chance(15) {
            let file = draft.file_name("patch", "json");
            let json =
                "[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"json\": \"patch\"}}]";
            self.file(&format!("{}/{file}", draft.directory), json);
            return format!("- path: {file}\n{head}");
        }
        self.entry(draft, &head, &operations)
    }

    fn json_patch(&mut self, draft: &mut Draft) -> Option<(String, String)> {
        let known = distinct(&draft.resources);
        let thing = (*self.dice.any(&known)?).clone();
        let index = draft
            .resources
            .iter()
            .position(|t| t.kind == thing.kind && t.original_name == thing.original_name)?;
        let target = self.target(&thing);
        let mut text = String::new();
        for _ in 0..=self.dice.below(3) {
            let operation = self.operation(&mut draft.resources[index]);
            line!(text, "- {{{operation}}}");
        }
        Some((target, text))
    }

    fn operation(&mut self, thing: &mut ModelResource) -> String {
        let safe = |f: &&Field| f.path != "metadata.name" && f.path != "kind";
        let fields: Vec<Field> = thing.fields.iter().filter(safe).cloned().collect();
        let kind = thing.kind;
        let Some(field) = self.dice.any(&fields).cloned() else {
            return format!("op: test, path: /kind, value: {kind}");
        };
        let pointer = &field.pointer;
        match (field.shape, self.dice.below(4)) {
            (FieldType::Text, 0) => {
                thing.remove_fields(&field.path);
                format!("op: remove, path: {pointer}")
            }
            (FieldType::Text, 1) if thing.has_field("metadata.annotations") => {
                format!("op: copy, from: {pointer}, path: /metadata/annotations/copied")
            }
            (FieldType::Text, _) => format!("op: replace, path: {pointer}, value: {}", self.dice.text()),
            (FieldType::Number, 0) => format!("op: add, path: {pointer}, value: \"5\""),
            (FieldType::Number, _) => format!("op: replace, path: {pointer}, value: 5"),
            (FieldType::Map, 0) if field.path.contains("annotations") => {
                thing.remove_fields(&field.path);
                thing.add_field(&field.path, FieldType::Map);
                format!("op: replace, path: {pointer}, value: {{only: {}}}", self.dice.text())
            }
            (FieldType::Map, _) => format!("op: add, path: {pointer}/x~1y, value: {}", self.dice.text()),
            (FieldType::List, _) if field.path.ends_with("containers") => {
                let position = self.dice.pick(&["-", "0"]);
                if position == "0" {
                    thing.remove_fields(&format!("{}.", field.path));
                }
                format!(
                    "op: add, path: {pointer}/{position}, value: {{name: json{}, image: busybox}}",
                    self.number()
                )
            }
            (FieldType::List, _) if field.path.ends_with("args") || field.path.ends_with("list") => {
                format!("op: add, path: {pointer}/-, value: {}", self.dice.text())
            }
            _ => format!("op: test, path: /kind, value: {kind}"),
        }
    }

    /// Writes a patch that may change the name or the kind.
    fn renaming(&mut self, draft: &mut Draft) -> String {
        let known = distinct(&draft.resources);
        let Some(thing) = self.dice.any(&known).map(|t| (*t).clone()) else { return String::new() };
        let (api, kind, mark) = (thing.api, thing.kind, draft.suffix.clone());
        let (name, target) = (format!("renamed{mark}-{}", thing.original_name), self.target(&thing));
        if thing.kind == "Namespace" || thing.generated {
            return String::new();
        }
        let Some(found) =
            draft.resources.iter_mut().find(|t| t.kind == kind && t.original_name == thing.original_name)
        else {
            return String::new();
        };
        let options = self.dice.pick(&[
            "{allowNameChange: true}",
            "{allowNameChange: true, allowKindChange: true}",
            "{allowNameChange: false}",
        ]);
        if options.contains("allowNameChange: true") {
            found.name.clone_from(&name);
        }
        format!(
            "\
- target: {target}
  options: {options}
  patch: |-
    apiVersion: {api}
    kind: {kind}
    metadata: {{name: {name}}}
"
        )
    }

    /// Writes the deprecated list of strategic merge patches.
    fn deprecated_strategic_merge_patches(&mut self, draft: &mut Draft) {
        let Some(patch) = self.named_patch(draft) else { return };
        if self.dice.chance(50) {
            let file = draft.file_name("old", "yaml");
            self.file(&format!("{}/{file}", draft.directory), &patch);
            line!(draft.text, "patchesStrategicMerge: [{file}]");
        } else {
            line!(
                draft.text,
                "\
patchesStrategicMerge:
- |-
{}",
                indent(patch.trim_end(), 2).trim_end()
            );
        }
    }

    /// Writes the deprecated list of JSON patches, which apply after names and labels.
    pub fn deprecated_json_patches(&mut self, draft: &mut Draft) {
        let Some((target, operations)) = self.json_patch(draft) else { return };
        line!(
            draft.text,
            "\
patchesJson6902:
- target: {target}
  patch: |-
{}",
            indent(&operations, 4).trim_end()
        );
    }
}

/// Returns type and metadata of a patch that identifies its target by name.
fn head(thing: &ModelResource, metadata: &str) -> String {
    let ModelResource { api, kind, original_name: original, .. } = thing;
    let space = thing.original_namespace.as_ref().map(|s| format!(", namespace: {s}")).unwrap_or_default();
    format!(
        "\
apiVersion: {api}
kind: {kind}
metadata: {{name: {original}{space}{metadata}}}
"
    )
}
