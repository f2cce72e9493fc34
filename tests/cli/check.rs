//! `check` on the command line: output formats, exit statuses, suppressions, baselines, fixes.

mod baselines;
mod fixes;
#[cfg(feature = "cel")]
mod policies;
mod references;
mod reporting;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: nginx}
";

const UNMATCHED: &str = r#"resources: [pod.yaml]
images:
- name: ngnix
  newTag: "1"
"#;

const MISSPELLED: &str = "\
resources: [pod.yaml]
patches:
- patch: |-
    apiVersion: v1
    kind: Pod
    metadata: {name: web}
    spec:
      containers:
      - name: web
        # kept
        $pacth: delete
";

const UPDATE: &str = "--update-baseline";
