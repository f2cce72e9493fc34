//! The commands of this program.

use super::rig::{PROGRAM, Rig};

const KUSTOMIZATION: &str = "\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [all.yaml]
";

const ALL: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
";

#[test]
fn apply_waits_and_prunes() {
    let rig = Rig::new(&["--controllers", "*"]);
    rig.file("shop/kustomization.yaml", KUSTOMIZATION);
    let path = rig.file("shop/all.yaml", ALL);
    let apply = || {
        let arguments =
            ["apply", "shop", "--wait", "--timeout", "20s", "--prune", "--applyset", "shop", "-n", "default"];
        rig.try_run(PROGRAM, &arguments, "")
    };
    let first = apply();
    assert_eq!(first.status, 0, "{first:?}");
    let rest = ALL.split("---\n").take(1).collect::<Vec<_>>().join("---\n");
    std::fs::write(path, rest).expect("written");
    let second = apply();
    assert_eq!(second.status, 0, "{second:?}");
    assert!(format!("{}{}", second.stdout, second.stderr).contains("settings"), "{second:?}");
    let diff = rig.try_run(PROGRAM, &["diff", "shop", "--applyset", "shop", "-n", "default"], "");
    assert_eq!((diff.status, diff.stdout.as_str()), (0, ""), "{diff:?}");
}
