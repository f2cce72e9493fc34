//! `kubectl smp version`: which program this is, what it was built from, and what it knows.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Outcome;
use super::cache::rfc3339;
use smp_merge::schema::KUBERNETES_VERSIONS;

/// Print the version.
#[derive(Debug, Args)]
pub(super) struct VersionArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = VersionFormat::Text)]
    output: VersionFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionFormat {
    Text,
    Json,
    Yaml,
}

/// What `-o json` and `-o yaml` print; programs read it.
#[derive(Serialize)]
struct ThisProgram {
    version: &'static str,
    /// Of git; none where the source came without its history, or was built for debugging.
    commit: Option<&'static str>,
    /// `SOURCE_DATE_EPOCH`, else when the commit was made: the same source gives the same program.
    date: Option<String>,
    target: &'static str,
    features: Vec<&'static str>,
    schema: SchemaRange,
    kustomize: KustomizeLevel,
}

/// The versions of Kubernetes whose kinds are embedded.
#[derive(Serialize)]
struct SchemaRange {
    oldest: &'static str,
    newest: &'static str,
}

/// The kustomize that `build` matches.
#[derive(Serialize)]
struct KustomizeLevel {
    release: &'static str,
}

const OPTIONAL_PARTS: [(&str, bool); 3] = [
    ("cel", cfg!(feature = "cel")),
    ("cluster", cfg!(feature = "cluster")),
    ("remote", cfg!(feature = "remote")),
];

impl ThisProgram {
    fn new() -> Self {
        let [oldest, newest] = KUBERNETES_VERSIONS;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: Some(env!("SMP_BUILD_COMMIT")).filter(|commit| !commit.is_empty()),
            date: env!("SMP_BUILD_DATE").parse().ok().and_then(date),
            target: env!("SMP_BUILD_TARGET"),
            features: OPTIONAL_PARTS.iter().filter(|(_, is_in)| *is_in).map(|(name, _)| *name).collect(),
            schema: SchemaRange { oldest, newest },
            kustomize: KustomizeLevel { release: "5.8.3" },
        }
    }

    fn text(&self) -> String {
        let or_unknown = |value: Option<&str>| value.unwrap_or("unknown").to_string();
        let rows = [
            ("commit", or_unknown(self.commit)),
            ("date", or_unknown(self.date.as_deref())),
            ("target", self.target.to_string()),
            ("features", if self.features.is_empty() { "none".into() } else { self.features.join(", ") }),
            ("schema", format!("Kubernetes {} to {}", self.schema.oldest, self.schema.newest)),
            ("kustomize", self.kustomize.release.to_string()),
        ];
        let rows = rows.iter().map(|(name, value)| format!("{name:<10} {value}\n"));
        format!("kubectl smp {}\n", self.version) + &rows.collect::<String>()
    }
}

/// Seconds since 1970 as people write them.
fn date(seconds: u64) -> Option<String> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).map(rfc3339)
}

pub(super) fn run(args: &VersionArgs) -> Outcome {
    let program = ThisProgram::new();
    let text = match args.output {
        VersionFormat::Text => program.text(),
        VersionFormat::Json => serde_json::to_string(&program).context("no JSON")? + "\n",
        VersionFormat::Yaml => serde_yaml::to_string(&program).context("no YAML")?,
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// What to say when a command was asked for that only a program with another feature has.
#[cfg(not(feature = "cluster"))]
pub(super) fn left_out(error: &clap::Error) -> Option<super::Failure> {
    use clap::error::{ContextKind, ContextValue};

    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_known = matches!(name.as_str(), "apply" | "delete" | "diff" | "wait");
    is_known.then(|| {
        super::Failure::Usage(format!(
            "this program was built without the feature `cluster`, which `{name}` needs: `cargo install --path .` in \
             its repository builds it with all"
        ))
    })
}
