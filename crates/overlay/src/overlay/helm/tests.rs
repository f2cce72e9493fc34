#![cfg(unix)]

use std::cell::RefCell;
use std::fs;

use super::super::process::testing::script;
use super::*;
use smp_text::yaml::{DecodeOptions, ParseOptions, from_node, from_node_with, parse_one, write_documents};

/// The directory of a kustomization, and the output of a fake helm that records its arguments.
struct Fixture {
    home: tempfile::TempDir,
    sources: SourceMap,
    read: RefCell<Vec<String>>,
}

const PRINTED: &str = "---\n# Source: demo/templates/a.yaml\nkind: A\n---\n\n---\nkind: B\n";

impl Fixture {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let fixture = Self { home, sources: SourceMap::default(), read: RefCell::default() };
        fixture.file("root/charts/demo/Chart.yaml", "apiVersion: v2\nname: demo\nversion: 0.1.0\n");
        fixture.file("root/charts/demo/values.yaml", "replicas: 1\nname: own\n");
        fixture.file("printed", PRINTED);
        fixture
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("new");
        fs::write(path, text).expect("written");
    }

    /// Creates a fake helm that records its calls. It copies the first values file to `values` and the others to
    /// `more`.
    fn fake(&self) -> PathBuf {
        let home = self.home.path().display();
        script(
            self.home.path(),
            "helm",
            &format!(
                r#"echo "$*" >> {home}/calls
case "$1" in
version) echo 'v3.15.1+ge211f2a' ;;
pull)
  echo "$HELM_CONFIG_HOME|$HELM_CACHE_HOME|$HELM_DATA_HOME" > {home}/env
  mkdir -p "$4/demo" && echo 'pulled: true' > "$4/demo/values.yaml" ;;
template)
  while [ "$1" != -f ]; do shift; done
  cat "$2" > {home}/values
  shift 2
  while [ "$1" = -f ]; do cat "$2" >> {home}/more; shift 2; done
  cat {home}/printed ;;
esac"#
            ),
        )
    }

    fn options(&self) -> HelmOptions {
        HelmOptions { enabled: true, command: self.fake().display().to_string(), ..HelmOptions::default() }
    }

    fn inflate(&self, chart: &str, options: HelmOptions) -> Result<Vec<Node>> {
        self.inflate_in(chart, options, PullPolicy::Store)
    }

    fn inflate_in(&self, text: &str, options: HelmOptions, pulling: PullPolicy) -> Result<Vec<Node>> {
        let id = self.sources.add("kustomization.yaml", text);
        let node = parse_one(&self.sources, id, ParseOptions::default())?;
        // As in an entry of `generators`: chart and globals are in one map.
        let chart: HelmChart = from_node_with(&node, DecodeOptions::plugin())?;
        let globals: HelmGlobals = from_node_with(&node, DecodeOptions::plugin())?;
        let root = Directory::on_disk(self.path("root").canonicalize().expect("the root"));
        let (sources, schema, at) = (&self.sources, &Schema::default(), Span::default());
        let site = ChartContext { root: &root, pulling, files: self, sources, schema, at };
        Helm::new(options).inflate(&chart, &globals, site)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect(path)
    }

    /// Returns the recorded calls, with ROOT for the directory, VALUES for the values file and MORE for others.
    fn calls(&self) -> Vec<String> {
        let root = self.path("root").canonicalize().expect("the root");
        let words = |line: &str| -> Vec<String> {
            let word = |word: &str| match word.rsplit('/').next() {
                Some("kustomize-values.yaml") => "VALUES".into(),
                Some(name) if name.starts_with("additional-values-") => "MORE".into(),
                _ => word.replace(&root.display().to_string(), "ROOT"),
            };
            line.split(' ').map(word).collect()
        };
        self.text("calls").lines().map(|line| words(line).join(" ")).collect()
    }
}

impl Files for Fixture {
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
        self.read.borrow_mut().push(path.to_string());
        let failed = |e: std::io::Error| Diagnostic::error(Code::Io, format!("{path}: {e}")).at(at);
        fs::read(self.path("root").join(path)).map_err(failed)
    }
}

#[test]
fn chart_that_has_to_be_pulled_cannot_be_locked() {
    let fixture = Fixture::new();
    let chart = "{name: demo, repo: https://me:secret@h/charts, releaseName: r, version: 1.0.0}";
    let error = fixture.inflate_in(chart, fixture.options(), PullPolicy::Deny).expect_err("not locked");
    assert_eq!(error.code(), Code::Locked);
    assert_eq!(error.message(), "chart from https://***@h/charts cannot be locked");
    assert!(error.help_text().is_some_and(|help| help.contains("/charts/demo-1.0.0/demo")), "{error:?}");
    assert_eq!(fixture.calls().len(), 1, "only the version was requested");
    fixture.file("root/charts/demo-1.0.0/demo/values.yaml", "a: 1\n");
    fixture.inflate_in(chart, fixture.options(), PullPolicy::Deny).expect("it is there");
}

