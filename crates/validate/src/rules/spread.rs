use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "spread",
        meaning: "A topology spread constraint has `minDomains` without `whenUnsatisfiable: DoNotSchedule`.",
        remedy: "Use `whenUnsatisfiable: DoNotSchedule`, or remove `minDomains`.",
    },
    why: "`minDomains` changes only when Pods are not scheduled.",
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

fn min_domains(of: Subject<'_>, faults: &mut Faults) {
    if of.get("minDomains").is_some() && of.text("whenUnsatisfiable") != Some("DoNotSchedule") {
        faults.field(of, "minDomains", "`minDomains` needs `whenUnsatisfiable: DoNotSchedule`");
    }
}
