//! `diff` shows exactly what `apply` would change.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::proxy::Proxy;
use super::rig::{Ran, Rig, closed_address, config_maps};
use super::{CRD, DEPLOYMENT, GADGET, documents};

fn map(name: &str, label: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: NAME, labels: {{app: {label}}}}}
"
    )
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn an_unknown_kind_is_an_error_and_others_are_compared() {
    let rig = Rig::new();
    rig.create_namespace();
    let unknown = "\
apiVersion: NAME.example.com/v1
kind: Nothing
metadata: {name: nothing, namespace: NAME}
";
    let text = documents(&[unknown, DEPLOYMENT]);
    let ran = rig.smp_with_stdin(&["diff", "-f", "-"], &text).ended(2);
    assert!(ran.stderr.contains("the server has no kind Nothing"), "{ran:?}");
    assert!(ran.stdout.contains("apps.v1.Deployment"), "{ran:?}");
    assert!(ran.stderr.contains("note: 2 objects: 1 would be created, 1 cannot be compared\n"), "{ran:?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn several_targets_are_compared_and_selected_by_labels() {
    let rig = Rig::new();
    rig.create_namespace();
    for (target, objects) in [("one", [("a", "x"), ("b", "y")]), ("two", [("c", "x"), ("d", "y")])] {
        let files = objects.map(|(name, label)| {
            rig.file(&format!("{target}/{name}.yaml"), &map(name, label));
            format!("{name}.yaml")
        });
        rig.file(&format!("{target}/kustomization.yaml"), &format!("resources: [{}]", files.join(", ")));
    }
    let compare = |more: &[&str]| rig.smp(&[&["diff", "one", "two"], more].concat());
    let ran = compare(&[]).ended(1);
    assert_eq!(ran.stderr, "note: 4 objects: 4 would be created\n");
    let ran = compare(&["-l", "app=x"]).ended(1);
    assert_eq!(ran.stderr, "note: 2 objects: 2 would be created\n");
    let names = ["a", "c"].map(|name| format!("+++ MERGED/v1.ConfigMap.{}.{name}", rig.name));
    let shown: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("+++")).collect();
    assert_eq!(shown, names);
    rig.smp(&["apply", "one", "two", "-l", "app=x"]).ended(0);
    let ran = compare(&[]).ended(1);
    assert_eq!(ran.stderr, "note: 4 objects: 2 would be created, 2 unchanged\n");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn generated_objects_are_compared_with_their_predecessors() {
    let rig = Rig::new();
    rig.create_namespace();
    let generator = |value: &str| {
        let text = format!(
            "\
namespace: NAME
configMapGenerator:
- {{name: settings, literals: [mode={value}, same=1]}}
"
        );
        rig.file("app/kustomization.yaml", &text);
    };
    generator("old");
    rig.smp(&["apply", "app"]).ended(0);
    assert_eq!(rig.smp(&["diff", "app"]).ended(0).stdout, "");
    generator("new");
    let ran = rig.smp(&["diff", "app"]).ended(1);
    assert!(ran.stdout.contains("-  mode: old\n+  mode: new\n   same: "), "{ran:?}");
    assert_eq!(ran.stderr, "note: 1 object: 1 would replace a predecessor\n");
    rig.smp(&["apply", "app"]).ended(0);
    assert_eq!(rig.smp(&["diff", "app"]).ended(0).stdout, "");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn shown_changes_are_those_that_apply_makes() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.kubectl(&["apply", "-f", "web.yaml"]);
    rig.kubectl(&["-n", &rig.name, "label", "deployment/web", "of=others"]);
    rig.file("web.yaml", &DEPLOYMENT.replace("web:1", "web:2").replace("  replicas: 2\n", ""));
    let ran = rig.smp(&["diff", "--force-conflicts", "-f", "web.yaml"]).ended(1);
    let (removed, added): (Vec<_>, Vec<_>) = ran
        .stdout
        .lines()
        .filter(|line| {
            (line.starts_with('-') || line.starts_with('+'))
                && !line.starts_with("---")
                && !line.starts_with("+++")
        })
        .partition(|line| line.starts_with('-'));
    let before = rig.kubectl(&["-n", &rig.name, "get", "deployment/web", "-o", "yaml"]);
    rig.smp(&["apply", "--force-conflicts", "-f", "web.yaml"]).ended(0);
    let after = rig.kubectl(&["-n", &rig.name, "get", "deployment/web", "-o", "yaml"]);
    assert!(!removed.is_empty() && !added.is_empty(), "{ran:?}");
    for line in &removed {
        let text = line[1..].trim();
        assert!(
            before.contains(text) && before.matches(text).count() > after.matches(text).count(),
            "{text}\n{after}"
        );
    }
    for line in &added {
        let text = line[1..].trim();
        assert!(after.matches(text).count() > before.matches(text).count(), "{text}\n{after}");
    }
    assert_eq!(rig.smp(&["diff", "-f", "web.yaml"]).ended(0).stdout, "");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn diff_exit_status_reports_changes() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["diff", "-f", "web.yaml"]).ended(1);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    rig.smp(&["diff", "-f", "web.yaml"]).ended(0);
    for args in [
        &["diff", "-f", "nothing.yaml"][..],
        &["diff", "-f", "web.yaml", "--context", "nowhere"],
        &["diff", "-f", "web.yaml", "--token", "wrong"],
        &["diff", "-f", "web.yaml", "--no-such-flag"],
        &["diff", "-f", "web.yaml", "--server", &closed_address()],
        &["diff"],
    ] {
        let ran = rig.smp(args).ended(2);
        assert!(ran.stdout.is_empty() && ran.stderr.starts_with("error"), "{ran:?}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn diff_masks_secret_values() {
    let rig = Rig::new();
    let secret = |value: &str| {
        let text = "\
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: NAME}
stringData: {a: VALUE, b: same}
";
        rig.file("secret.yaml", &text.replace("VALUE", value));
    };
    secret("first");
    let diff = rig.smp(&["diff", "-f", "secret.yaml"]).ended(2);
    assert!(diff.stderr.contains(&format!("namespaces \"{}\" not found", rig.name)), "{}", diff.stderr);
    rig.create_namespace();
    let diff = rig.smp(&["diff", "-f", "secret.yaml"]).ended(1);
    assert!(diff.stdout.contains("+  a: '***'\n") && !diff.stdout.contains("first"), "{}", diff.stdout);
    rig.smp(&["apply", "-f", "secret.yaml"]).ended(0);
    secret("second");
    let diff = rig.smp(&["diff", "-f", "secret.yaml"]).ended(1);
    assert!(
        diff.stdout.contains(
            "\
-  a: '*** (before)'
+  a: '*** (after)'
   b: '***'
"
        ),
        "{}",
        diff.stdout
    );
    let shown = rig.smp(&["diff", "--show-secrets", "-f", "secret.yaml"]).ended(1);
    assert!(shown.stdout.contains("+  a: c2Vjb25k\n"), "{}", shown.stdout);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn an_external_program_shows_the_differences() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.smp(&["apply", "-f", "web.yaml"]).ended(0);
    let run = |program: &str| {
        let output = rig.command(&["diff", "-f", "web.yaml"]).env("KUBECTL_EXTERNAL_DIFF", program).output();
        let output = output.expect("the program");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    assert_eq!(run("diff -r -u"), (Some(0), String::new()));
    rig.file("web.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    let (status, stdout) = run("diff -r -u");
    assert_eq!(status, Some(1));
    let file = format!("/apps.v1.Deployment.{}.web", rig.name);
    let headers = stdout.lines().filter(|line| line.contains(&file) && line.contains('-')).count();
    assert!(headers >= 3 && stdout.contains("/LIVE-") && stdout.contains("/MERGED-"), "{stdout}");
    assert!(stdout.contains("-  replicas: 2\n+  replicas: 3\n"), "{stdout}");
    assert_eq!(run("no-such-program").0, Some(2));
    assert_eq!(run("diff --no-such-flag").0, Some(2));
}

/// A policy without a binding yet, which matches updates of service accounts: updates of config maps also occur in
/// other tests.
const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [UPDATE], resources: [serviceaccounts]}]
  validations: [{expression: 'true'}]
";

/// Twenty applied objects of one kind, and the requests of a comparison.
struct AppliedObjects {
    rig: Rig,
    proxy: Proxy,
    text: String,
    /// The plural resource name.
    plural: &'static str,
}

impl AppliedObjects {
    fn new(text: String, plural: &'static str) -> Self {
        let rig = Rig::new();
        rig.create_namespace();
        rig.file("all.yaml", &text);
        rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
        let proxy = Proxy::witness(&rig);
        Self { rig, proxy, text, plural }
    }

    fn maps() -> Self {
        Self::new(config_maps(20), "configmaps")
    }

    /// The output of `diff`, the number of objects that are fetched singly, and the number that are sent.
    fn diff(&self, more: &[&str], status: i32) -> (Ran, usize, usize) {
        self.run(&[&["diff"], more].concat(), status)
    }

    /// Same as [`AppliedObjects::diff`] for a command with flags.
    fn run(&self, command: &[&str], status: i32) -> (Ran, usize, usize) {
        self.proxy.take();
        let url = self.proxy.url();
        let ran = self.rig.smp(&[command, &["-f", "all.yaml", "--server", &url]].concat()).ended(status);
        let asked = self.proxy.take();
        let one = format!("/{}/c", self.plural);
        let of_objects = |method: &str| {
            asked.iter().filter(|asked| asked.starts_with(method) && asked.contains(&one)).count()
        };
        (ran, of_objects("GET"), of_objects("PATCH"))
    }

    fn patch_by_kubectl(&self, name: &str, patch: &str) {
        self.rig.kubectl(&["-n", &self.rig.name, "patch", "configmap", name, "--type=merge", "-p", patch]);
    }
}

/// `diff` fails exactly where `apply` fails by a conflict.
#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn conflicts_of_diff_are_those_of_apply() {
    let rig = Rig::new();
    rig.create_namespace();
    let map = |value: &str| config_maps(1).replace("i: '0'", &format!("i: '{value}'"));
    let create = |kubectl: &[&str], value: &str| {
        rig.file("theirs.yaml", &map(value));
        rig.kubectl(&[kubectl, &["-f", "theirs.yaml"]].concat());
    };
    let other = ["apply", "--server-side", "--field-manager=other"];
    // The way in which the live object was written, its value, the flags, and whether applying `1` fails.
    let table: [(&[&str], &str, &[&str], bool); 8] = [
        (&["create"], "1", &[], false),
        (&["create"], "2", &[], true),
        // The annotation of the client-side apply is removed.
        (&["apply"], "1", &[], false),
        (&["apply"], "2", &[], false),
        (&other, "1", &[], false),
        (&other, "2", &[], true),
        (&other, "2", &["--field-manager=other"], false),
        (&other, "2", &["--force-conflicts"], false),
    ];
    for (kubectl, value, flags, fails) in table {
        create(kubectl, value);
        rig.file("map.yaml", &map("1"));
        let diff = rig.smp(&[&["diff", "-f", "map.yaml"], flags].concat());
        let is_changed = value == "2" || kubectl == ["apply"];
        assert_eq!(
            diff.status,
            if fails { 2 } else { i32::from(is_changed) },
            "{kubectl:?} {value}: {diff:?}"
        );
        assert_eq!(!diff.stdout.is_empty(), is_changed, "{diff:?}");
        assert_eq!(diff.stderr.contains("error[conflict]"), fails, "{diff:?}");
        rig.smp(&[&["apply", "-f", "map.yaml"], flags].concat()).ended(i32::from(fails));
        rig.kubectl(&["-n", &rig.name, "delete", "configmap/c0"]);
    }
}

/// A CRD whose schema has the given properties.
fn definition(properties: &str) -> String {
    format!(
        "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.NAME.example.com}}
spec:
  group: NAME.example.com
  scope: Namespaced
  names: {{plural: gadgets, singular: gadget, kind: Gadget}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {{spec: {{type: object, properties: {{{properties}}}}}}}
"
    )
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn custom_resources_of_a_changing_definition_are_compared_locally() {
    let rig = Rig::new();
    rig.create_namespace();
    let gadget = |spec: &str| {
        format!(
            "\
---
apiVersion: NAME.example.com/v1
kind: Gadget
metadata: {{name: g, namespace: NAME}}
spec: {spec}
"
        )
    };
    let size = "size: {type: integer}, old: {type: string}";
    rig.file("all.yaml", &(definition(size) + &gadget("{size: 1, old: x}")));
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    rig.file("all.yaml", &(definition(size) + &gadget("{size: 1, color: red}")));
    let ran = rig.smp(&["diff", "-f", "all.yaml"]).ended(2);
    assert!(ran.stderr.contains("color") && !ran.stderr.contains("compared locally"), "{ran:?}");
    rig.smp(&["apply", "--dry-run=server", "-f", "all.yaml"]).ended(1);

    let wider = definition(&format!("{size}, color: {{type: string}}"));
    rig.file("all.yaml", &(wider.clone() + &gadget("{size: 1, color: red}")));
    let ran = rig.smp(&["diff", "-f", "all.yaml"]).ended(1);
    assert!(ran.stdout.contains("\n-  old: x\n+  color: red\n   size: 1\n"), "{ran:?}");
    let note = format!("gadget.{}.example.com/g is compared locally, because its", rig.name);
    assert!(ran.stderr.contains(&note) && ran.stderr.contains("2 would change"), "{ran:?}");
    let dry = rig.smp(&["apply", "--dry-run=server", "-f", "all.yaml"]).ended(0);
    let note = "g was not validated by the server: its CustomResourceDefinition changes in the same run";
    assert!(dry.stderr.contains(note) && dry.stdout.contains("/g configured (server dry run)"), "{dry:?}");
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    super::eventually("the objects are as applied", || rig.smp(&["diff", "-f", "all.yaml"]).status == 0);
}

const UNCHANGED: &str = "note: 20 objects: 20 unchanged\n";

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn unchanged_objects_are_not_sent() {
    let applied = AppliedObjects::maps();
    let (ran, gets, patches) = applied.diff(&[], 0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), gets, patches), ("", UNCHANGED, 0, 0));
    assert_eq!(applied.diff(&["--show-managed-fields"], 0).2, 20, "it would show another time");
    assert_eq!(applied.diff(&["--field-manager=another"], 0).2, 20, "it would own what it does not");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn differences_are_shown_by_field() {
    let rig = Rig::new();
    rig.create_namespace();
    let name = rig.name.clone();
    let secret =
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: NAME}\nstringData: {key: VALUE}\n";
    rig.file("all.yaml", &[DEPLOYMENT, &secret.replace("VALUE", "former")].concat());
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);
    let new = [&DEPLOYMENT.replace("web:1", "web:2"), &*secret.replace("VALUE", "latter"), &config_maps(1)]
        .concat();
    rig.file("all.yaml", &new);
    let diff = |format: &str| rig.smp(&["diff", "-f", "all.yaml", "-o", format]).ended(1).stdout;
    let image = "spec.template.spec.containers[name=web].image";
    assert_eq!(
        diff("paths"),
        format!(
            "deployment.apps/web in {name}: {image}\nconfigmap/c0 in {name}: created\nsecret/s in {name}: data.key\n"
        )
    );
    let fields = diff("fields");
    let changed = "    - example.com/web:1\n    + example.com/web:2\n";
    assert!(
        fields.starts_with(&format!("deployment.apps/web in {name} changed\n  {image}\n{changed}")),
        "{fields}"
    );
    assert!(
        fields.contains(&format!("configmap/c0 in {name} created\n  + apiVersion: v1\n  + data:\n")),
        "{fields}"
    );
    let json: serde_json::Value = serde_json::from_str(&diff("json")).expect("JSON");
    let field = serde_json::json!({"path": image, "old": "example.com/web:1", "new": "example.com/web:2"});
    assert_eq!(json["objects"][0]["fields"], serde_json::json!([field]));
    let changes: Vec<_> = (0..3).map(|i| json["objects"][i]["change"].as_str().expect("a change")).collect();
    assert_eq!(
        (changes, &json["conflicts"]),
        (vec!["changed", "created", "changed"], &serde_json::json!([]))
    );
    for secret in ["former", "latter", "Zm9ybWVy", "bGF0dGVy"] {
        assert!(![&fields, &json.to_string()].iter().any(|text| text.contains(secret)), "{secret}: {fields}");
    }
    // Conflicts name the owner.
    rig.kubectl(&["-n", &name, "set", "image", "deployment/web", "web=example.com/web:3"]);
    let ran = rig.smp(&["diff", "-f", "all.yaml", "-o", "json"]).ended(2);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["conflicts"][0]["name"], "web");
    assert_eq!(json["conflicts"][0]["fields"][0]["manager"], "kubectl-set");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn apply_sends_only_what_may_change() {
    let applied = AppliedObjects::maps();
    for more in [&[][..], &["--dry-run=server"]] {
        let (ran, gets, patches) = applied.run(&[&["apply"], more].concat(), 0);
        assert_eq!((gets, patches), (0, 0), "{ran:?}");
        assert_eq!(ran.stdout.matches(" unchanged").count(), 20, "{ran:?}");
    }
    let (ran, gets, _) = applied.run(&["apply", "-o", "yaml"], 0);
    assert_eq!((ran.stdout.matches("uid:").count(), gets), (20, 0), "{ran:?}");
    applied.patch_by_kubectl("c3", r#"{"data":{"i":"x"}}"#);
    applied.patch_by_kubectl("c4", r#"{"data":{"other":"x"}}"#);
    let wanted = applied.text.replace("data: {i: '7'}", "data: {i: seven}").replace("data: {i: '9'}\n", "\n");
    applied.rig.file("all.yaml", &wanted);
    // Dry runs list what is taken before anything is sent: three, and one more with force for the conflict.
    let (ran, gets, patches) = applied.run(&["apply", "--force-conflicts"], 0);
    assert_eq!((ran.stdout.matches(" configured").count(), gets, patches), (3, 0, 7), "{ran:?}");
    assert_eq!(applied.run(&["apply"], 0).2, 0, "c9 has no applied field");
    // All but c9, of which no manager owns anything.
    assert_eq!(applied.run(&["apply", "--field-manager=another"], 0).2, 19, "it would own what it does not");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn unchanged_apply_of_2000_objects_sends_at_most_60_requests() {
    let applied = AppliedObjects::new(config_maps(2000), "configmaps");
    applied.proxy.take();
    let url = applied.proxy.url();
    let ran = applied.rig.smp(&["apply", "-f", "all.yaml", "--server", &url]).ended(0);
    let requests = applied.proxy.take();
    assert_eq!(ran.stdout.matches(" unchanged").count(), 2000);
    assert!(requests.len() <= 60, "{requests:#?}");
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn first_apply_sends_few_requests() {
    let rig = Rig::new();
    rig.create_namespace();
    let kinds = (0..10).fold(config_maps(40), |text, i| {
        let definition =
            CRD.replace("gadget", &format!("gadget{i}")).replace("Gadget", &format!("Gadget{i}"));
        let gadget = GADGET.replace("Gadget", &format!("Gadget{i}"));
        documents(&[&text, &definition, &gadget, &DEPLOYMENT.replace("name: web", &format!("name: web{i}"))])
    });
    rig.file("all.yaml", &kinds);
    let proxy = Proxy::witness(&rig);
    let ran = rig.smp(&["apply", "-f", "all.yaml", "--server", &proxy.url()]).ended(0);
    let requests = proxy.take();
    assert_eq!(ran.stdout.lines().count(), 70, "{ran:?}");
    assert!(requests.len() <= 70 * 6 / 5 + 30, "{} requests: {requests:#?}", requests.len());
    for i in 0..10 {
        rig.kubectl(&["delete", "crd", &format!("gadget{i}s.{}.example.com", rig.name), "--wait=false"]);
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_that_may_change_are_sent() {
    let applied = AppliedObjects::maps();
    // Values that others changed, that others added, that the manifest changed, and that the manifest removed.
    applied.patch_by_kubectl("c3", r#"{"data":{"i":"x"}}"#);
    applied.patch_by_kubectl("c4", r#"{"data":{"other":"x"}}"#);
    let wanted = applied.text.replace("data: {i: '7'}", "data: {i: seven}").replace("data: {i: '9'}\n", "\n");
    applied.rig.file("all.yaml", &wanted);
    let (ran, gets, patches) = applied.diff(&[], 2);
    let shown: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("+++")).collect();
    let names = ["c3", "c7", "c9"].map(|name| format!("+++ MERGED/v1.ConfigMap.{}.{name}", applied.rig.name));
    assert_eq!(
        (shown, gets, patches),
        (names.iter().map(String::as_str).collect(), 0, 4),
        "c3 is a conflict"
    );
    assert!(
        ran.stderr.contains("data.i: owned by")
            && ran.stderr.contains("3 would change, 17 unchanged, 1 in conflict"),
        "{ran:?}"
    );
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn objects_subject_to_admission_are_sent() {
    let accounts = config_maps(20).replace("ConfigMap", "ServiceAccount");
    let accounts = (0..20).fold(accounts, |text, i| {
        text.replace(
            &format!("data: {{i: '{i}'}}\n"),
            &format!("automountServiceAccountToken: {}\n", i % 2 == 0),
        )
    });
    let applied = AppliedObjects::new(accounts, "serviceaccounts");
    assert_eq!(applied.diff(&[], 0).2, 0);
    let ran = applied.rig.smp(&["diff", "-f", "all.yaml", "--context", "viewer"]).ended(2);
    assert!(ran.stderr.contains("cannot patch resource"), "{ran:?}");
    applied.rig.file("policy.yaml", POLICY);
    applied.rig.kubectl(&["apply", "-f", "policy.yaml"]);
    let (ran, gets, patches) = applied.diff(&[], 0);
    applied.rig.kubectl(&["delete", "-f", "policy.yaml"]);
    assert_eq!((ran.stderr.as_str(), gets, patches), (UNCHANGED, 0, 20));
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn blame_names_the_managers_of_fields() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("web.yaml", DEPLOYMENT);
    rig.file("kustomization.yaml", "resources: [web.yaml]");
    rig.smp(&["apply", "."]).ended(0);
    let fields = |more: &[&str]| -> serde_json::Value {
        let ran = rig.smp(&[&["blame", ".", "-o", "json", "--live"], more].concat()).ended(0);
        serde_json::from_str::<serde_json::Value>(&ran.stdout).expect("JSON")[0].clone()
    };
    let object = fields(&[]);
    assert_eq!((&object["live"], &object["liveOnly"]), (&true.into(), &serde_json::json!([])));
    for field in object["fields"].as_array().expect("fields") {
        assert_eq!(field["live"]["differs"], false, "{field}");
    }
    let name = object["name"].as_str().expect("a name").to_string();
    rig.kubectl(&["-n", &rig.name, "scale", "deployment", &name, "--replicas=7"]);
    rig.kubectl(&["-n", &rig.name, "label", "deployment", &name, "extra=x"]);
    let object = fields(&[]);
    let all = object["fields"].as_array().expect("fields");
    let replicas = all.iter().find(|field| field["pointer"] == "/spec/replicas").expect("replicas");
    assert_eq!((&replicas["live"]["value"], &replicas["live"]["differs"]), (&7.into(), &true.into()));
    assert_eq!(replicas["live"]["managers"][0], "kubectl", "{replicas}");
    let unbuilt = serde_json::json!([{"pointer": "/metadata/labels/extra", "value": "x", "managers": ["kubectl-label"]}]);
    assert_eq!(object["liveOnly"], unbuilt);
    rig.kubectl(&["-n", &rig.name, "delete", "deployment", &name]);
    assert_eq!(fields(&[])["live"], false);
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[cfg(feature = "preview")]
fn preview_counts_the_changes_of_an_apply() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("one/map.yaml", &map("a", "x"));
    rig.file("one/kustomization.yaml", "resources: [map.yaml]");
    let mut command = rig.command(&["preview", "one", "--json", "--against-cluster"]);
    let mut preview = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(preview.stdout.take().expect("piped")).lines();
    let mut changes = || {
        let line = lines.next().expect("an event").expect("text");
        let event: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        event["targets"][0]["changes"].clone()
    };
    assert_eq!(changes(), 1, "the object would be created");
    rig.smp(&["apply", "one"]).ended(0);
    rig.file("one/map.yaml", &map("a", "y"));
    assert_eq!(changes(), 1, "the label would change");
    rig.file("one/map.yaml", &map("a", "x"));
    assert_eq!(changes(), 0);
    preview.kill().expect("runs");
    preview.wait().expect("ended");
}
