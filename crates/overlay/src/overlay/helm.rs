//! Helm charts: inflates the charts of `helmCharts` and `helmGlobals` with the `helm` executable.
//!
//! Owns the configuration, the command lines and the values files of kustomize's HelmChartInflationGenerator (v5.8.3).
//! Runs helm only if the user enabled it. This module does not depend on resources: the output of helm is returned as
//! documents.

mod values;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::process;
use super::repo_spec::without_password;
use crate::resource::add_configuration;
use crate::transform::Files;
use serde::Deserialize;
use serde_yaml::Mapping;
use smp_files::{
    Directory, DiskTree, FileTree as _, Hidden, LinkPolicy, TemporaryDirectory, WalkError, WalkOptions,
    clean_path, is_outside_error,
};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SecretValues, SourceMap, Span};
use smp_text::yaml::{Node, ParseOptions, Spanned, decode, parse_documents, to_yaml};

/// The field `helmGlobals`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmGlobals {
    /// The directory of the charts, relative to the kustomization. Default: `charts`.
    pub chart_home: String,
    /// The directory of helm's own configuration. Default: a temporary directory.
    pub config_home: String,
}

/// One entry of the field `helmCharts`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of helm")]
pub struct HelmChart {
    /// The name of the chart and of its directory in the chart home.
    pub name: String,
    /// The version to pull.
    pub version: String,
    /// The repository to pull from if the chart is not in the chart home.
    pub repo: String,
    /// The name of the release. If empty, helm generates one.
    pub release_name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Values files in addition to `values_file`.
    pub additional_values_files: Vec<String>,
    /// The values file. Default: that of the chart.
    pub values_file: String,
    /// Inline values.
    pub values_inline: Mapping,
    /// The combination of inline values and values file: `override`, `merge` or `replace`.
    pub values_merge: String,
    /// Includes CRDs in the output.
    #[serde(rename = "includeCRDs")]
    pub include_crds: bool,
    /// Excludes hooks.
    pub skip_hooks: bool,
    /// `Capabilities.APIVersions`.
    pub api_versions: Vec<String>,
    /// `Capabilities.KubeVersion`.
    pub kube_version: String,
    /// The template of the release name.
    pub name_template: String,
    /// Excludes tests.
    pub skip_tests: bool,
    /// Enables helm's verbose output.
    pub debug: bool,
    /// Includes development versions.
    pub devel: bool,
}

impl HelmChart {
    /// Returns the paths of the values files, with the location of the chart.
    pub fn named_files(&self, at: Span) -> impl Iterator<Item = Spanned<String>> {
        let given = [&self.values_file].into_iter().chain(&self.additional_values_files);
        given.map(move |path| Spanned::new(path.clone(), at))
    }
}

/// One entry of the deprecated field `helmChartInflationGenerator`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmChartArgs {
    chart_name: String,
    chart_version: String,
    chart_repo_url: String,
    chart_home: String,
    chart_repo_name: String,
    helm_bin: String,
    helm_home: String,
    values: String,
    values_local: Mapping,
    values_merge: String,
    release_name: String,
    release_namespace: String,
    extra_args: Vec<String>,
}

impl HelmChartArgs {
    /// Converts the deprecated entries to charts and globals. The last entry determines the globals.
    #[must_use]
    pub fn into_charts(entries: Vec<Self>) -> (Vec<HelmChart>, HelmGlobals) {
        let mut globals = HelmGlobals::default();
        let chart = |old: Self| {
            for (new, old) in
                [(&mut globals.chart_home, old.chart_home), (&mut globals.config_home, old.helm_home)]
            {
                if !old.is_empty() {
                    *new = old;
                }
            }
            HelmChart {
                name: old.chart_name,
                version: old.chart_version,
                repo: old.chart_repo_url,
                values_file: old.values,
                values_inline: old.values_local,
                values_merge: old.values_merge,
                release_name: old.release_name,
                ..HelmChart::default()
            }
        };
        (entries.into_iter().map(chart).collect(), globals)
    }
}

