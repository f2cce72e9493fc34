//! What all rules on refused objects have in common.

use crate::check::rule::{Finder, Rule, RuleExample, RuleGroup, RuleReach, RuleStanding};
use smp_text::diagnostic::Severity;
use smp_validate::ViolationRule;

/// What a base lacks, its overlays may give.
const fn reach(of: ViolationRule) -> RuleReach {
    match of {
        ViolationRule::MissingRequired
        | ViolationRule::AccessModes
        | ViolationRule::EnvSource
        | ViolationRule::Image
        | ViolationRule::IngressBackend
        | ViolationRule::RoleRef
        | ViolationRule::SecretType
        | ViolationRule::SelectorMismatch
        | ViolationRule::ServicePorts
        | ViolationRule::StorageRequest
        | ViolationRule::Subject
        | ViolationRule::VolumeMount
        | ViolationRule::VolumeSource => RuleReach::BuiltUsers,
        _ => RuleReach::Users,
    }
}

/// A rule that finds what violates one of `validate`.
pub(super) const fn rule(of: ViolationRule, severity: Severity, bad: RuleExample, good: RuleExample) -> Rule {
    Rule {
        code: of.diagnostic_code(),
        name: of.doc(),
        group: RuleGroup::WouldBeRefused,
        severity,
        standing: RuleStanding::On,
        reach: reach(of),
        why: "An API server that is asked strictly refuses the object. An object of a base is only told when it would be \
              refused in all targets that were looked at.",
        bad,
        good,
        finder: Finder::Schema,
    }
}
