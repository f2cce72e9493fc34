use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "quantity",
        meaning: "A quantity is negative, or is fractional where only whole numbers are allowed.",
        remedy: "Use a value of at least 0. Use whole numbers for devices and object counts.",
    },
    why: "`500m` is half a CPU, but devices and object counts cannot be divided. The workload or quota is not \
          created.",
    documentation: "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/",
    example: container!("resources: {limits: {memory: -1Gi}}"),
    fix: ("-1Gi", "1Gi"),
    checks: &[
        (
            "CSIStorageCapacity capacity; EmptyDirVolumeSource sizeLimit; Overhead podFixed;
        ResourceQuotaSpec hard; ResourceRequirements limits requests",
            Check::Field(amounts),
        ),
        ("ResourceRequirements", Check::Type(devices)),
        ("ResourceQuotaSpec", Check::Type(counts)),
        ("MetricTarget value averageValue", Check::Field(target)),
    ],
    ..ValidationRule::DEFAULT
};

fn amounts(subject: Subject<'_>, field: &str, violations: &mut RuleViolations) {
    let message = "must be greater than or equal to 0";
    let is_negative = |value: &Node| Quantity::from_node(value).is_some_and(Quantity::is_negative);
    for (key, _) in subject.map(field).filter(|(_, amount)| is_negative(amount)) {
        violations.report_path(subject, &[Field(field), Field(key)], message);
    }
    if subject.get(field).is_some_and(is_negative) {
        violations.report_field(subject, field, message);
    }
}

fn devices(subject: Subject<'_>, violations: &mut RuleViolations) {
    for field in ["limits", "requests"] {
        let is_wrong = |(name, amount): &(&str, &Node)| {
            name.contains('/') && !Quantity::from_node(amount).is_none_or(Quantity::is_whole)
        };
        for (name, _) in subject.map(field).filter(is_wrong) {
            violations.report_path(subject, &[Field(field), Field(name)], "must be an integer");
        }
    }
}

/// The resources whose objects a quota counts, besides `count/...`.
const COUNTED: &str = "configmaps persistentvolumeclaims pods replicationcontrollers resourcequotas secrets services \
                       services.loadbalancers services.nodeports";

fn counts(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (name, amount) in subject.map("hard") {
        let is_count = name.starts_with("count/") || COUNTED.split(' ').any(|counted| counted == name);
        if is_count && !Quantity::from_node(amount).is_none_or(Quantity::is_countable) {
            violations.report_path(subject, &[Field("hard"), Field(name)], "must be an integer");
        }
    }
}

fn target(subject: Subject<'_>, field: &str, violations: &mut RuleViolations) {
    if subject.get(field).and_then(Quantity::from_node).is_some_and(|amount| !amount.is_positive()) {
        violations.report_field(subject, field, "must be greater than 0");
    }
}
