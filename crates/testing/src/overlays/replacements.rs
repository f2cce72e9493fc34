//! Replacements with all their options.

use super::layer::Draft;
use super::resource_model::{FieldType, ModelResource, distinct};
use super::{OverlayGenerator, indent, line};

impl OverlayGenerator {
    pub fn replacements(&mut self, draft: &mut Draft) {
        let mut entries = String::new();
        for _ in 0..=self.dice.below(2) {
            entries += &self.replacement(draft);
        }
        if entries.is_empty() {
            return;
        }
        if self.dice.chance(20) {
            let file = draft.file_name("replacement", "yaml");
            self.file(&format!("{}/{file}", draft.directory), &entries);
            line!(draft.text, "replacements:\n- path: {file}");
        } else {
            line!(draft.text, "replacements:\n{}", entries.trim_end());
        }
    }

    /// Returns an entry with its source and one or two targets.
    pub fn replacement(&mut self, draft: &mut Draft) -> String {
        let known = distinct(&draft.resources);
        let Some(thing) = self.dice.any(&known).map(|t| (*t).clone()) else { return String::new() };
        let mut text = self.source(&thing);
        let mut targets = String::new();
        for _ in 0..=self.dice.below(2) {
            targets += &self.target_of_replacement(draft);
        }
        if targets.is_empty() {
            return String::new();
        }
        line!(text, "  targets:\n{}", targets.trim_end());
        text
    }

    fn source(&mut self, thing: &ModelResource) -> String {
        if self.dice.chance(8) {
            let value = self.dice.text();
            return format!("- sourceValue: {value}\n");
        }
        let fields: Vec<_> = thing
            .fields
            .iter()
            .filter(|f| f.shape != FieldType::Map && f.shape != FieldType::List)
            .map(|f| f.path.clone())
            .collect();
        let (kind, name) = (thing.kind, &thing.original_name);
        let mut text = format!(
            "\
- source:
    kind: {kind}
    name: {name}
"
        );
        if self.dice.chance(15)
            && let Some(home) = &thing.original_namespace
        {
            line!(text, "    namespace: {home}");
        }
        if self.dice.chance(15) && !thing.group().is_empty() {
            line!(text, "    group: {}", thing.group());
        }
        if self.dice.chance(80)
            && let Some(path) = self.dice.any(&fields)
        {
            line!(text, "    fieldPath: {path}");
            let delimiter = self.dice.pick(&["", "", "/", ":", "-", ".", " "]);
            if !delimiter.is_empty() && path != "spec.replicas" {
                line!(text, "    options: {{delimiter: \"{delimiter}\", index: 0}}");
            }
        }
        text
    }

    fn target_of_replacement(&mut self, draft: &mut Draft) -> String {
        let known = distinct(&draft.resources);
        let Some(thing) = self.dice.any(&known).map(|t| (*t).clone()) else { return String::new() };
        let (kind, name) = (thing.kind, thing.original_name.clone());
        let (path, options) = self.target_path(&thing);
        if let Some(found) = draft.resources.iter_mut().find(|t| t.kind == kind && t.original_name == name) {
            // The written value may not be a string.
            if path.ends_with("args") || path.starts_with("metadata.labels") {
                found.remove_fields(&path);
            }
        }
        let select = match self.dice.below(5) {
            0 if path.ends_with("copied") => format!("{{kind: {kind}}}"),
            1 => format!("{{kind: {kind}, name: \"{name}|none\"}}"),
            2 => format!("{{kind: {kind}, name: {}}}", thing.name),
            _ => format!("{{kind: {kind}, name: {name}}}"),
        };
        let mut text = format!("- select: {select}\n");
        if self.dice.chance(15) {
            let reject = self.dice.pick(&["{name: never}", "{kind: Service}", "{name: \"no.*\", kind: Job}"]);
            line!(text, "  reject: [{reject}]");
        }
        let again = if self.dice.chance(10) { format!(", \"{path}\"") } else { String::new() };
        line!(text, "  fieldPaths: [\"{path}\"{again}]");
        if !options.is_empty() {
            line!(text, "  options: {{{options}}}");
        }
        indent(&text, 2)
    }

    /// Returns a field path for a target, and its options.
    fn target_path(&mut self, thing: &ModelResource) -> (String, &'static str) {
        let pod = thing.pod_spec_path();
        match self.dice.below(8) {
            0..=2 => {
                let path = self.dice.pick(&[
                    "metadata.annotations.copied",
                    "metadata.annotations.[a.b/copied]",
                    "metadata.labels.copied",
                    "metadata.annotations.a\\\\.b/c.copied",
                ]);
                let path = if path.contains("c.copied") { "metadata.annotations.copied" } else { path };
                (path.into(), "create: true")
            }
            3 if thing.is_workload() => {
                let options = self.dice.pick(&[
                    "delimiter: \":\", index: 1",
                    "delimiter: \"/\", index: 0",
                    "",
                    "delimiter: \":\", index: -1",
                    "delimiter: \"/\", index: 9",
                ]);
                (format!("{pod}.containers.*.image"), options)
            }
            4 if thing.is_workload() => {
                let name = self.dice.any(&thing.containers).cloned().unwrap_or_default();
                (format!("{pod}.containers.[name={name}].env.[name=NEW].value"), "create: true")
            }
            5 if thing.is_workload() => (format!("{pod}.containers.0.image"), ""),
            _ => self.text_field(thing),
        }
    }

    /// Returns the path of a string field, if there is one, and its options.
    fn text_field(&mut self, thing: &ModelResource) -> (String, &'static str) {
        let is_free = |path: &str| path != "kind" && path != "metadata.name";
        let texts = thing.fields.iter().filter(|f| f.shape == FieldType::Text && is_free(&f.path));
        let texts: Vec<&String> = texts.map(|f| &f.path).collect();
        let Some(path) = self.dice.any(&texts) else {
            return ("metadata.annotations.copied".into(), "create: true");
        };
        let options = self.dice.pick(&[
            "",
            "",
            "create: true",
            "delimiter: \".\", index: 0",
            "delimiter: \"-\", index: 1",
        ]);
        ((*path).clone(), options)
    }
}
