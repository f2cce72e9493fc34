//! `kubectl smp version`: the version, build information and supported Kubernetes versions.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Outcome;
use super::cache::rfc3339;
use smp_merge::schema::KUBERNETES_VERSIONS;

/// The name of the program.
pub(super) const PROGRAM: &str = "kubectl-smp";

/// Print the version and build information.
#[derive(Debug, Args)]
pub(super) struct VersionArgs {
    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = VersionFormat::Text)]
    output: VersionFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionFormat {
    Text,
    Json,
    Yaml,
}

/// The output of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct BuildInfo {
    version: &'static str,
    /// The git commit; `None` for debug builds and sources without git history.
    commit: Option<&'static str>,
    /// `SOURCE_DATE_EPOCH` or the commit date, so that builds are reproducible.
    date: Option<String>,
    target: &'static str,
    features: Vec<&'static str>,
    schema: SchemaRange,
    kustomize: KustomizeVersion,
}

/// The Kubernetes versions whose schemas are embedded.
#[derive(Serialize)]
struct SchemaRange {
    oldest: &'static str,
    newest: &'static str,
}

/// The kustomize version whose output `build` has.
#[derive(Serialize)]
struct KustomizeVersion {
    release: &'static str,
}

const FEATURES: [(&str, bool); 4] = [
    ("cel", cfg!(feature = "cel")),
    ("cluster", cfg!(feature = "cluster")),
    ("git", cfg!(feature = "git")),
    ("remote", cfg!(feature = "remote")),
];

impl BuildInfo {
    fn new() -> Self {
        let [oldest, newest] = KUBERNETES_VERSIONS;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: Some(env!("SMP_BUILD_COMMIT")).filter(|commit| !commit.is_empty()),
            date: env!("SMP_BUILD_DATE").parse().ok().and_then(date),
            target: env!("SMP_BUILD_TARGET"),
            features: FEATURES.iter().filter(|(_, is_enabled)| *is_enabled).map(|(name, _)| *name).collect(),
            schema: SchemaRange { oldest, newest },
            kustomize: KustomizeVersion { release: "5.8.3" },
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

/// Returns the day of `SOURCE_DATE_EPOCH` or of the build. If it is unknown, returns the current
/// day.
pub(super) fn build_day() -> String {
    let wanted = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let built = wanted.or_else(|| env!("SMP_BUILD_DATE").parse().ok()).and_then(date);
    built.unwrap_or_else(|| rfc3339(SystemTime::now())).chars().take("2026-01-01".len()).collect()
}

/// Formats seconds since 1970 as a date.
fn date(seconds: u64) -> Option<String> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).map(rfc3339)
}

pub(super) fn run(args: &VersionArgs) -> Outcome {
    let info = BuildInfo::new();
    let text = match args.output {
        VersionFormat::Text => info.text(),
        VersionFormat::Json => serde_json::to_string(&info).context("cannot serialize as JSON")? + "\n",
        VersionFormat::Yaml => serde_yaml::to_string(&info).context("cannot serialize as YAML")?,
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the error for a command that requires the feature `cluster`.
#[cfg(not(feature = "cluster"))]
pub(super) fn missing_feature(error: &clap::Error) -> Option<super::Failure> {
    use clap::error::{ContextKind, ContextValue};

    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_known = matches!(name.as_str(), "apply" | "applyset" | "delete" | "diff" | "wait");
    is_known.then(|| {
        super::Failure::Usage(format!(
            "`{name}` requires the feature `cluster`, which this program was built without: build it with \
             `cargo install --path .`"
        ))
    })
}
