//! The forms in which resources are shown, and flags that take one of some words.

use std::io::Write;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::Failure;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::escaped_line;
use smp_text::yaml;

/// Words of a flag with their values, and a help text for each, which may be empty.
pub(super) type Words<T> = &'static [(&'static str, &'static str, T)];

/// The parser of a flag that takes one of some words.
pub(super) fn one_of<T: Copy + Send + Sync>(words: Words<T>) -> impl TypedValueParser<Value = T> {
    let values = words.iter().map(|(word, help, _)| {
        let value = PossibleValue::new(*word);
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(values).try_map(|given| {
        let found = words.iter().find(|(word, ..)| *word == given);
        found.map(|(.., value)| *value).ok_or_else(|| format!("`{given}` is not one of the words"))
    })
}

/// How reports of several commands are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    Text,
    Json,
}

/// How resources are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputForm {
    /// Documents.
    Yaml,
    /// One object, or a `List` of several.
    Json,
    /// A line for each.
    Name,
}

impl OutputForm {
    /// The words for them on the command line.
    pub(super) const WORDS: [&str; 3] = ["yaml", "json", "name"];

    /// The one that a word means.
    pub(super) fn of(word: &str) -> Option<Self> {
        Self::from_str(word, false).ok()
    }
}

/// Resources of several targets as one text.
#[derive(Debug)]
pub(super) struct Joined<W> {
    form: OutputForm,
    to: W,
    is_begun: bool,
    /// JSON objects to print as one list at the end.
    items: Vec<serde_json::Value>,
}

impl<W: Write> Joined<W> {
    pub(super) fn new(form: OutputForm, to: W) -> Self {
        Self { form, to, is_begun: false, items: Vec::new() }
    }

    /// Adds the resources of a target: all of them, or none when one cannot be shown.
    pub(super) fn add<'r>(
        &mut self,
        resources: impl IntoIterator<Item = &'r Resource> + Clone,
    ) -> Result<(), Failure> {
        match self.form {
            OutputForm::Json => {
                for resource in resources.clone() {
                    // JSON has no infinity, which a value of serde would silently make null.
                    yaml::to_json(resource.node()).map_err(|error| error.resource(resource.id()))?;
                }
                self.items.extend(resources.into_iter().map(|resource| resource.node().to_json_value()));
            }
            OutputForm::Name => {
                let names: String = resources
                    .into_iter()
                    .map(|resource| {
                        escaped_line(&resource.id().gvk.object_name(&resource.id().name)).into_owned() + "\n"
                    })
                    .collect();
                self.to.write_all(names.as_bytes())?;
            }
            OutputForm::Yaml => {
                let text = yaml::to_documents(resources.into_iter().map(Resource::node))?;
                if self.is_begun && !text.is_empty() {
                    self.to.write_all(b"---\n")?;
                }
                self.is_begun |= !text.is_empty();
                self.to.write_all(text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Adds what can only be said at the end; returns what was written to.
    pub(super) fn finish(mut self) -> Result<W, Failure> {
        if self.form == OutputForm::Json {
            let value = if self.items.len() == 1 {
                self.items.remove(0)
            } else {
                serde_json::json!({"apiVersion": "v1", "kind": "List", "items": self.items})
            };
            let text = yaml::to_json_pretty(&yaml::Node::from(&value))?;
            self.to.write_all(text.as_bytes())?;
        }
        self.to.flush()?;
        Ok(self.to)
    }
}