/// Options of the command line for helm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmOptions {
    /// Allows running helm (`--enable-helm`).
    pub enabled: bool,
    /// The executable (`--helm-command`).
    pub command: String,
    /// The API versions for charts that set none (`--helm-api-versions`).
    pub api_versions: Vec<String>,
    /// The Kubernetes version for charts that set none (`--helm-kube-version`).
    pub kube_version: String,
    /// Enables helm's verbose output (`--helm-debug`).
    pub debug: bool,
}

impl Default for HelmOptions {
    fn default() -> Self {
        let (api_versions, kube_version) = (Vec::new(), String::new());
        Self { enabled: false, command: "helm".into(), api_versions, kube_version, debug: false }
    }
}

/// The policy for charts that have to be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// Pulled charts are stored in the chart home.
    Store,
    /// Pulled charts are stored in a temporary directory, because nothing may be written in the chart home.
    Temporary,
    /// Charts that have to be pulled are rejected, because no lock file pins their content.
    Deny,
}

/// The kustomization that contains a chart.
#[derive(Clone, Copy)]
pub struct ChartContext<'s> {
    /// The directory of the kustomization.
    pub root: &'s Directory,
    /// The policy for charts that have to be pulled.
    pub pulling: PullPolicy,
    /// Reads values files, with the restrictions of the kustomization.
    pub files: &'s dyn Files,
    /// The sources of the run.
    pub sources: &'s SourceMap,
    /// The schema for values that are manifests.
    pub schema: &'s Schema,
    /// The location of the chart entry, for messages.
    pub at: Span,
}

/// Inflates charts.
#[derive(Debug)]
pub struct Helm {
    options: HelmOptions,
    /// The result of checking helm's version, which is done once in a run.
    version_check: OnceLock<Result<()>>,
}

impl Helm {
    /// Creates a renderer with the user's options.
    #[must_use]
    pub fn new(options: HelmOptions) -> Self {
        Self { options, version_check: OnceLock::new() }
    }

    /// Returns the non-empty documents that a chart renders to, in helm's order.
    ///
    /// # Errors
    /// helm is not enabled or not installed, fails, or prints invalid YAML. The chart is not in the chart home
    /// and has no repository. Its values cannot be read or merged.
    pub fn inflate(
        &self,
        chart: &HelmChart,
        globals: &HelmGlobals,
        site: ChartContext<'_>,
    ) -> Result<Vec<Node>> {
        let named = |error: Diagnostic| error.at(site.at).resource(format!("helm chart {}", chart.name));
        self.check(chart).map_err(named)?;
        let release = Release::new(self, chart, globals, site).map_err(named)?;
        let output = release.render().map_err(named)?;
        let text = decode(output).map_err(named)?;
        let id = site.sources.add_printed(format!("<helm template {}>", chart.name), text);
        let mut documents = parse_documents(site.sources, id, ParseOptions::default()).map_err(named)?;
        // Some versions of helm print messages before the first document.
        if documents.len() > 1 && documents[0].get("kind").is_none() {
            documents.remove(0);
        }
        documents.retain(|document| !document.is_null());
        Ok(documents)
    }

