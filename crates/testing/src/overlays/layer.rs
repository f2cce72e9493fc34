//! Kustomizations: the layers that they use as bases, and their simple fields.

use super::manifests::Application;
use super::resource_model::{FieldType, ModelResource, distinct};
use super::{OverlayGenerator, line};

/// A directory with a kustomization.
#[derive(Clone)]
pub struct Layer {
    pub directory: String,
    pub depth: usize,
    pub resources: Vec<ModelResource>,
    /// True if it declares variables, so that only one layer may use it as a base.
    pub declares_variables: bool,
}

/// A kustomization that is being written.
pub struct Draft {
    pub directory: String,
    /// Suffix that makes its names unique.
    pub suffix: String,
    pub text: String,
    pub resources: Vec<ModelResource>,
    pub is_component: bool,
    pub declares_variables: bool,
    /// Number of files in its directory so far.
    pub files: usize,
}

impl Draft {
    /// Returns the name of a new file.
    pub fn file_name(&mut self, stem: &str, ending: &str) -> String {
        self.files += 1;
        format!("{stem}{}.{ending}", self.files)
    }
}

/// Position of a kustomization in the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The layer that is built.
    Top,
    /// A base or component of another layer.
    Base,
}

const APPLICATIONS: [&str; 5] = ["web", "api", "db", "cache", "app-10"];

impl OverlayGenerator {
    /// Writes a layer with all its bases.
    pub fn layer(&mut self, depth: usize, position: Position) -> Layer {
        let number = self.number();
        let mut draft = self.draft(if depth == 0 { "base" } else { "layer" }, number);
        let mut resources = Vec::new();
        if depth == 0 || self.dice.chance(30) {
            self.applications(&mut draft, number, depth, &mut resources);
        }
        if depth > 0 {
            self.bases(&mut draft, depth, &mut resources);
        }
        let field =
            if depth > 0 && self.dice.chance(5) && !resources.is_empty() { "bases" } else { "resources" };
        self.resources(&mut draft, field, &resources);
        self.generators(&mut draft, number);
        if depth > 0 && self.dice.chance(30) {
            self.component(&mut draft);
        }
        self.fields(&mut draft, depth, position);
        if position == Position::Top {
            self.top_fields(&mut draft);
            if self.has_mistake {
                self.mistake(&mut draft);
            }
        }
        self.finish(draft, depth)
    }

    fn draft(&mut self, stem: &str, number: usize) -> Draft {
        let text = match self.dice.below(4) {
            0 => {
                "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
"
            }
            1 => "kind: Kustomization\n",
            _ => "",
        };
        Draft {
            directory: format!("{stem}{number}"),
            suffix: number.to_string(),
            text: text.into(),
            resources: Vec::new(),
            is_component: false,
            declares_variables: false,
            files: 0,
        }
    }

    fn finish(&mut self, draft: Draft, depth: usize) -> Layer {
        let name = self.dice.pick(&[
            "kustomization.yaml",
            "kustomization.yaml",
            "kustomization.yml",
            "Kustomization",
        ]);
        self.file(&format!("{}/{name}", draft.directory), &draft.text);
        let Draft { directory, resources: things, declares_variables: declares, .. } = draft;
        let layer = Layer { directory, depth, resources: things, declares_variables: declares };
        self.layers.push(layer.clone());
        layer
    }

    fn applications(&mut self, draft: &mut Draft, number: usize, depth: usize, resources: &mut Vec<String>) {
        let most = if depth == 0 { 3 } else { 1 };
        for name in APPLICATIONS.iter().skip(self.dice.below(2)).take(self.dice.below(most) + 1) {
            let name = if self.dice.chance(12) { (*name).to_owned() } else { format!("{name}{number}") };
            let settings = format!("settings{number}");
            let (text, things) = Application::new(&mut self.dice, self.habits, &name, &settings).write();
            if things.iter().any(|t| draft.resources.iter().any(|other| other.conflicts_with(t))) {
                continue;
            }
            let file = format!("{name}.yaml");
            self.file(&format!("{}/{file}", draft.directory), &text);
            resources.push(file);
            draft.resources.extend(things);
        }
    }

    /// Adds bases: new layers, or existing ones that others use as well.
    fn bases(&mut self, draft: &mut Draft, depth: usize, resources: &mut Vec<String>) {
        for _ in 0..self.dice.pick(&[1, 1, 2, 2, 3]) {
            let old: Vec<&Layer> =
                self.layers.iter().filter(|l| l.depth < depth && !l.declares_variables).collect();
            let layer = if self.dice.chance(40)
                && let Some(layer) = self.dice.any(&old)
            {
                (*layer).clone()
            } else {
                let below = self.dice.below(depth);
                self.layer(below, Position::Base)
            };
            let clash = |t: &ModelResource| draft.resources.iter().any(|other| other.conflicts_with(t));
            if layer.resources.iter().any(clash) {
                continue;
            }
            resources.push(format!("../{}", layer.directory));
            draft.declares_variables |= layer.declares_variables;
            draft.resources.extend(layer.resources);
        }
    }

