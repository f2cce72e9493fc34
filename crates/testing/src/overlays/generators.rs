//! ConfigMap and Secret generators with literals and files.

use super::layer::Draft;
use super::resource_model::{FieldType, ModelResource, distinct};
use super::{OverlayGenerator, line};

/// Literals as entries of a list in flow style.
const LITERALS: [&str; 14] = [
    "b=two words",
    "c=\"quoted\"",
    "d='single'",
    "e=",
    "f=1e3",
    "g=a=b=c",
    "h=\"  spaces  \"",
    "\"i=a: b\"",
    "\"j=line\\nbreak\"",
    "k=true",
    "\"l=0755\"",
    "m.n-o_p=x",
    "q=$(ONE)",
    "r=ünï",
];

const FILES: [&str; 6] = [
    "\
line one
line two
",
    "no end of line",
    "",
    "trailing space \nand\ttab\n",
    r"  indented


blank lines

",
    "{\"json\": [1, 2, {\"a\": null}]}\n",
];

/// Keys of a generated ConfigMap or Secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// The key `one` and others.
    WithOne,
    /// Any keys.
    Any,
}

impl OverlayGenerator {
    /// Writes the generator fields, mostly for the settings of the applications.
    pub fn generators(&mut self, draft: &mut Draft, number: usize) {
        let mut text = String::new();
        if !draft.is_component && self.dice.chance(80) {
            text += &self.config_map(draft, &format!("settings{number}"), Data::WithOne);
        }
        if self.dice.chance(15) {
            text += &self.config_map(draft, &format!("extra{number}"), Data::Any);
        }
        if self.dice.chance(25) {
            text += &self.merged(draft, "ConfigMap");
        }
        if !text.is_empty() {
            line!(draft.text, "configMapGenerator:\n{}", text.trim_end());
        }
        let mut text = String::new();
        if self.dice.chance(20) {
            text += &self.secret(draft, &format!("secret{number}"));
        }
        if self.dice.chance(15) {
            text += &self.merged(draft, "Secret");
        }
        if !text.is_empty() {
            line!(draft.text, "secretGenerator:\n{}", text.trim_end());
        }
        if self.dice.chance(15) {
            let options = self.dice.pick(&[
                "{disableNameSuffixHash: true}",
                "{labels: {made: \"yes\"}}",
                "{annotations: {made: by-hand}, labels: {a: b}}",
                "{immutable: true}",
                "{disableNameSuffixHash: false, annotations: {nn: \"1\"}}",
            ]);
            line!(draft.text, "generatorOptions: {options}");
        }
    }

    fn config_map(&mut self, draft: &mut Draft, name: &str, data: Data) -> String {
        let mut thing = ModelResource::new("v1", "ConfigMap", name);
        thing.generated = true;
        let mut text = format!("- name: {name}\n");
        if self.dice.chance(8) {
            let space = self.dice.pick(&["default", "home"]);
            line!(text, "  namespace: {space}");
            thing.namespace = Some(space.into());
            thing.original_namespace.clone_from(&thing.namespace);
        }
        text += &self.sources(draft, data);
        text += &self.options();
        if draft.resources.iter().any(|t| t.conflicts_with(&thing)) {
            return String::new();
        }
        thing.add_field("metadata.name", FieldType::Text);
        if data == Data::WithOne {
            thing.add_field("data", FieldType::Map);
            thing.add_field("data.one", FieldType::Text);
        }
        draft.resources.push(thing);
        text
    }

    fn secret(&mut self, draft: &mut Draft, name: &str) -> String {
        let mut thing = ModelResource::new("v1", "Secret", name);
        if draft.resources.iter().any(|t| t.conflicts_with(&thing)) {
            return String::new();
        }
        thing.generated = true;
        thing.add_field("metadata.name", FieldType::Text);
        let kind = self.dice.pick(&["", "  type: Opaque\n", "  type: kubernetes.io/tls\n"]);
        let text = format!("- name: {name}\n{kind}{}{}", self.sources(draft, Data::WithOne), self.options());
        thing.add_field("data.one", FieldType::Text);
        draft.resources.push(thing);
        text
    }

    /// Writes a generator that merges into, or replaces, an existing resource.
    fn merged(&mut self, draft: &mut Draft, kind: &str) -> String {
        let known: Vec<&ModelResource> = distinct(&draft.resources);
        let known: Vec<&ModelResource> = known.into_iter().filter(|t| t.kind == kind).collect();
        let Some(thing) = self.dice.any(&known) else { return String::new() };
        let (name, home) = (thing.original_name.clone(), thing.original_namespace.clone());
        let behavior = self.dice.pick(&["merge", "merge", "replace"]);
        let mut text = format!(
            "\
- name: {name}
  behavior: {behavior}
"
        );
        if let Some(home) = home {
            line!(text, "  namespace: {home}");
        }
        if behavior == "replace"
            && let Some(thing) =
                draft.resources.iter_mut().find(|t| t.kind == kind && t.original_name == name)
        {
            thing.remove_fields("data.");
            thing.remove_fields("stringData");
            thing.remove_fields("metadata.annotations");
            thing.remove_fields("metadata.labels");
            thing.add_field("data.one", FieldType::Text);
        }
        text + &self.sources(draft, Data::WithOne) + &self.options()
    }

    /// Writes literals, files and env files.
    fn sources(&mut self, draft: &mut Draft, data: Data) -> String {
        let mut text = String::new();
        let mut literals = Vec::new();
        if data == Data::WithOne {
            literals.push(self.dice.pick(&["one=1", "one=first", "one=a.b.c", "\"one=x y\"", "one="]));
        }
        let start = self.dice.below(LITERALS.len());
        literals.extend(LITERALS.iter().skip(start).take(self.dice.below(4)));
        if !literals.is_empty() {
            line!(text, "  literals: [{}]", literals.join(", "));
        }
        if self.dice.chance(25) {
            let (file, content) = (draft.file_name("data", "txt"), self.dice.pick(&FILES));
            self.file(&format!("{}/{file}", draft.directory), content);
            let key = self.dice.pick(&["", "key=", "other.key="]);
            line!(text, "  files: [{key}{file}]");
        }
        if self.dice.chance(15) {
            let file = draft.file_name("values", "env");
            let content = "# comment\nENV_A=1\nENV_B=\"q\"\nENV_C=\n\nENV_D=a b  \n";
            self.file(&format!("{}/{file}", draft.directory), content);
            let field = if self.dice.chance(30) { "env" } else { "envs" };
            let list = if field == "env" { file } else { format!("[{file}]") };
            line!(text, "  {field}: {list}");
        }
        text
    }

    fn options(&mut self) -> String {
        let options = self.dice.pick(&[
            "",
            "",
            "",
            "",
            "{disableNameSuffixHash: true}",
            "{labels: {made: \"yes\", z: z}}",
            "{annotations: {note: here}}",
            "{immutable: true}",
        ]);
        if options.is_empty() { String::new() } else { format!("  options: {options}\n") }
    }
}