    fn check(&self, chart: &HelmChart) -> Result<()> {
        if !self.options.enabled {
            return Err(Diagnostic::error(
                Code::Usage,
                "cannot inflate helm charts: running helm is not enabled",
            )
            .help("enable it with --enable-helm"));
        }
        if self.options.command.is_empty() {
            return Err(
                Diagnostic::error(Code::Usage, "helm command is empty").help("set it with --helm-command")
            );
        }
        if chart.name.is_empty() {
            return Err(Diagnostic::error(Code::MissingField, "helm chart has no `name`"));
        }
        // Some flags of helm run other programs, so a name must not be parsed as a flag.
        for (field, text) in [("name", &chart.name), ("releaseName", &chart.release_name)] {
            if text.starts_with('-') {
                let message = format!("`{text}` starts with a dash, so helm would parse it as a flag");
                return Err(Diagnostic::error(Code::InvalidValue, message).field(field));
            }
        }
        if !["", "override", "merge", "replace"].contains(&chart.values_merge.as_str()) {
            let message = format!("invalid `valuesMerge`: `{}`", chart.values_merge);
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .field("valuesMerge")
                .help("use merge, override or replace"));
        }
        Ok(())
    }

    fn run(&self, arguments: &[String], home: &str) -> Result<Vec<u8>> {
        let command = &self.options.command;
        let step = arguments.first().map_or("", String::as_str);
        let what = format!("`{command} {step}`");
        let mut program = Command::new(command);
        program.args(arguments).env("HELM_CONFIG_HOME", home);
        program
            .env("HELM_CACHE_HOME", format!("{home}/.cache"))
            .env("HELM_DATA_HOME", format!("{home}/.data"));
        let install =
            |error: Diagnostic| error.help("install helm 3 or 4, or set its path with --helm-command");
        let ended = process::run(&mut program, &what, b"", None).map_err(install)?;
        let all = || format!("command: {command} {}", arguments.join(" "));
        ended.into_stdout(&what).map_err(|error| error.note(all()))
    }

    fn check_version(&self, home: &str) -> Result<()> {
        let check = || {
            let output = self.run(&["version".to_string(), "--short".to_string()], home)?;
            let text = String::from_utf8_lossy(&output);
            match major_version(&text) {
                Some(3 | 4) => Ok(()),
                Some(major) => {
                    let message =
                        format!("`{}` is helm {major}, but helm 3 or 4 is required", self.options.command);
                    Err(Diagnostic::error(Code::Command, message))
                }
                None => {
                    let command = &self.options.command;
                    let message = format!("`{command} version` printed no version: {}", text.trim());
                    Err(Diagnostic::error(Code::Command, message)
                        .help("check that --helm-command is the path of helm"))
                }
            }
        };
        self.version_check.get_or_init(check).clone()
    }
}

/// Splits helm's output into parts with the template each comes from. helm names the template in a comment above
/// the part.
pub(super) fn split_templates(output: &str) -> Vec<(Range<usize>, &str)> {
    const SOURCE: &str = "# Source: ";

    let lines = output.split_inclusive('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len();
        Some((start, line))
    });
    let named = lines.filter_map(|(start, line)| Some((start, line.strip_prefix(SOURCE)?.trim_end())));
    let mut parts: Vec<(Range<usize>, &str)> =
        named.map(|(start, name)| (start..output.len(), name)).collect();
    for i in 1..parts.len() {
        parts[i - 1].0.end = parts[i].0.start;
    }
    parts
}

/// Returns the major version from the first `1.2.3` in a text.
fn major_version(text: &str) -> Option<u64> {
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let mut next = after.chars();
        if next.next() == Some('.') && next.next().is_some_and(|c| c.is_ascii_digit()) {
            return number.parse().ok();
        }
        rest = after;
    }
    None
}

/// The rendering of one chart.
struct Release<'h> {
    helm: &'h Helm,
    chart: &'h HelmChart,
    site: ChartContext<'h>,
    /// The directory for values files, for helm's own files, and for charts that cannot be stored.
    temporary: TemporaryDirectory,
    /// `HELM_CONFIG_HOME`.
    home: String,
    /// The directory that contains the chart's directory.
    charts: PathBuf,
}

impl<'h> Release<'h> {
    fn new(
        helm: &'h Helm,
        chart: &'h HelmChart,
        globals: &HelmGlobals,
        site: ChartContext<'h>,
    ) -> Result<Self> {
        if !site.root.is_on_disk() {
            let message = format!("cannot run helm in {}: it is not on disk", site.root.path().display());
            return Err(Diagnostic::error(Code::Unsupported, message)
                .help("build the target from a directory on disk"));
        }
        let temporary = TemporaryDirectory::new("helm-").map_err(|error| {
            Diagnostic::error(Code::Io, format!("cannot create a temporary directory: {error}"))
        })?;
        let home = match globals.config_home.as_str() {
            "" => temporary.path().join("helm").display().to_string(),
            home => home.to_string(),
        };
        let chart_home = if globals.chart_home.is_empty() { "charts" } else { &globals.chart_home };
        let mut charts = clean_path(&site.root.path().join(chart_home));
        // As in kustomize, this allows several versions of a chart to be pulled.
        if !chart.version.is_empty() && !chart.repo.is_empty() {
            charts = charts.join(format!("{}-{}", chart.name, chart.version));
        }
        let mut release = Self { helm, chart, site, temporary, home, charts };
        helm.check_version(&release.home)?;
        release.ensure_chart()?;
        Ok(release)
    }

