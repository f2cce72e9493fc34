//! An entry of `images` that no image is meant by.

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnmatchedImage,
    name: "Image entry without an image",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Entry,
    why: "An entry of `images` changes the images whose name it has. One that no container has changes nothing: the tag \
          that it pins is not what is deployed. The name is the one in the manifests, with its registry and without tag. \
          An entry of a component or base is only told when it does nothing in all targets that were looked at.",
    bad: &[
        ("kustomization.yaml", "resources: [pod.yaml]\nimages:\n- name: ngnix\n  newTag: \"1.29\"\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n",
        ),
    ],
    good: &[
        ("kustomization.yaml", "resources: [pod.yaml]\nimages:\n- name: nginx\n  newTag: \"1.29\"\n"),
        (
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: web, image: nginx}\n",
        ),
    ],
    finder: Finder::Build,
};
