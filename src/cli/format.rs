//! Output formats of resources, and flags that take one of several values.

use std::io::Write;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::Failure;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::escaped_line;
use smp_text::gocompat::time::parse_duration;
use smp_text::yaml;

/// The possible values of a flag: name, help text (may be empty) and parsed value.
pub(super) type Choices<T> = &'static [(&'static str, &'static str, T)];

/// Returns the value parser of a flag that takes one of `choices`.
pub(super) fn one_of<T: Copy + Send + Sync>(choices: Choices<T>) -> impl TypedValueParser<Value = T> {
    let values = choices.iter().map(|(word, help, _)| {
        let value = PossibleValue::new(*word);
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(values).try_map(|given| {
        let found = choices.iter().find(|(word, ..)| *word == given);
        found.map(|(.., value)| *value).ok_or_else(|| format!("`{given}` is not a possible value"))
    })
}

/// The output format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    Text,
    Json,
}

/// The output format of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// YAML documents.
    Yaml,
    /// A JSON object, or a `List` if there are several resources.
    Json,
    /// One `kind/name` per line.
    Name,
}

impl OutputFormat {
    /// The names of the formats on the command line.
    pub(super) const NAMES: [&str; 3] = ["yaml", "json", "name"];

    /// Parses the name of a format.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }
}

/// Writes the resources of several targets as one output.
#[derive(Debug)]
pub(super) struct ResourceWriter<W> {
    format: OutputFormat,
    out: W,
    has_output: bool,
    /// The JSON objects, printed as one list at the end.
    items: Vec<serde_json::Value>,
}

impl<W: Write> ResourceWriter<W> {
    pub(super) fn new(format: OutputFormat, to: W) -> Self {
        Self { format, out: to, has_output: false, items: Vec::new() }
    }

    /// Adds the resources of a target. If one of them cannot be printed, adds none.
    pub(super) fn add<'r>(
        &mut self,
        resources: impl IntoIterator<Item = &'r Resource> + Clone,
    ) -> Result<(), Failure> {
        match self.format {
            OutputFormat::Json => {
                for resource in resources.clone() {
                    // JSON has no infinity, and serde_json would write null.
                    yaml::to_json(resource.node()).map_err(|error| error.resource(resource.id()))?;
                }
                self.items.extend(resources.into_iter().map(|resource| resource.node().to_json_value()));
            }
            OutputFormat::Name => {
                let names: String = resources
                    .into_iter()
                    .map(|resource| {
                        escaped_line(&resource.id().gvk.object_name(&resource.id().name)).into_owned() + "\n"
                    })
                    .collect();
                self.out.write_all(names.as_bytes())?;
            }
            OutputFormat::Yaml => {
                let parts = yaml::to_document_parts(resources.into_iter().map(Resource::node))?;
                let is_empty = parts.iter().all(String::is_empty);
                if self.has_output && !is_empty {
                    self.out.write_all(b"---\n")?;
                }
                self.has_output |= !is_empty;
                for part in parts {
                    self.out.write_all(part.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Writes the pending output and returns the writer.
    pub(super) fn finish(mut self) -> Result<W, Failure> {
        if self.format == OutputFormat::Json {
            let value = if self.items.len() == 1 {
                self.items.remove(0)
            } else {
                serde_json::json!({"apiVersion": "v1", "kind": "List", "items": self.items})
            };
            let text = yaml::to_json_pretty(&yaml::Node::from(&value))?;
            self.out.write_all(text.as_bytes())?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Parses a Go duration (`1m30s`, `500ms`, `1.5h`) or a number of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs).ok();
    seconds
        .or_else(|| parse_duration(text))
        .ok_or_else(|| format!("`{text}` is not a duration: use a value such as 30s, 1m30s or 500ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_and_seconds_are_parsed() {
        let table = [
            ("0", 0),
            ("30", 30_000),
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1.5h", 5_400_000),
        ];
        for (text, want) in table {
            assert_eq!(duration(text), Ok(Duration::from_millis(want)), "{text}");
        }
        for text in ["", "s", "1x", "-1s", "1s2", "1..2s", "1e9h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
