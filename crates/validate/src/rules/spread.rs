use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "topology-spread",
        meaning: "A topology spread constraint has `minDomains` without `whenUnsatisfiable: DoNotSchedule`.",
        remedy: "Use `whenUnsatisfiable: DoNotSchedule`, or remove `minDomains`.",
    },
    why: "`minDomains` only has an effect with `DoNotSchedule`. With `ScheduleAnyway`, the constraint would be \
          silently weaker than intended.",
    documentation: "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/",
    example: pod!(
        "topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 2
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway"
    ),
    fix: ("ScheduleAnyway", "DoNotSchedule"),
    checks: &[("TopologySpreadConstraint", Check::Type(min_domains))],
    ..ValidationRule::DEFAULT
};

fn min_domains(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.get("minDomains").is_some() && subject.text("whenUnsatisfiable") != Some("DoNotSchedule") {
        violations.report_field(
            subject,
            "minDomains",
            "can only be used if `whenUnsatisfiable` is `DoNotSchedule`",
        );
    }
}
