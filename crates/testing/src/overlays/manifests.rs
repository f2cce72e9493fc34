//! The manifests of a base.

use std::fmt::Write as _;

use super::dice::Dice;
use super::resource_model::{FieldType, ModelResource};

/// Style of all manifests in a tree of overlays.
#[derive(Clone, Copy)]
pub struct ManifestStyle {
    /// Ports have a protocol. The default dialect treats a port without one as TCP, kustomize does not, so a tree
    /// has protocols on all ports or on none.
    pub port_protocols: bool,
    /// Annotations may be null. kustomize writes labels added there (`fields`) into the content of the null, where only
    /// the end of a build, or its origin, finds them. So trees with null annotations have no such labels.
    pub null_annotations: bool,
}

/// Writes the manifests of one application, whose resources refer to each other.
pub struct Application<'d> {
    dice: &'d mut Dice,
    habits: ManifestStyle,
    name: String,
    /// A ConfigMap that the containers read.
    settings: String,
    text: String,
    resources: Vec<ModelResource>,
}

impl<'d> Application<'d> {
    pub fn new(dice: &'d mut Dice, habits: ManifestStyle, name: &str, settings: &str) -> Self {
        let (name, settings) = (name.to_owned(), settings.to_owned());
        Self { dice, habits, name, settings, text: String::new(), resources: Vec::new() }
    }

    /// Returns the text of all documents and their resources.
    pub fn write(mut self) -> (String, Vec<ModelResource>) {
        self.workload();
        if self.dice.chance(60) {
            self.service();
        }
        if self.dice.chance(25) {
            self.account();
        }
        for _ in 0..self.dice.below(3) {
            self.companion();
        }
        if self.dice.chance(8) {
            self.text = as_list(&self.text);
        }
        (self.text, self.resources)
    }

    fn document(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let comment = self.dice.maybe(10, " # next");
        writeln!(self.text, "---{comment}").expect("text");
    }

    /// Writes type and metadata, sometimes with labels and annotations.
    fn head(&mut self, api: &'static str, kind: &'static str) -> ModelResource {
        self.document();
        let name = self.name.clone();
        let mut thing = ModelResource::new(api, kind, &name);
        writeln!(
            self.text,
            "\
apiVersion: {api}
kind: {kind}
metadata:
  name: {name}"
        )
        .expect("text");
        thing.add_field("metadata.name", FieldType::Text);
        thing.add_field("kind", FieldType::Text);
        if self.dice.chance(10) && !thing.is_cluster_scoped() {
            let namespace = self.dice.pick(&["default", "home", "other"]);
            writeln!(self.text, "  namespace: {namespace}").expect("text");
            thing.namespace = Some(namespace.into());
            thing.original_namespace.clone_from(&thing.namespace);
        }
        if self.dice.chance(50) {
            writeln!(
                self.text,
                r"  labels:
    app: {name}
    part: of-all"
            )
            .expect("text");
            thing.add_field("metadata.labels", FieldType::Map);
            thing.add_field("metadata.labels.app", FieldType::Text);
        }
        if self.dice.chance(40) {
            self.annotations();
            thing.add_field("metadata.annotations", FieldType::Map);
            thing.add_field("metadata.annotations.note", FieldType::Text);
        } else {
            let empty = if self.habits.null_annotations && self.dice.chance(12) {
                self.dice.pick(&["  annotations: {}\n", "  annotations:\n"])
            } else {
                ""
            };
            self.text.push_str(empty);
        }
        thing
    }

    fn annotations(&mut self) {
        let text = self.dice.text();
        writeln!(self.text, "  annotations:\n    note: {text}").expect("text");
        let more = self.dice.pick(&[
            "",
            "    example.com/url: \"http://a/b\" # why\n",
            r"    lines: |
      first
      second
",
            r"    folded: >-
      one
      and the same
",
            r"    folded: >
      one
        deeper

       less deep
      two

      three
",
            "    empty: \"\"\n",
            "    var: a-$(ONE)-b\n",
            r#"    # a comment
    j: '{"a": [1, 2]}'
"#,
        ]);
        self.text.push_str(more);
    }

