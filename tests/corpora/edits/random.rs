//! Random edits, about half of them of existing entries.

use std::fs;
use std::path::Path;

use kubectl_smp_testing::dice::Dice;
use serde_json::Value;

use super::data::data;

/// The kustomization that is edited.
struct Subject<'d> {
    fields: Value,
    /// The files and directories next to it.
    files: Vec<String>,
    dice: &'d mut Dice,
}

/// Returns the words of a random edit for a directory.
pub fn random_edit(directory: &Path, text: Option<&str>, dice: &mut Dice) -> Vec<String> {
    let fields = text.and_then(|text| data(text).ok()).unwrap_or_default();
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    files.sort();
    let mut subject = Subject { fields, files, dice };
    let words = match subject.dice.below(24) {
        0..=2 => subject.add_path(),
        3 | 4 => subject.remove_path(),
        5..=8 => subject.image(),
        9 => subject.replicas(),
        10..=12 => subject.scalar(),
        13..=15 => subject.metadata(),
        16 => subject.build_metadata(),
        17..=19 => subject.generator(),
        20 | 21 => subject.patch(),
        22 => subject.base(),
        _ => vec!["fix".into()],
    };
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

impl Subject<'_> {
    /// Returns a text of an entry of a list: the entry itself, or one of its fields.
    fn existing(&mut self, list: &str, field: &str) -> Option<String> {
        let entries = self.fields[list].as_array()?;
        if entries.is_empty() {
            return None;
        }
        let entry = &entries[self.dice.below(entries.len())];
        let text = if field.is_empty() { entry } else { &entry[field] };
        text.as_str().map(str::to_string)
    }

    fn existing_or(&mut self, list: &str, field: &str, other: &[&str]) -> String {
        let other = self.dice.pick(other).to_string();
        if self.dice.one_in(3) { other } else { self.existing(list, field).unwrap_or(other) }
    }

    /// Returns a key of a map.
    fn key(&mut self, map: &str, other: &[&str]) -> String {
        let other = self.dice.pick(other).to_string();
        let Some(keys) = self.fields[map].as_object().map(|map| map.keys().cloned().collect::<Vec<_>>())
        else {
            return other;
        };
        if keys.is_empty() || self.dice.one_in(3) { other } else { keys[self.dice.below(keys.len())].clone() }
    }

    fn file(&mut self) -> String {
        let patterns =
            ["*.yaml", "*", "./*.y*ml", "[a-d]*", "nothing.yaml", "../*", "..", ".", "a[", "no?such"];
        if self.files.is_empty() || self.dice.one_in(3) {
            return self.dice.pick(&patterns).to_string();
        }
        self.files[self.dice.below(self.files.len())].clone()
    }

    fn add_path(&mut self) -> Vec<String> {
        let list = self.dice.pick(&[
            "resource",
            "resource",
            "component",
            "transformer",
            "generator",
            "configuration",
        ]);
        let mut all = words(&["add", list]);
        for _ in 0..=self.dice.below(2) {
            all.push(self.file());
        }
        if list == "resource" && self.dice.one_in(4) {
            all.push("--no-verify".into());
        }
        all
    }

    fn remove_path(&mut self) -> Vec<String> {
        let (word, list) = self.dice.pick(&[
            ("resource", "resources"),
            ("component", "components"),
            ("transformer", "transformers"),
        ]);
        let path = self.existing_or(list, "", &["*", "*.yaml", "../*", "nothing", "["]);
        words(&["remove", word, &path])
    }

    fn image(&mut self) -> Vec<String> {
        let name = self.existing_or("images", "name", &["nginx", "example.com:5000/a/b", "controller"]);
        let change = self.dice.pick(&[
            ":1.2.3",
            ":1",
            "=example.com/new",
            "=example.com/new:v2",
            "@sha256:0123abc",
            "=*:v3",
            "=new:*@*",
            ":x@y",
            "",
            ":",
        ]);
        words(&["set", "image", &format!("{name}{change}")])
    }

    fn replicas(&mut self) -> Vec<String> {
        let name = self.existing_or("replicas", "name", &["web", "deployment"]);
        let count = self.dice.pick(&["=3", "=0", "=-1", "=x", "", "=1=2", "=+5"]);
        words(&["set", "replicas", &format!("{name}{count}"), "other=2"])
    }

    fn scalar(&mut self) -> Vec<String> {
        let field = self.dice.pick(&["namespace", "nameprefix", "namesuffix"]);
        let value = self.dice.pick(&["shop", "1", "on", "-x", "a: b", "#x", "null", "1.0", "'q'", "x-"]);
        words(&["set", field, "--", value])
    }

    fn metadata(&mut self) -> Vec<String> {
        let (word, map) = self.dice.pick(&[("label", "commonlabels"), ("annotation", "commonannotations")]);
        let key = self.key(map, &["app", "example.com/x", "y", "1", "a b"]);
        let value = self.dice.pick(&["v", "1", "true", "", "a:b", "\"q\"", "on", "é"]);
        let pair = format!("{key}:{value}");
        match self.dice.below(5) {
            0 => words(&["add", word, &pair]),
            1 => words(&["add", word, &pair, "-f"]),
            2 => words(&["remove", word, &key, self.dice.pick(&["", "-i"])]),
            3 if word == "label" => {
                let templates = self.dice.pick(&["", "--include-templates"]);
                words(&["add", word, &pair, "b:c", "--without-selector", templates])
            }
            _ => words(&["set", word, &pair, "other:x"]),
        }
    }

    fn build_metadata(&mut self) -> Vec<String> {
        let verb = self.dice.pick(&["add", "set", "remove"]);
        let options = self.dice.pick(&["originAnnotations", "managedByLabel,originAnnotations", "nothing"]);
        words(&[verb, "buildmetadata", options])
    }

    fn generator(&mut self) -> Vec<String> {
        let (word, list) =
            self.dice.pick(&[("configmap", "configmapgenerator"), ("secret", "secretgenerator")]);
        let name = self.existing_or(list, "name", &["config", "on"]);
        let namespace = self.dice.pick(&["", "", "--namespace=default", "--namespace=shop"]);
        match self.dice.below(6) {
            0 => words(&["remove", word, &format!("{name},nothing"), namespace]),
            1 => words(&["set", word, &name, "--new-namespace=other", namespace]),
            2 => words(&["set", word, &name, "--from-literal=a=2", namespace]),
            3 => {
                let file = format!("--from-file={}", self.file());
                words(&["add", word, &name, &file, namespace])
            }
            _ => {
                let more = self.dice.pick(&[
                    "",
                    "--disableNameSuffixHash",
                    "--from-literal=c=x y",
                    "--from-env-file=no",
                ]);
                words(&["add", word, &name, "--from-literal=zz=1", more, namespace])
            }
        }
    }

    fn patch(&mut self) -> Vec<String> {
        let verb = self.dice.pick(&["add", "remove"]);
        let path = self.existing_or("patches", "path", &["patch.yaml", "on"]);
        let target = self.dice.pick(&["", "", "--kind=Deployment", "--name=a|b"]);
        if self.dice.one_in(4) {
            let patch = "--patch=- op: add\n  path: /a\n  value: x\n";
            return words(&[verb, "patch", patch, "--kind=Deployment", target]);
        }
        words(&[verb, "patch", "--path", &path, target])
    }

    fn base(&mut self) -> Vec<String> {
        let file = self.file();
        words(&["add", "base", &format!("{file},..")])
    }
}