#[test]
fn helm_does_not_run_without_its_flag() {
    let fixture = Fixture::new();
    let options = HelmOptions { enabled: false, ..fixture.options() };
    let error = fixture.inflate("name: demo", options).expect_err("not enabled");
    assert_eq!((error.code(), error.help_text()), (Code::Usage, Some("enable it with --enable-helm")));
    assert!(!fixture.path("calls").exists());
}

#[test]
fn chart_without_options_is_rendered() {
    let fixture = Fixture::new();
    let documents = fixture.inflate("name: demo", fixture.options()).expect("inflated");
    let kinds: Vec<_> =
        documents.iter().map(|d| d.get("kind").and_then(Node::as_str).expect("a kind")).collect();
    assert_eq!(kinds, ["A", "B"]);
    let location = fixture.sources.describe(documents[1].span()).expect("a location");
    assert_eq!(location, "<helm template demo>:7:1");
    assert_eq!(fixture.calls(), ["version --short", "template --generate-name ROOT/charts/demo -f VALUES"]);
    assert_eq!(fixture.text("values"), "replicas: 1\nname: own\n", "unchanged");
}

#[test]
fn options_are_passed_to_helm_in_the_order_of_kustomize() {
    let fixture = Fixture::new();
    fixture.file("root/more.yaml", "a: 1\n");
    fixture.file("root/vals/x.yaml", "b: 1\n");
    let chart = "{name: demo, releaseName: rel, namespace: ns, nameTemplate: tpl, valuesFile: vals/x.yaml, \
                 additionalValuesFiles: [more.yaml, ./vals/../more.yaml], apiVersions: [a/v1, b/v1], \
                 kubeVersion: 1.29.0, includeCRDs: true, skipTests: true, skipHooks: true, debug: true, \
                 devel: true, chartHome: ./charts/../charts}";
    // Settings of the chart take precedence over the command line, as in kustomize v5.8.3.
    let (api_versions, kube_version) = (vec!["c/v1".to_string()], "1.30.0".to_string());
    let options = HelmOptions { api_versions, kube_version, ..fixture.options() };
    fixture.inflate(chart, options.clone()).expect("inflated");
    assert_eq!(
        fixture.calls()[1],
        "template rel ROOT/charts/demo --namespace ns --name-template tpl -f VALUES -f MORE \
         -f MORE --api-versions a/v1 --api-versions b/v1 --kube-version 1.29.0 --include-crds \
         --skip-tests --no-hooks --debug --devel"
    );
    assert_eq!(fixture.text("values"), "b: 1\n");
    assert_eq!(fixture.text("more"), "a: 1\na: 1\n", "copies of the files as read");
    fixture
        .inflate("{name: demo, releaseName: r}", HelmOptions { debug: true, ..options })
        .expect("inflated");
    assert_eq!(
        fixture.calls()[3],
        "template r ROOT/charts/demo -f VALUES --api-versions c/v1 --kube-version 1.30.0 --debug"
    );
}

#[test]
fn inline_values_are_merged_with_the_file() {
    let fixture = Fixture::new();
    let table = [
        ("", "inline: \"yes\"\nname: mine\nreplicas: 1\n"),
        ("override", "inline: \"yes\"\nname: mine\nreplicas: 1\n"),
        ("merge", "inline: \"yes\"\nname: own\nreplicas: 1\n"),
        ("replace", "inline: \"yes\"\nname: mine\n"),
    ];
    for (how, want) in table {
        let chart =
            format!("{{name: demo, valuesMerge: '{how}', valuesInline: {{name: mine, inline: yes}}}}");
        fixture.inflate(&chart, fixture.options()).expect(how);
        assert_eq!(fixture.text("values"), want, "{how}");
    }
    for empty in ["", "# nothing\n", "null\n"] {
        fixture.file("root/charts/demo/values.yaml", empty);
        fixture.inflate("{name: demo, valuesInline: {a: 1}}", fixture.options()).expect("merged");
        assert_eq!(fixture.text("values"), "a: 1\n");
    }
    let error = fixture.inflate("{name: demo, valuesMerge: deep}", fixture.options()).expect_err("unknown");
    assert_eq!((error.code(), error.field_path()), (Code::InvalidValue, Some("valuesMerge")));
}