    fn workload(&mut self) {
        let (api, kind) = self.dice.pick(&[
            ("apps/v1", "Deployment"),
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("apps/v1", "DaemonSet"),
            ("batch/v1", "Job"),
            ("batch/v1", "CronJob"),
            ("v1", "Pod"),
        ]);
        let mut thing = self.head(api, kind);
        self.text.push_str("spec:\n");
        let name = self.name.clone();
        if matches!(kind, "Deployment" | "StatefulSet") && self.dice.chance(70) {
            let count = self.dice.pick(&["1", "2", "3", "\"3\""]);
            writeln!(self.text, "  replicas: {count}").expect("text");
            thing.add_field("spec.replicas", FieldType::Number);
        }
        if api == "apps/v1" {
            writeln!(self.text, "  selector:\n    matchLabels: {{app: {name}}}").expect("text");
            thing.add_field("spec.selector.matchLabels", FieldType::Map);
        }
        if kind == "StatefulSet" {
            self.stateful();
        }
        let mut depth = 1;
        if kind == "CronJob" {
            self.text.push_str(
                r#"  schedule: "*/5 * * * *"
  jobTemplate:
    spec:
"#,
            );
            depth = 3;
        }
        if kind != "Pod" {
            let pad = "  ".repeat(depth);
            writeln!(self.text, "{pad}template:").expect("text");
            if api == "apps/v1" || self.dice.chance(40) {
                writeln!(self.text, "{pad}  metadata:\n{pad}    labels: {{app: {name}}}").expect("text");
            }
            writeln!(self.text, "{pad}  spec:").expect("text");
            depth += 2;
        }
        self.pod(&mut thing, depth);
        self.resources.push(thing);
    }