    fn directory(&self) -> PathBuf {
        clean_path(&self.charts.join(&self.chart.name))
    }

    /// Pulls the chart if it is missing.
    fn ensure_chart(&mut self) -> Result<()> {
        if self.site.root.locate(self.directory()).is_ok_and(|found| found.is_directory()) {
            self.site.root.record_program_access(self.directory());
            return self.check_links();
        }
        if self.chart.repo.is_empty() {
            let message = format!(
                "chart not found in {}, and it has no `repo` to pull it from",
                self.directory().display()
            );
            return Err(
                Diagnostic::error(Code::Io, message).help("set `repo`, or add the chart to this directory")
            );
        }
        match self.site.pulling {
            PullPolicy::Store => {}
            PullPolicy::Temporary => self.charts = self.temporary.path().join("charts"),
            PullPolicy::Deny => {
                let repository = without_password(&self.chart.repo);
                let message = format!("chart from {repository} cannot be locked");
                let help = format!("add the chart to {}, or remove --locked", self.directory().display());
                return Err(Diagnostic::error(Code::Locked, message).help(help));
            }
        }
        self.helm.run(&pull_arguments(self.chart, &self.charts), &self.home).map(drop)
    }

    /// Rejects symlinks that point outside the repository of the chart, because helm would follow them.
    fn check_links(&self) -> Result<()> {
        let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Keep, max_depth: usize::MAX };
        let chart = self.site.root.at(self.directory());
        let out = |walked| match walked {
            Err(WalkError::Io { path, cause }) if is_outside_error(&cause) => Some(path),
            _ => None,
        };
        match chart.walk(options).find_map(out) {
            None => Ok(()),
            Some(path) => {
                let message = format!("{} is outside of the fetched repository", path.display());
                Err(Diagnostic::error(Code::OutsideRoot, message)
                    .help("a remote kustomization can only use files of its own repository"))
            }
        }
    }

    fn render(&self) -> Result<Vec<u8>> {
        const VALUES: &str = "kustomize-values.yaml";

        let values = self.values()?;
        let unwritten = |error: std::io::Error| {
            Diagnostic::error(Code::Io, format!("cannot write the values for helm: {error}"))
        };
        self.temporary.write(VALUES, &values).map_err(unwritten)?;
        let mut files = vec![self.temporary.path().join(VALUES)];
        let mut given = vec![values];
        for (i, path) in self.chart.additional_values_files.iter().enumerate() {
            let values =
                self.site.files.read(path, self.site.at).map_err(|e| e.field("additionalValuesFiles"))?;
            // helm gets a copy of the content that was read. The path might refer to another file by then.
            let name = format!("additional-values-{i}.yaml");
            self.temporary.write(&name, &values).map_err(unwritten)?;
            files.push(self.temporary.path().join(name));
            given.push(values);
        }
        let arguments = template_arguments(self.chart, &self.helm.options, &self.directory(), &files);
        self.helm.run(&arguments, &self.home).map_err(|error| {
            let held = held_secrets(&given);
            error.map_text(|text| held.mask(text).into_owned())
        })
    }

    /// Returns the content of the first values file.
    fn values(&self) -> Result<Vec<u8>> {
        let chart = self.chart;
        if chart.values_inline.is_empty() {
            return self.values_file().map(|(_, content)| content);
        }
        let inline = values::inline_values_tree(&chart.values_inline)?;
        if chart.values_merge == "replace" {
            return to_yaml(&inline).map(String::into_bytes);
        }
        let (name, content) = self.values_file()?;
        let ChartContext { sources, schema, .. } = self.site;
        let id = sources.add(name, decode(content)?);
        let first = parse_documents(sources, id, ParseOptions::default())?.into_iter().next();
        let from_file = first.unwrap_or_else(Node::null);
        let merged = match chart.values_merge.as_str() {
            "merge" => values::merge(&from_file, inline, schema)?,
            _ => values::merge(&inline, from_file, schema)?,
        };
        to_yaml(&merged).map(String::into_bytes)
    }

    /// Returns the name and content of the values file. Default: that of the chart.
    fn values_file(&self) -> Result<(PathBuf, Vec<u8>)> {
        let own = self.directory().join("values.yaml");
        if !self.chart.values_file.is_empty() {
            let path = &self.chart.values_file;
            let content = self.site.files.read(path, self.site.at).map_err(|e| e.field("valuesFile"))?;
            return Ok((path.into(), content));
        }
        if own.starts_with(self.temporary.path()) {
            let missing =
                |error| Diagnostic::error(Code::Io, format!("cannot read values.yaml of the chart: {error}"));
            return DiskTree.read(&own).map(|content| (own, content)).map_err(missing);
        }
        let content = self.site.files.read(&own.to_string_lossy(), self.site.at)?;
        Ok((own, content))
    }
}

