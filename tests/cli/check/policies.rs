//! Admission policies.

use std::fs;

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir};

const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few.example.com}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [deployments]
  validations:
  - expression: object.spec.replicas <= 5
    message: at most five
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few.example.com}
spec:
  policyName: few.example.com
  validationActions: [Deny]
";

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 9
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[test]
fn policy_with_a_syntax_error_is_an_error_located_in_the_policy() {
    let wrong = POLICY.replace("object.spec.replicas <= 5", "object.spec.replicas <=");
    let home = temp_dir(&[
        ("app/kustomization.yaml", "resources: [web.yaml]"),
        ("app/web.yaml", DEPLOYMENT),
        ("both/kustomization.yaml", "resources: [../app, policy.yaml]"),
        ("both/policy.yaml", &wrong),
        ("policies/policy.yaml", &wrong),
    ]);
    let output = run(home.path(), &["check", "app", "--policies", "policies"]);
    let diagnostics = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    error[cel]: `expression` must be a valid CEL expression
      --> policies/policy.yaml:13:17
       |
    13 |   - expression: object.spec.replicas <=
       |                 ^^^^^^^^^^^^^^^^^^^^^^^
       |
       = field: spec.validations[0].expression
       = note: an API server rejects the policy few.example.com
    ");
    let output = run(home.path(), &["check", "both", "-o", "short"]);
    let diagnostics = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    app/web.yaml:1:1: warning[cel]: ValidatingAdmissionPolicy few.example.com was not checked: its expression is not valid CEL
    both/policy.yaml:13:17: error[cel]: `expression` must be a valid CEL expression
    ");
    assert!(!diagnostics.contains("expecting"), "{diagnostics}");
}

#[test]
fn built_and_named_policies_are_evaluated() {
    let home = temp_dir(&[
        ("app/kustomization.yaml", "resources: [web.yaml]"),
        ("app/web.yaml", DEPLOYMENT),
        ("both/kustomization.yaml", "resources: [../app, policy.yaml]"),
        ("both/policy.yaml", POLICY),
        ("policies/policy.yaml", POLICY),
        ("empty/README", ""),
        ("other/web.yaml", DEPLOYMENT),
    ]);
    let home = home.path();
    assert_eq!(check_findings(home, &["app"]).0, [""; 0]);
    let (reported, status) = check_findings(home, &["app", "--policies", "policies"]);
    assert_eq!((reported.len(), status), (1, Some(1)), "{reported:?}");
    insta::assert_snapshot!(reported[0], @"cel app/web.yaml:1");
    assert_eq!(check_findings(home, &["both"]).0, reported);
    assert_eq!(run(home, &["check", "app", "--policies", "empty"]).status.code(), Some(2));
    assert_eq!(run(home, &["check", "app", "--policies", "other"]).status.code(), Some(2), "no policy");
    // A denied object is an error; a policy that cannot be evaluated fails only with `--strict`.
    for (expression, policy, statuses) in [
        ("object.metadata.labels.owner == 'a'", "Fail", [1, 1]),
        ("object.metadata.labels.owner == 'a'", "Ignore", [0, 0]),
        ("int(object.metadata.name) > 3", "Fail", [1, 1]),
        ("request.userInfo.username == 'a'", "Fail", [0, 1]),
        ("[object.metadata.name].map(a, LONG) == []", "Fail", [0, 1]),
        ("Foo{a: 1}.a == 1", "Fail", [0, 1]),
        ("DEEP == 1", "Fail", [0, 1]),
    ] {
        let long = format!("[{}].size()", vec!["object.spec"; 900].join(", "));
        let long = format!("{long} + {digits}.map(b, {digits}.map(c, {long})).size()", digits = "[1, 2, 3]");
        let deep = format!("object{}", ".a".repeat(5000));
        let expression = expression.replace("LONG", &long).replace("DEEP", &deep);
        let text = POLICY
            .replace("object.spec.replicas <= 5", &format!("\"{expression}\""))
            .replace("failurePolicy: Fail", &format!("failurePolicy: {policy}"));
        fs::write(home.join("policies/policy.yaml"), text).expect("written");
        let args = ["check", "app", "--policies", "policies"];
        let plain = run(home, &args).status.code();
        let strict = run(home, &[&args[..], &["--strict"]].concat()).status.code();
        assert_eq!([plain, strict], statuses.map(Some), "{}", &expression[..30.min(expression.len())]);
    }
}
