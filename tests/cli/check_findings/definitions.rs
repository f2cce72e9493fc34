//! Findings that need CustomResourceDefinitions.

use super::findings_of;

#[test]
fn kinds_and_versions_missing_from_definitions_are_reported() {
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  names: {kind: Foobar, plural: foobars}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"
        .replace("foos.example", "foobars.example");
    let reported = |version: &str, kind: &str| {
        let object = format!(
            "\
{definition}---
apiVersion: {version}
kind: {kind}
metadata: {{name: a}}
"
        );
        findings_of(&object)
    };
    assert_eq!(reported("example.com/v1", "Foobar"), [""; 0]);
    let want = "unknown-kind: the CRD does not serve version";
    assert_eq!(reported("example.com/v2", "Foobar"), [format!("{want} v2 of Foobar")]);
    assert_eq!(reported("example.com/v1beta1", "Foobar"), [format!("{want} v1beta1 of Foobar")]);
    let want = "unknown-kind: no CRD of the build defines kind Fobar in group example.com";
    assert_eq!(reported("example.com/v1", "Fobar"), [want]);
    // Other kinds may be defined elsewhere.
    assert_eq!(reported("example.com/v1", "Other"), [""; 0]);
}

#[cfg(feature = "cel")]
#[test]
fn message_expressions_of_validation_rules_are_evaluated() {
    let definition = |message: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: foos.example.com}}
spec:
  group: example.com
  names: {{kind: Foo, plural: foos}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {{a: {{type: integer}}, b: {{type: string}}}}
            x-kubernetes-validations:
            - rule: self.a < 3
              message: too many
              messageExpression: {message}
---
apiVersion: example.com/v1
kind: Foo
metadata: {{name: x}}
spec: {{a: 7}}
"
        )
    };
    let made = "'\"a is \" + string(self.a) + \", and 2 at most\"'";
    assert_eq!(findings_of(&definition(made)), ["cel: a is 7, and 2 at most"]);
    assert_eq!(findings_of(&definition("self.b")), ["cel: too many"]);
    assert_eq!(findings_of(&definition("'\"\"'")), ["cel: too many"]);
}

#[test]
fn placeholders_are_not_validated() {
    for namespace in ["\"${NAMESPACE}\"", "'{{ .Release.Namespace }}'"] {
        let map = format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: web, namespace: {namespace}}}
data: {{a: b}}
"
        );
        assert_eq!(findings_of(&map), [""; 0], "{namespace}");
    }
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: A_b}
data: {a: b}
";
    assert_eq!(findings_of(map).len(), 1);
}

#[test]
fn lists_and_maps_are_not_placeholders() {
    let pod = |field: &str| {
        let head = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
";
        findings_of(&format!("{head}    {field}\n"))
    };
    let of_list = "wrong-type: the entry of `args` must be a string, but is a list";
    assert_eq!(pod("args:\n    - - $(REDIRECT_URI)"), [of_list]);
    assert_eq!(pod("args: [[\"${A}\"]]"), [of_list]);
    let of_map = "missing-required: missing required field `containerPort`";
    assert_eq!(pod("ports:\n    - hostPort: ${PORT}"), [of_map], "the map is not the place");
    assert_eq!(pod("ports:\n    - containerPort: ${PORT}"), [""; 0]);
}

#[cfg(feature = "cel")]
#[test]
fn unsupported_pattern_is_noted_once() {
    let of_pattern = |pattern: &str| {
        findings_of(&format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: foos.example.com}}
spec:
  group: example.com
  names: {{kind: Foo, plural: foos}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {{a: {{type: string, pattern: '{pattern}'}}}}
---
apiVersion: example.com/v1
kind: Foo
metadata: {{name: x}}
spec: {{a: b}}
---
apiVersion: example.com/v1
kind: Foo
metadata: {{name: y}}
spec: {{a: c}}
"
        ))
    };
    assert_eq!(of_pattern("^[a-z]$"), [""; 0]);
    let large = of_pattern("^[\\p{L}\\p{N} ]{1,1000}$");
    assert!(
        large.len() == 1 && large[0].ends_with("was not checked: the expression is too large"),
        "{large:?}"
    );
    let ahead = of_pattern("^(?!x)");
    assert!(ahead.iter().any(|reported| reported.starts_with("crd-schema: ")), "{ahead:?}");
}