    fn stateful(&mut self) {
        let name = &self.name;
        writeln!(self.text, "  serviceName: {name}").expect("text");
        if self.dice.chance(60) {
            let metadata = self.dice.pick(&[
                "{name: data}",
                "{name: data, labels: {app: db}}",
                "{name: data, labels: null}",
            ]);
            writeln!(
                self.text,
                r"  volumeClaimTemplates:
  - metadata: {metadata}
    spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}"
            )
            .expect("text");
        }
    }

    /// Writes the fields of a Pod spec.
    fn pod(&mut self, thing: &mut ModelResource, depth: usize) {
        let pad = "  ".repeat(depth);
        if self.dice.chance(25) {
            let name = &self.name;
            writeln!(self.text, "{pad}serviceAccountName: {name}").expect("text");
        }
        if self.dice.chance(20) {
            writeln!(self.text, "{pad}initContainers:\n{pad}- {{name: init, image: \"busybox:1.36\"}}")
                .expect("text");
        }
        writeln!(self.text, "{pad}containers:").expect("text");
        self.main_container(&pad);
        thing.containers.push("main".into());
        let base = thing.pod_spec_path();
        thing.add_field(&format!("{base}.containers"), FieldType::List);
        Self::container_fields(thing, 0, "main", &["image", "args"]);
        if self.dice.chance(60) {
            let image = self.dice.pick(&[
                "busybox",
                "busybox:1.36",
                "reg.io:5000/busybox:2",
                "\"busybox@sha256:0123456789\"",
                "\"busybox:1@sha512:0123456789\"",
                "nginx:1-alpine",
            ]);
            writeln!(self.text, "{pad}- name: side\n{pad}  image: {image}").expect("text");
            thing.containers.push("side".into());
            Self::container_fields(thing, 1, "side", &["image"]);
        }
        if self.dice.chance(50) {
            let settings = &self.settings;
            writeln!(
                self.text,
                "\
{pad}volumes:
{pad}- name: v
{pad}  configMap: {{name: {settings}}}"
            )
            .expect("text");
            let image = self.dice.pick(&["", "", "busybox:1", "\"nginx@sha512:0123\""]);
            if !image.is_empty() {
                writeln!(self.text, "{pad}- {{name: image, image: {{reference: {image}}}}}").expect("text");
            }
            thing.add_field(&format!("{base}.volumes"), FieldType::List);
        }
    }

    fn main_container(&mut self, pad: &str) {
        let (name, settings) = (self.name.clone(), self.settings.clone());
        let (one, two) = (self.dice.text(), self.dice.text());
        let protocol = if self.habits.port_protocols { ", protocol: TCP" } else { "" };
        let text = &mut self.text;
        writeln!(text, "{pad}- name: main\n{pad}  image: example.com/{name}:1.0").expect("text");
        let variable = self.dice.pick(&["$(ONE)", "$(TWO)-x", "$(NONE)", "$$(ONE)", "w$(ONE)$(TWO)"]);
        writeln!(text, "{pad}  args: [a, {one}, {variable}]\n{pad}  env:").expect("text");
        writeln!(text, "{pad}  - {{name: A, value: {two}}}").expect("text");
        writeln!(text, "{pad}  - {{name: V, value: \"$(TWO)\"}}").expect("text");
        writeln!(text, "{pad}  - name: B\n{pad}    valueFrom:").expect("text");
        writeln!(text, "{pad}      configMapKeyRef: {{name: {settings}, key: one}}").expect("text");
        if self.dice.chance(70) {
            writeln!(text, "{pad}  ports:\n{pad}  - {{containerPort: 80{protocol}}}").expect("text");
        }
        if self.dice.chance(30) {
            writeln!(text, "{pad}  envFrom:\n{pad}  - configMapRef: {{name: {settings}}}").expect("text");
        }
        if self.dice.chance(25) {
            writeln!(text, "{pad}  volumeMounts:\n{pad}  - {{name: v, mountPath: /v}}").expect("text");
        }
        if self.dice.chance(25) {
            let cpu = self.dice.pick(&["100m", "1", "0.5", "\"2\""]);
            writeln!(text, "{pad}  resources: {{limits: {{cpu: {cpu}, memory: 1Gi}}}}").expect("text");
        }
    }

    fn container_fields(thing: &mut ModelResource, position: usize, name: &str, fields: &[&str]) {
        let base = thing.pod_spec_path();
        for field in fields {
            let shape = if *field == "args" { FieldType::List } else { FieldType::Text };
            thing.add_field(&format!("{base}.containers.[name={name}].{field}"), shape);
            let last = thing.fields.last_mut().expect("just added");
            last.pointer = format!("/{}/containers/{position}/{field}", base.replace('.', "/"));
        }
    }

    fn service(&mut self) {
        let mut thing = self.head("v1", "Service");
        let name = &self.name;
        let protocol = if self.habits.port_protocols { ", protocol: TCP" } else { "" };
        writeln!(
            self.text,
            "\
spec:
  selector: {{app: {name}}}
  ports:
  - {{name: http, port: 80, targetPort: 80{protocol}}}"
        )
        .expect("text");
        thing.add_field("spec.selector", FieldType::Map);
        thing.add_field("spec.ports", FieldType::List);
        thing.add_field("spec.ports.0.port", FieldType::Number);
        self.resources.push(thing);
    }

    fn account(&mut self) {
        let name = self.name.clone();
        let thing = self.head("v1", "ServiceAccount");
        self.resources.push(thing);
        let (binding, role) = self.dice.pick(&[
            ("RoleBinding", "Role"),
            ("ClusterRoleBinding", "ClusterRole"),
            ("RoleBinding", "ClusterRole"),
        ]);
        let role_thing = self.head("rbac.authorization.k8s.io/v1", role);
        let names = self.dice.pick(&["", ", resourceNames: [NAME]"]).replace("NAME", &self.settings);
        writeln!(self.text, "rules:\n- {{apiGroups: [\"\"], resources: [configmaps], verbs: [get]{names}}}")
            .expect("text");
        self.resources.push(role_thing);
        let mut thing = self.head("rbac.authorization.k8s.io/v1", binding);
        let namespace = self.dice.pick(&["", ", namespace: default", ", namespace: home"]);
        writeln!(
            self.text,
            "\
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {role}, name: {name}}}
subjects:
- {{kind: ServiceAccount, name: {name}{namespace}}}"
        )
        .expect("text");
        thing.add_field("subjects", FieldType::List);
        thing.add_field("roleRef.name", FieldType::Text);
        self.resources.push(thing);
    }

    /// Adds a resource that belongs to the workload.
    fn companion(&mut self) {
        let (api, kind, rest) = self.dice.pick(&COMPANIONS);
        if self.resources.iter().any(|t| t.kind == kind) {
            return;
        }
        let workload = self.resources.first().map_or("Deployment", |t| t.kind);
        let mut thing = self.head(api, kind);
        let rest = rest
            .replace("NAME", &self.name)
            .replace("KIND", workload)
            .replace("SETTINGS", &self.settings)
            .replace("TEXT", self.dice.text())
            .replace("VALUE", self.dice.text());
        self.text.push_str(&rest);
        for (path, shape) in known_fields(kind) {
            thing.add_field(path, *shape);
        }
        self.resources.push(thing);
    }
}