/// Returns the secrets in values passed to helm, which its messages may repeat.
fn held_secrets(given: &[Vec<u8>]) -> SecretValues {
    let sources = SourceMap::default();
    let documents = given.iter().filter_map(|values| {
        let id = sources.add("values", decode(values.clone()).ok()?);
        parse_documents(&sources, id, ParseOptions::default()).ok()
    });
    let mut held = SecretValues::default();
    documents.flatten().for_each(|values| add_configuration(&mut held, &values));
    held
}

/// Returns the arguments of `helm pull`.
fn pull_arguments(chart: &HelmChart, charts: &Path) -> Vec<String> {
    let mut arguments =
        vec!["pull".into(), "--untar".into(), "--untardir".into(), charts.display().to_string()];
    if chart.repo.starts_with("oci://") {
        let repo = chart.repo.strip_suffix('/').unwrap_or(&chart.repo);
        arguments.push(format!("{repo}/{}", chart.name));
    } else {
        arguments.extend(["--repo".into(), chart.repo.clone(), chart.name.clone()]);
    }
    if !chart.version.is_empty() {
        arguments.extend(["--version".into(), chart.version.clone()]);
    }
    if chart.devel {
        arguments.push("--devel".into());
    }
    arguments
}

/// Returns the arguments of `helm template`. Settings of the chart take precedence over those of the command
/// line.
fn template_arguments(
    chart: &HelmChart,
    options: &HelmOptions,
    directory: &Path,
    files: &[PathBuf],
) -> Vec<String> {
    let mut arguments = vec!["template".to_string()];
    arguments.push(if chart.release_name.is_empty() {
        "--generate-name".into()
    } else {
        chart.release_name.clone()
    });
    arguments.push(directory.display().to_string());
    let mut named = |flag: &str, value: &str| {
        if !value.is_empty() {
            arguments.extend([flag.to_string(), value.to_string()]);
        }
    };
    named("--namespace", &chart.namespace);
    named("--name-template", &chart.name_template);
    for file in files {
        named("-f", &file.display().to_string());
    }
    let api_versions =
        if chart.api_versions.is_empty() { &options.api_versions } else { &chart.api_versions };
    for version in api_versions {
        named("--api-versions", version);
    }
    named(
        "--kube-version",
        if chart.kube_version.is_empty() { &options.kube_version } else { &chart.kube_version },
    );
    let switches = [
        ("--include-crds", chart.include_crds),
        ("--skip-tests", chart.skip_tests),
        ("--no-hooks", chart.skip_hooks),
        ("--debug", chart.debug || options.debug),
        ("--devel", chart.devel),
    ];
    arguments.extend(switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_string()));
    arguments
}

#[cfg(test)]
mod tests;
