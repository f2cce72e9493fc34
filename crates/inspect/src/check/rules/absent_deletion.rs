//! A deletion of what is not there.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::AbsentDeletion,
    name: "Deletion of what is not there",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Users,
    why: "A strategic merge patch that sets a field to null, or deletes an entry of a list by `$patch: delete`, where there \
          is no such field or entry: often the name is misspelled, and what was to go stays.",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \
             web}\n    data: {debg: null, mode: prod}\n",
        ),
        (
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {debug: \"1\", mode: dev}\n",
        ),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \
             web}\n    data: {debug: null, mode: prod}\n",
        ),
        (
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {debug: \"1\", mode: dev}\n",
        ),
    ],
    finder: Finder::Build,
};
