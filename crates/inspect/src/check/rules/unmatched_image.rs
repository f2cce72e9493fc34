//! Rule: an entry of `images` matches no image.

use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use smp_text::diagnostic::{Code, Severity};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::UnmatchedImage,
    title: "Image entry matches no image",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Entry,
    why: "The tag or digest in the entry is not deployed, because no container uses an image with that name. `name` \
          must equal the image name in the manifests, including the registry and without the tag. An entry of a \
          base or component is reported only if it matches nothing in any checked target.",
    suppress: Some(
        "A tool such as an image updater maintains the list, and some of its images are not deployed by every \
               target.",
    ),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/",
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