/// Kinds, and the manifest after their metadata.
const COMPANIONS: [(&str, &str, &str); 12] = [
    (
        "v1",
        "ConfigMap",
        "\
data:
  key: TEXT
  file.txt: |
    a: 1
    b: $(ONE)
",
    ),
    (
        "v1",
        "Secret",
        "\
type: Opaque
data:
  pass: cGFzcw==
stringData:
  user: TEXT
",
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "\
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: KIND, name: NAME}
",
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        "\
spec:
  tls:
  - {hosts: [NAME.example.com], secretName: NAME}
  rules:
  - host: NAME.example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {service: {name: NAME, port: {name: http}}}
",
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "\
spec:
  podSelector:
    matchLabels: {app: NAME}
  ingress:
  - from:
    - podSelector:
        matchLabels: {app: NAME}
",
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        "\
spec:
  minAvailable: 1
  selector:
    matchLabels: {app: NAME}
",
    ),
    (
        "v1",
        "PersistentVolumeClaim",
        "\
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: NAME
  resources:
    requests:
      storage: 1Gi
",
    ),
    ("storage.k8s.io/v1", "StorageClass", "provisioner: example.com/disk\n"),
    (
        "scheduling.k8s.io/v1",
        "PriorityClass",
        "\
value: 1000000
globalDefault: false
",
    ),
    ("v1", "Namespace", ""),
    (
        "example.com/v1",
        "Widget",
        "\
spec:
  text: TEXT
  image: busybox:1.0
  size: 3
  configRef: {name: SETTINGS}
  list: [a, VALUE, 1]
  nested:
  - name: one
    value: VALUE
  - name: two
",
    ),
    (
        "example.com/v1beta1",
        "Gadget",
        "\
data: TEXT
ratio: 0.50
flags: {on: true, off: ~}
items: []
",
    ),
];

fn known_fields(kind: &str) -> &'static [(&'static str, FieldType)] {
    match kind {
        "ConfigMap" => &[("data", FieldType::Map), ("data.key", FieldType::Text)],
        "Secret" => &[("data.pass", FieldType::Text), ("stringData.user", FieldType::Text)],
        "HorizontalPodAutoscaler" => {
            &[("spec.maxReplicas", FieldType::Number), ("spec.scaleTargetRef.name", FieldType::Text)]
        }
        "Ingress" => &[("spec.rules.0.host", FieldType::Text), ("spec.tls", FieldType::List)],
        "NetworkPolicy" => &[("spec.podSelector.matchLabels", FieldType::Map)],
        "PodDisruptionBudget" => &[("spec.minAvailable", FieldType::Number)],
        "PersistentVolumeClaim" => &[("spec.resources.requests.storage", FieldType::Text)],
        "PriorityClass" => &[("value", FieldType::Number)],
        "Widget" => &[
            ("spec.text", FieldType::Text),
            ("spec.size", FieldType::Number),
            ("spec.image", FieldType::Text),
            ("spec.list", FieldType::List),
            ("spec.configRef.name", FieldType::Text),
            ("spec.nested", FieldType::List),
        ],
        "Gadget" => &[("data", FieldType::Text), ("flags", FieldType::Map), ("items", FieldType::List)],
        _ => &[],
    }
}

/// Returns the same documents as the items of a List.
fn as_list(text: &str) -> String {
    let mut list = String::from(
        "\
apiVersion: v1
kind: List
items:
",
    );
    for document in text.split("---").filter(|d| !d.trim().is_empty()) {
        let mut lead = "- ";
        for line in document.lines().filter(|l| !l.is_empty() && !l.starts_with(" #")) {
            writeln!(list, "{lead}{line}").expect("text");
            lead = "  ";
        }
    }
    list
}
