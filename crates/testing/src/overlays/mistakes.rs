//! Deliberate mistakes.

use super::layer::Draft;
use super::{OverlayGenerator, line};

/// Lines that make a kustomization invalid. They may repeat a field; the last one is used.
const MISTAKES: [&str; 16] = [
    "resources: [missing.yaml]",
    "resources: [../top-of-nothing]",
    "unknownField: 1",
    "namePrefix: [a]",
    "\
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: nobody}",
    r#"patches:
- target: {kind: Service}
  patch: |-
    - {op: remove, path: /spec/nothing/here}
- target: {kind: "Deployment|Pod|Job|CronJob|DaemonSet|StatefulSet"}
  patch: |-
    - {op: replace, path: /spec/none, value: 1}"#,
    r#"patches:
- target: {kind: "["}
  patch: "[{op: add, path: /a, value: b}]""#,
    "patches:\n- patch: \"- not: [closed\"",
    "\
configMapGenerator:
- name: nobody
  behavior: merge
  literals: [a=b]",
    "\
configMapGenerator:
- name: twice
  literals: [a=b, a=c]",
    "\
configMapGenerator:
- name: files
  files: [missing.txt]",
    "\
replacements:
- source: {kind: Nothing, name: none}
  targets:
  - select: {kind: Service}
    fieldPaths: [metadata.annotations.x]",
    r#"replacements:
- sourceValue: x
  targets:
  - select: {name: ".*"}
    fieldPaths: [spec.not.there]"#,
    "replicas:\n- {name: nobody, count: 2}",
    "\
transformers:
- |-
  apiVersion: builtin
  kind: PatchTransformer
  metadata: {name: empty}",
    "components: [../missing]",
];

impl OverlayGenerator {
    pub fn mistake(&mut self, draft: &mut Draft) {
        let mistake = self.dice.pick(&MISTAKES);
        line!(draft.text, "{mistake}");
    }
}
