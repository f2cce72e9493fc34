//! `kustomize version`: the release whose behavior this program has.

use std::process::ExitCode;

use clap::Args;

use crate::cli::package::print;
use crate::cli::{Failure, Outcome};

/// The release of kustomize.
pub(super) const RELEASE: &str = "v5.8.3";

/// Print the version of kustomize.
#[derive(Debug, Args)]
pub(super) struct KustomizeVersionArgs {
    /// Print the version in braces
    #[arg(long, hide = true)]
    short: bool,

    /// Output format: yaml or json
    #[arg(short, long, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    output: String,

    #[arg(hide = true)]
    ignored: Vec<String>,
}

/// Returns the fields of `-o json` and `-o yaml`, as printed by a kustomize that was built without
/// commit and date.
fn fields() -> [(&'static str, &'static str); 6] {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    [
        ("version", RELEASE),
        ("gitCommit", "unknown"),
        ("buildDate", "unknown"),
        ("goOs", system),
        ("goArch", architecture),
        ("goVersion", "unknown"),
    ]
}

/// Prints the version. As in kustomize, nothing is printed for an unknown format.
pub(super) fn run(args: &KustomizeVersionArgs) -> Outcome {
    if args.short && !args.output.is_empty() {
        return Err(Failure::Usage("--short and --output cannot be used together".into()));
    }
    let text = match args.output.as_str() {
        "" if args.short => format!("{{{RELEASE}  unknown   }}\n"),
        "" => format!("{RELEASE}\n"),
        "yaml" => {
            let lines: Vec<String> =
                fields().iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
            lines.concat() + "\n"
        }
        "json" => {
            let lines: Vec<String> =
                fields().iter().map(|(name, value)| format!("  \"{name}\": \"{value}\"")).collect();
            format!("{{\n{}\n}}\n", lines.join(",\n"))
        }
        _ => String::new(),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