#[test]
fn missing_charts_are_pulled() {
    let fixture = Fixture::new();
    let root = fixture.path("root").canonicalize().expect("the root");
    let pulled = |chart: &str| {
        fs::remove_dir_all(root.join("charts")).ok();
        fs::remove_file(fixture.path("calls")).ok();
        fixture.inflate(chart, fixture.options()).expect(chart);
        let calls = fixture.calls();
        (calls[1].clone(), calls.len(), fixture.text("values"))
    };
    let own = "pulled: true\n".to_string();
    let (call, _, values) = pulled("{name: demo, repo: 'https://h.com/charts'}");
    assert_eq!(call, "pull --untar --untardir ROOT/charts --repo https://h.com/charts demo");
    assert_eq!(values, own);
    assert!(fixture.text("env").trim().split('|').all(|v| v.contains("/helm")), "{}", fixture.text("env"));
    let (call, _, _) =
        pulled("{name: demo, repo: 'https://h.com', version: 1.2.3, devel: true, chartHome: c/x}");
    assert_eq!(
        call,
        "pull --untar --untardir ROOT/c/x/demo-1.2.3 --repo https://h.com demo --version 1.2.3 --devel"
    );
    let (call, _, _) = pulled("{name: demo, repo: 'oci://h.com/charts/', version: 1.2.3, configHome: /conf}");
    assert_eq!(
        call,
        "pull --untar --untardir ROOT/charts/demo-1.2.3 oci://h.com/charts/demo --version 1.2.3"
    );
    assert_eq!(fixture.text("env"), "/conf|/conf/.cache|/conf/.data\n");
    // The second time, the chart already exists.
    fixture
        .inflate("{name: demo, repo: 'oci://h.com/charts/', version: 1.2.3}", fixture.options())
        .expect("there");
    assert_eq!(fixture.calls().iter().filter(|c| c.starts_with("pull")).count(), 1);

    let error = fixture.inflate("name: other", fixture.options()).expect_err("no repository");
    assert!(error.message().contains("no `repo` to pull it from"), "{error}");
    assert_eq!(error.resource_name(), Some("helm chart other"));
}

#[test]
fn charts_of_remote_bases_are_pulled_to_a_temporary_directory() {
    let fixture = Fixture::new();
    fs::remove_dir_all(fixture.path("root/charts")).expect("removed");
    let chart = "{name: demo, repo: 'https://h.com'}";
    fixture.inflate_in(chart, fixture.options(), PullPolicy::Temporary).expect("inflated");
    assert_eq!(fixture.text("values"), "pulled: true\n");
    assert!(!fixture.path("root/charts").exists());
    assert!(fixture.read.borrow().is_empty(), "files outside of the root are not read through it");
}

#[test]
fn version_is_parsed_from_the_output_of_helm() {
    let table = [
        ("v3.15.1+ge211f2a", Some(3)),
        ("v4.0.0", Some(4)),
        ("3.1", Some(3)),
        ("Client: v2.17.0+ga690bad", Some(2)),
        ("WARNING 7 things\nv3.1.0", Some(3)),
        ("no version", None),
        ("v3", None),
        ("", None),
    ];
    for (text, want) in table {
        assert_eq!(major_version(text), want, "{text}");
    }
    let fixture = Fixture::new();
    let old = script(fixture.home.path(), "old", "echo v2.17.0");
    let options = HelmOptions { command: old.display().to_string(), ..fixture.options() };
    let error = fixture.inflate("name: demo", options).expect_err("too old");
    assert!(error.message().ends_with("but helm 3 or 4 is required"), "{error}");
}

#[test]
fn failures_are_reported() {
    let fixture = Fixture::new();
    let failing = script(
        fixture.home.path(),
        "failing",
        "[ \"$1\" = version ] && echo v3.1.0 && exit; echo 'Error: no template' >&2; exit 1",
    );
    let options = HelmOptions { command: failing.display().to_string(), ..fixture.options() };
    let error = fixture.inflate("{name: demo, releaseName: r}", options).expect_err("it fails");
    assert_eq!(error.code(), Code::Command);
    assert_eq!(error.notes()[0], "Error: no template");
    assert!(error.notes()[1].contains("template r "), "{:?}", error.notes());

    let options = HelmOptions { command: "/nonexistent/helm".into(), ..fixture.options() };
    let error = fixture.inflate("name: demo", options).expect_err("not there");
    assert_eq!(error.help_text(), Some("install helm 3 or 4, or set its path with --helm-command"));
    for chart in ["{name: demo, releaseName: --post-renderer=x}", "{name: -x, repo: 'https://h.com'}"] {
        let error = fixture.inflate(chart, fixture.options()).expect_err("an option");
        assert_eq!(error.code(), Code::InvalidValue, "{chart}");
    }
    assert_eq!(fixture.inflate("{}", fixture.options()).expect_err("no name").code(), Code::MissingField);
    let missing = fixture.inflate("{name: demo, valuesFile: nope.yaml}", fixture.options());
    assert_eq!(missing.expect_err("no such file").field_path(), Some("valuesFile"));
}

