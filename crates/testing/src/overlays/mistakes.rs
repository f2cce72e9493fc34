//! What is wrong on purpose.

use super::layer::Draft;
use super::{Forest, line};

/// Lines that make a kustomization wrong; they may repeat a field, of which the last one counts.
const MISTAKES: [&str; 16] = [
    "resources: [missing.yaml]",
    "resources: [../top-of-nothing]",
    "unknownField: 1",
    "namePrefix: [a]",
    "patches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: nobody}",
    "patches:\n- target: {kind: Service}\n  patch: |-\n    - {op: remove, path: /spec/nothing/here}\n- target: {kind: \"Deployment|Pod|Job|CronJob|DaemonSet|StatefulSet\"}\n  patch: |-\n    - {op: replace, path: /spec/none, value: 1}",
    "patches:\n- target: {kind: \"[\"}\n  patch: \"[{op: add, path: /a, value: b}]\"",
    "patches:\n- patch: \"- not: [closed\"",
    "configMapGenerator:\n- name: nobody\n  behavior: merge\n  literals: [a=b]",
    "configMapGenerator:\n- name: twice\n  literals: [a=b, a=c]",
    "configMapGenerator:\n- name: files\n  files: [missing.txt]",
    "replacements:\n- source: {kind: Nothing, name: none}\n  targets:\n  - select: {kind: Service}\n    fieldPaths: [metadata.annotations.x]",
    "replacements:\n- sourceValue: x\n  targets:\n  - select: {name: \".*\"}\n    fieldPaths: [spec.not.there]",
    "replicas:\n- {name: nobody, count: 2}",
    "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: empty}",
    "components: [../missing]",
];

impl Forest {
    pub fn mistake(&mut self, draft: &mut Draft) {
        let mistake = self.dice.pick(&MISTAKES);
        line!(draft.text, "{mistake}");
    }
}
