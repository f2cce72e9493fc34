//! Helm charts: the fields `helmCharts` and `helmGlobals`, inflated by the `helm` executable.
//!
//! Owns the configuration, the command lines and the values files of kustomize's
//! HelmChartInflationGenerator (v5.8.3). Runs helm only when the user enabled it. Knows nothing of
//! resources: what helm prints comes back as documents.

mod values;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::process;
use super::repo_spec::without_password;
use crate::resource::HeldSecrets;
use crate::transform::Files;
use serde::Deserialize;
use serde_yaml::Mapping;
use smp_files::{
    Directory, DiskTree, FileTree as _, Hidden, LinkPolicy, TemporaryDirectory, WalkError, WalkOptions,
    clean, leads_out,
};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, ParseOptions, Spanned, decode, parse_documents, to_yaml};

/// The field `helmGlobals`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmGlobals {
    /// The directory of the charts, relative to the kustomization; empty: `charts`.
    pub chart_home: String,
    /// The directory for helm's own configuration; empty: a temporary one.
    pub config_home: String,
}

/// One entry of the field `helmCharts`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of helm")]
pub struct HelmChart {
    /// The chart, and the directory in the chart home that it is in.
    pub name: String,
    /// The version to pull.
    pub version: String,
    /// Where to pull it from when it is not in the chart home.
    pub repo: String,
    /// The name of the release; empty: helm makes one up.
    pub release_name: String,
    /// The namespace of the release.
    pub namespace: String,
    /// Values files beside `values_file`.
    pub additional_values_files: Vec<String>,
    /// The values file; empty: that of the chart.
    pub values_file: String,
    /// Values that are written in the kustomization.
    pub values_inline: Mapping,
    /// How inline values and the values file go together: `override`, `merge` or `replace`.
    pub values_merge: String,
    /// Whether CRDs are printed.
    #[serde(rename = "includeCRDs")]
    pub include_crds: bool,
    /// Whether hooks are left out.
    pub skip_hooks: bool,
    /// `Capabilities.APIVersions`.
    pub api_versions: Vec<String>,
    /// `Capabilities.KubeVersion`.
    pub kube_version: String,
    /// A template for the name of the release.
    pub name_template: String,
    /// Whether tests are left out.
    pub skip_tests: bool,
    /// Whether helm says what it does.
    pub debug: bool,
    /// Whether development versions count.
    pub devel: bool,
}

impl HelmChart {
    /// The paths of the files with values; a chart stands where it is named.
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
    /// The charts and globals that the deprecated entries mean; of the latter the last counts.
    #[must_use]
    pub fn split(entries: Vec<Self>) -> (Vec<HelmChart>, HelmGlobals) {
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

/// What the command line says about helm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelmOptions {
    /// Whether helm may be run at all (`--enable-helm`).
    pub enabled: bool,
    /// The executable (`--helm-command`).
    pub command: String,
    /// Used for charts that name none (`--helm-api-versions`).
    pub api_versions: Vec<String>,
    /// Used for charts that name none (`--helm-kube-version`).
    pub kube_version: String,
    /// Whether helm says what it does (`--helm-debug`).
    pub debug: bool,
}

impl Default for HelmOptions {
    fn default() -> Self {
        let (api_versions, kube_version) = (Vec::new(), String::new());
        Self { enabled: false, command: "helm".into(), api_versions, kube_version, debug: false }
    }
}

/// What becomes of charts that must be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulling {
    /// They are kept in the chart home.
    Kept,
    /// They go with the run: nothing may be written where the chart home is.
    Temporary,
    /// They are refused: no lock says what they were.
    Refused,
}

/// The kustomization that a chart stands in.
#[derive(Clone, Copy)]
pub struct ChartSite<'s> {
    /// Its directory.
    pub root: &'s Directory,
    /// What becomes of charts that must be pulled.
    pub pulling: Pulling,
    /// Reads the files that it names, with its restrictions.
    pub files: &'s dyn Files,
    /// The texts of the run.
    pub sources: &'s SourceMap,
    /// For values that are manifests.
    pub schema: &'s Schema,
    /// Where the chart is named, for messages.
    pub at: Span,
}

/// Inflates charts.
#[derive(Debug)]
pub struct Helm {
    options: HelmOptions,
    /// Whether the executable is a helm that can be used; asked once in a run.
    usable: OnceLock<Result<()>>,
}

impl Helm {
    /// An inflator that runs helm as the user allows.
    #[must_use]
    pub fn new(options: HelmOptions) -> Self {
        Self { options, usable: OnceLock::new() }
    }