    fn resources(&mut self, draft: &mut Draft, field: &str, resources: &[String]) {
        if self.dice.chance(30) {
            line!(draft.text, "{field}: [{}]", resources.join(", "));
        } else if !resources.is_empty() {
            line!(draft.text, "{field}:");
            for resource in resources {
                line!(draft.text, "- {resource}");
            }
        }
    }

    /// Writes a component that changes the resources so far.
    fn component(&mut self, draft: &mut Draft) {
        let number = self.number();
        let mut component = self.draft("component", number);
        component.text = String::from(
            "\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
",
        );
        component.is_component = true;
        component.resources = std::mem::take(&mut draft.resources);
        if self.dice.chance(30) {
            let mut resources = Vec::new();
            self.applications(&mut component, number, 1, &mut resources);
            self.resources(&mut component, "resources", &resources);
        }
        self.generators(&mut component, number);
        self.fields(&mut component, 1, Position::Base);
        if component.text.lines().count() == 2 {
            // An empty component is an error.
            line!(component.text, "labels:\n- pairs: {{component: used}}");
        }
        self.file(&format!("{}/kustomization.yaml", component.directory), &component.text);
        line!(draft.text, "components: [../{}]", component.directory);
        draft.resources = component.resources;
        draft.declares_variables |= component.declares_variables;
    }

    /// Writes the fields of all kinds of layers, in the order in which they apply.
    fn fields(&mut self, draft: &mut Draft, depth: usize, position: Position) {
        let percent = if depth == 0 { 12 } else { 30 };
        if self.dice.chance(2 * percent) {
            self.patches(draft);
        }
        self.names(draft, depth);
        if self.dice.chance(percent) {
            self.labels(draft);
        }
        if self.dice.chance(percent / 2) {
            let (text, mark) = (self.dice.text(), draft.suffix.clone());
            line!(draft.text, "commonAnnotations: {{note{mark}: {text}, shared: by-{mark}}}");
            for thing in &mut draft.resources {
                thing.add_field("metadata.annotations", FieldType::Map);
                thing.add_field("metadata.annotations.shared", FieldType::Text);
            }
        }
        if self.dice.chance(percent) {
            self.deprecated_json_patches(draft);
        }
        if self.dice.chance(percent) {
            self.replicas(draft);
        }
        if self.dice.chance(percent) {
            self.images(draft);
        }
        if self.dice.chance(percent) {
            self.replacements(draft);
        }
        self.plugins(draft, percent);
        if self.dice.chance(percent) {
            self.variables(draft);
        }
        if position == Position::Top && self.dice.chance(10) || self.dice.chance(2) {
            let order = self.dice.pick(&[
                "{order: fifo}",
                "{order: legacy}",
                "{order: legacy, legacySortOptions: {orderFirst: [Service, ConfigMap], orderLast: [Deployment]}}",
            ]);
            line!(draft.text, "sortOptions: {order}");
        }
    }

    /// Writes prefix, suffix and namespace if the names stay distinct.
    fn names(&mut self, draft: &mut Draft, depth: usize) {
        let often = if depth == 0 { 10 } else { 45 };
        let mark = draft.suffix.clone();
        let prefix = if self.dice.chance(often) { format!("p{mark}-") } else { String::new() };
        let suffix = if self.dice.chance(often / 2) { format!("-s{mark}") } else { String::new() };
        let space = self.dice.chance(often / 2).then(|| self.dice.pick(&["default", "ns-a", "ns-b"]));
        let mut things = draft.resources.clone();
        for thing in &mut things {
            match space {
                Some(space) if thing.kind == "Namespace" => thing.name = space.into(),
                Some(space) if !thing.is_cluster_scoped() => thing.namespace = Some(space.into()),
                _ => {}
            }
            if thing.kind != "Namespace" {
                thing.name = format!("{prefix}{}{suffix}", thing.name);
            }
        }
        let clash = things.iter().enumerate().any(|(i, a)| things[..i].iter().any(|b| a.conflicts_with(b)));
        if clash {
            return;
        }
        draft.resources = things;
        if !prefix.is_empty() {
            line!(draft.text, "namePrefix: {prefix}");
        }
        if !suffix.is_empty() {
            line!(draft.text, "nameSuffix: {suffix}");
        }
        if let Some(space) = space {
            line!(draft.text, "namespace: {space}");
        }
    }