#[test]
fn messages_before_the_first_document_are_dropped() {
    let fixture = Fixture::new();
    for (printed, want) in [
        ("Pulled: h.com/charts/demo\n---\nkind: A\n", 1),
        ("walk.go:74: found a link\n---\nkind: A\n", 1),
        ("kind: A\n---\nkind: B\n", 2),
        ("# nothing\n", 0),
        ("", 0),
    ] {
        fixture.file("printed", printed);
        let documents = fixture.inflate("name: demo", fixture.options()).expect(printed);
        assert_eq!(documents.len(), want, "{printed}");
    }
    fixture.file("printed", "a: [\n");
    let error = fixture.inflate("name: demo", fixture.options()).expect_err("no YAML");
    let location = fixture.sources.describe(error.labels()[0].span).expect("a location");
    assert!(location.starts_with("<helm template demo>:"), "{location}");
}

#[test]
fn deprecated_field_is_converted_to_charts_and_globals() {
    let sources = SourceMap::default();
    let text = "- {chartName: a, chartVersion: 1.0.0, chartRepoUrl: 'https://h.com', values: v.yaml, \
                releaseName: r, helmHome: one, valuesLocal: {x: 1}, valuesMerge: merge}\n\
                - {chartName: b, helmHome: two, chartHome: c}\n";
    let id = sources.add("k.yaml", text);
    let node = parse_one(&sources, id, ParseOptions::default()).expect("valid");
    let (charts, globals) = HelmChartArgs::into_charts(from_node(&node).expect("known fields"));
    assert_eq!(globals, HelmGlobals { chart_home: "c".into(), config_home: "two".into() });
    let first = HelmChart {
        name: "a".into(),
        version: "1.0.0".into(),
        repo: "https://h.com".into(),
        values_file: "v.yaml".into(),
        release_name: "r".into(),
        values_inline: serde_yaml::from_str("x: 1").expect("valid"),
        values_merge: "merge".into(),
        ..HelmChart::default()
    };
    assert_eq!(charts, [first, HelmChart { name: "b".into(), ..HelmChart::default() }]);
}

/// Uses a real helm, given by `SMP_TEST_HELM`.
#[test]
#[ignore = "needs helm, see .ci/tools"]
fn chart_renders_as_in_kustomize() {
    let command = std::env::var("SMP_TEST_HELM");
    let command = command.expect("SMP_TEST_HELM: `eval \"$(.ci/tools helm)\"` installs helm and sets it");
    let fixture = Fixture::new();
    fixture.file(
        "root/charts/demo/values.yaml",
        "# of the chart\nreplicas: 1\nimage: {repository: nginx, tag: \"1.25\"}\nnested: {keep: yes, drop: x}\ngone: 1\n",
    );
    fixture.file(
        "root/charts/demo/templates/all.yaml",
        "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: {{ .Release.Name }}-{{ .Release.Namespace }}\ndata:\n  \
         values: {{ .Values | toJson | quote }}\n  kube: {{ .Capabilities.KubeVersion.Version | quote }}\n---\n# none\n",
    );
    fixture.file(
        "root/charts/demo/templates/tests/test.yaml",
        "kind: Pod\napiVersion: v1\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
    );
    fixture.file(
        "root/charts/demo/crds/crd.yaml",
        "kind: CustomResourceDefinition\nmetadata: {name: foos.example.com}\n",
    );
    let chart = "{name: demo, releaseName: rel, namespace: ns, includeCRDs: true, skipTests: true, \
                 kubeVersion: 1.29.0, valuesInline: {replicas: 3, nested: {drop: null, add: 1.50}, gone: null}}";
    let options = HelmOptions { enabled: true, command, ..HelmOptions::default() };
    let documents = fixture.inflate(chart, options).expect("inflated");
    let mut text = String::new();
    write_documents(&documents, &mut text).expect("printable");
    // The output of `kustomize build --enable-helm` v5.8.3 in the order `fifo`, with helm 3.22 and 4.3.
    let want = r#"kind: CustomResourceDefinition
metadata:
  name: foos.example.com
---
apiVersion: v1
data:
  kube: v1.29.0
  values: '{"gone":1,"image":{"repository":"nginx","tag":"1.25"},"nested":{"add":1.5,"drop":"x","keep":"yes"},"replicas":3}'
kind: ConfigMap
metadata:
  name: rel-ns
"#;
    assert_eq!(text, want);
}