    /// The documents that a chart renders to, in helm's order; empty ones are left out.
    ///
    /// # Errors
    /// helm is not enabled or not there, fails, or prints what is no YAML; the chart is neither in
    /// the chart home nor has a repository; its values cannot be read or merged.
    pub fn inflate(
        &self,
        chart: &HelmChart,
        globals: &HelmGlobals,
        site: ChartSite<'_>,
    ) -> Result<Vec<Node>> {
        let named = |error: Diagnostic| error.at(site.at).resource(format!("helm chart {}", chart.name));
        self.check(chart).map_err(named)?;
        let release = Release::new(self, chart, globals, site).map_err(named)?;
        let output = release.render().map_err(named)?;
        let text = decode(output).map_err(named)?;
        let id = site.sources.add_printed(format!("<helm template {}>", chart.name), text);
        let mut documents = parse_documents(site.sources, id, ParseOptions::default()).map_err(named)?;
        // Some versions of helm talk before they print.
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
                "charts are inflated by running helm, which is not enabled",
            )
            .help("allow it with --enable-helm"));
        }
        if self.options.command.is_empty() {
            return Err(Diagnostic::error(Code::Usage, "the command for helm is empty")
                .help("name it with --helm-command"));
        }
        if chart.name.is_empty() {
            return Err(Diagnostic::error(Code::MissingField, "this helm chart has no `name`"));
        }
        // helm has flags that run other programs.
        for (field, text) in [("name", &chart.name), ("releaseName", &chart.release_name)] {
            if text.starts_with('-') {
                let message = format!("`{text}` begins with a dash, which helm takes for an option");
                return Err(Diagnostic::error(Code::InvalidValue, message).field(field));
            }
        }
        if !["", "override", "merge", "replace"].contains(&chart.values_merge.as_str()) {
            let message = format!("`{}` is no way to merge values", chart.values_merge);
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .field("valuesMerge")
                .help("possible here: merge, override, replace"));
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
        let install = |error: Diagnostic| error.help("install helm 3 or 4, or name it with --helm-command");
        let ended = process::run(&mut program, &what, b"", None).map_err(install)?;
        let all = || format!("the command was: {command} {}", arguments.join(" "));
        ended.success(&what).map_err(|error| error.note(all()))
    }

    fn check_version(&self, home: &str) -> Result<()> {
        let check = || {
            let output = self.run(&["version".to_string(), "--short".to_string()], home)?;
            let text = String::from_utf8_lossy(&output);
            match major_version(&text) {
                Some(3 | 4) => Ok(()),
                Some(major) => {
                    let message =
                        format!("helm 3 or 4 is needed, and `{}` is helm {major}", self.options.command);
                    Err(Diagnostic::error(Code::Command, message))
                }
                None => {
                    let command = &self.options.command;
                    let message = format!("`{command} version` prints no version: {}", text.trim());
                    Err(Diagnostic::error(Code::Command, message).help("is this really helm?"))
                }
            }
        };
        self.usable.get_or_init(check).clone()
    }
}

/// The parts of what helm prints, each with the template that it comes from, as helm says in a comment above it.
pub(super) fn templates_of(output: &str) -> Vec<(Range<usize>, &str)> {
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

/// The first number of the first `1.2.3` in a text.
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

/// One chart on its way through helm.
struct Release<'h> {
    helm: &'h Helm,
    chart: &'h HelmChart,
    site: ChartSite<'h>,
    /// For values files, for helm's own files, for charts that cannot be kept.
    temporary: TemporaryDirectory,
    /// `HELM_CONFIG_HOME`.
    home: String,
    /// The directory that has the chart's directory.
    charts: PathBuf,
}

impl<'h> Release<'h> {
    fn new(helm: &'h Helm, chart: &'h HelmChart, globals: &HelmGlobals, site: ChartSite<'h>) -> Result<Self> {
        if !site.root.is_on_disk() {
            let message = format!("{} is not on disk, where helm could find it", site.root.path().display());
            return Err(
                Diagnostic::error(Code::Unsupported, message).help("build it from a directory on disk")
            );
        }
        let temporary = TemporaryDirectory::new("helm-").map_err(|error| {
            Diagnostic::error(Code::Io, format!("no temporary directory can be made: {error}"))
        })?;
        let home = match globals.config_home.as_str() {
            "" => temporary.path().join("helm").display().to_string(),
            home => home.to_string(),
        };
        let chart_home = if globals.chart_home.is_empty() { "charts" } else { &globals.chart_home };
        let mut charts = clean(&site.root.path().join(chart_home));
        // Several versions of one chart can be pulled.
        if !chart.version.is_empty() && !chart.repo.is_empty() {
            charts = charts.join(format!("{}-{}", chart.name, chart.version));
        }
        let mut release = Self { helm, chart, site, temporary, home, charts };
        helm.check_version(&release.home)?;
        release.provide()?;
        Ok(release)
    }

    fn directory(&self) -> PathBuf {
        clean(&self.charts.join(&self.chart.name))
    }