    fn labels(&mut self, draft: &mut Draft) {
        let mark = draft.suffix.clone();
        let text = self.dice.pick(&["t", "\"1\"", "\"true\"", "a.b", "\"\"", "\"0x1\""]);
        let pairs = format!("{{tier{mark}: {text}, part: p{mark}}}");
        if self.dice.chance(20) {
            line!(draft.text, "commonLabels: {pairs}");
        } else {
            line!(draft.text, "labels:\n- pairs: {pairs}");
            let (selectors, templates) = (self.dice.chance(30), self.dice.chance(40));
            if selectors {
                line!(draft.text, "  includeSelectors: true");
            } else if templates {
                line!(draft.text, "  includeTemplates: true");
            }
            if self.dice.chance(30) {
                line!(draft.text, "  includeVolumeClaimTemplates: true");
            }
            if self.dice.chance(25) {
                let fields = [
                    "{path: spec/selector, kind: Service, create: true}",
                    "{path: spec/labels, group: example.com, version: v1, kind: Widget, create: true}",
                    "{path: spec/template/metadata/labels, create: false}",
                    "{path: metadata/annotations, kind: ConfigMap}",
                ];
                let known = if self.habits.null_annotations { &fields[..3] } else { &fields };
                let field = self.dice.pick(known);
                line!(draft.text, "  fields:\n  - {field}");
            }
            if self.dice.chance(20) {
                line!(draft.text, "- pairs: {{more: labels}}");
            }
        }
        for thing in &mut draft.resources {
            thing.add_field("metadata.labels", FieldType::Map);
            thing.add_field("metadata.labels.part", FieldType::Text);
        }
    }

    fn replicas(&mut self, draft: &mut Draft) {
        let scaled = |t: &&ModelResource| matches!(t.kind, "Deployment" | "StatefulSet");
        let things: Vec<&ModelResource> = draft.resources.iter().filter(scaled).collect();
        if let Some(thing) = self.dice.any(&things) {
            let name = if self.dice.chance(70) { &thing.original_name } else { &thing.name };
            let count = self.dice.below(9);
            line!(draft.text, "replicas:\n- {{name: {name}, count: {count}}}");
        }
    }

    fn images(&mut self, draft: &mut Draft) {
        line!(draft.text, "images:");
        for _ in 0..=self.dice.below(2) {
            let name = self.dice.pick(&[
                "busybox",
                "reg.io:5000/busybox",
                "nginx",
                "example.com/web0",
                "example.com/.*",
                "\"[\"",
            ]);
            let change = self.dice.pick(&[
                "newTag: \"2.0\"",
                "newTag: v3",
                "newName: other/box",
                "newName: reg:80/box, newTag: \"1e3\"",
                "digest: \"sha256:abc\"",
                "newName: other/box, digest: \"sha256:0123\"",
                "tagSuffix: -alpine",
            ]);
            line!(draft.text, "- {{name: {name}, {change}}}");
        }
    }

    /// Declares a variable that manifests may use.
    fn variables(&mut self, draft: &mut Draft) {
        let free: Vec<&'static str> =
            ["ONE", "TWO"].into_iter().filter(|v| !self.variables.contains(v)).collect();
        let known = distinct(&draft.resources);
        let (Some(variable), Some(thing)) = (self.dice.any(&free), self.dice.any(&known)) else { return };
        let fields: Vec<&String> = thing
            .fields
            .iter()
            .filter(|f| matches!(f.shape, FieldType::Text | FieldType::Number) && !f.path.contains('['))
            .map(|f| &f.path)
            .collect();
        let (api, kind, name) = (thing.api, thing.kind, thing.original_name.clone());
        let space =
            thing.original_namespace.as_ref().map(|s| format!(", namespace: {s}")).unwrap_or_default();
        let field = match self.dice.any(&fields) {
            Some(field) if self.dice.chance(60) => {
                let field = field.split('.').map(|step| match step.parse::<usize>() {
                    Ok(index) => format!("[{index}]"),
                    Err(_) => format!(".{step}"),
                });
                let field: String = field.collect();
                format!("\n  fieldref: {{fieldpath: \"{}\"}}", field.trim_start_matches('.'))
            }
            _ => String::new(),
        };
        line!(
            draft.text,
            "\
vars:
- name: {variable}
  objref: {{apiVersion: {api}, kind: {kind}, name: {name}{space}}}{field}"
        );
        self.variables.push(variable);
        draft.declares_variables = true;
    }

    fn top_fields(&mut self, draft: &mut Draft) {
        if self.dice.chance(20) {
            let data = self.dice.pick(&[
                "originAnnotations",
                "transformerAnnotations",
                "managedByLabel",
                "originAnnotations, transformerAnnotations",
                "managedByLabel, originAnnotations, transformerAnnotations",
            ]);
            line!(draft.text, "buildMetadata: [{data}]");
        }
        if self.dice.chance(4) {
            line!(draft.text, "openapi: {{version: v1.21.2}}");
        }
    }
}