    /// Pulls the chart if it is not there.
    fn provide(&mut self) -> Result<()> {
        if self.site.root.locate(self.directory()).is_ok_and(|found| found.is_directory()) {
            self.site.root.give(self.directory());
            return self.check_links();
        }
        if self.chart.repo.is_empty() {
            let message =
                format!("there is no chart in {}, and no `repo` to pull it from", self.directory().display());
            return Err(Diagnostic::error(Code::Io, message)
                .help("name the repository of the chart, or put the chart there"));
        }
        match self.site.pulling {
            Pulling::Kept => {}
            Pulling::Temporary => self.charts = self.temporary.path().join("charts"),
            Pulling::Refused => {
                let repository = without_password(&self.chart.repo);
                let message = format!("a chart that is pulled from {repository} cannot be locked");
                let help = format!("put it into {}, or leave --locked out", self.directory().display());
                return Err(Diagnostic::error(Code::Locked, message).help(help));
            }
        }
        self.helm.run(&pull_arguments(self.chart, &self.charts), &self.home).map(drop)
    }

    /// Looks for links that lead out of the repository that the chart is in: helm follows them by itself.
    fn check_links(&self) -> Result<()> {
        let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Keep, max_depth: usize::MAX };
        let chart = self.site.root.at(self.directory());
        let out = |walked| match walked {
            Err(WalkError::Io { path, cause }) if leads_out(&cause) => Some(path),
            _ => None,
        };
        match chart.walk(options).find_map(out) {
            None => Ok(()),
            Some(path) => {
                let message = format!("{} leads out of what was fetched", path.display());
                Err(Diagnostic::error(Code::OutsideRoot, message)
                    .help("what is fetched may only use what is in its own repository"))
            }
        }
    }

    fn render(&self) -> Result<Vec<u8>> {
        const VALUES: &str = "kustomize-values.yaml";

        let values = self.values()?;
        let unwritten = |error: std::io::Error| {
            Diagnostic::error(Code::Io, format!("the values cannot be written for helm: {error}"))
        };
        self.temporary.write(VALUES, &values).map_err(unwritten)?;
        let mut files = vec![self.temporary.path().join(VALUES)];
        let mut given = vec![values];
        for (i, path) in self.chart.additional_values_files.iter().enumerate() {
            let values =
                self.site.files.read(path, self.site.at).map_err(|e| e.field("additionalValuesFiles"))?;
            // helm gets what was read, and not the path, which may lead elsewhere when helm follows it.
            let name = format!("additional-values-{i}.yaml");
            self.temporary.write(&name, &values).map_err(unwritten)?;
            files.push(self.temporary.path().join(name));
            given.push(values);
        }
        let arguments = template_arguments(self.chart, &self.helm.options, &self.directory(), &files);
        self.helm.run(&arguments, &self.home).map_err(|error| {
            let held = held_secrets(&given);
            error.reworded(|text| held.hidden_in(text))
        })
    }

    /// The content of the first values file.
    fn values(&self) -> Result<Vec<u8>> {
        let chart = self.chart;
        if chart.values_inline.is_empty() {
            return self.values_file().map(|(_, content)| content);
        }
        let inline = values::tree(&chart.values_inline)?;
        if chart.values_merge == "replace" {
            return to_yaml(&inline).map(String::into_bytes);
        }
        let (name, content) = self.values_file()?;
        let ChartSite { sources, schema, .. } = self.site;
        let id = sources.add(name, decode(content)?);
        let first = parse_documents(sources, id, ParseOptions::default())?.into_iter().next();
        let from_file = first.unwrap_or_else(Node::null);
        let merged = match chart.values_merge.as_str() {
            "merge" => values::merge(&from_file, inline, schema)?,
            _ => values::merge(&inline, from_file, schema)?,
        };
        to_yaml(&merged).map(String::into_bytes)
    }

    /// The name and content of the values file: the chart's own, unless another is named.
    fn values_file(&self) -> Result<(PathBuf, Vec<u8>)> {
        let own = self.directory().join("values.yaml");
        if !self.chart.values_file.is_empty() {
            let path = &self.chart.values_file;
            let content = self.site.files.read(path, self.site.at).map_err(|e| e.field("valuesFile"))?;
            return Ok((path.into(), content));
        }
        if own.starts_with(self.temporary.path()) {
            let missing = |error| Diagnostic::error(Code::Io, format!("values.yaml of the chart: {error}"));
            return DiskTree.read(&own).map(|content| (own, content)).map_err(missing);
        }
        let content = self.site.files.read(&own.to_string_lossy(), self.site.at)?;
        Ok((own, content))
    }
}

/// The values that helm was given and may repeat, and nobody shall see.
fn held_secrets(given: &[Vec<u8>]) -> HeldSecrets {
    let sources = SourceMap::default();
    let documents = given.iter().filter_map(|values| {
        let id = sources.add("values", decode(values.clone()).ok()?);
        parse_documents(&sources, id, ParseOptions::default()).ok()
    });
    documents.flatten().fold(HeldSecrets::default(), |held, values| held.and_configuration(&values))
}

/// The arguments of `helm pull`.
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

/// The arguments of `helm template`. What the chart says goes before what the command line says.
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
