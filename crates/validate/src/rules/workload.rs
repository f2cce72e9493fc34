//! Deployments and their like, jobs and their schedules.

use super::super::labels::holds;
use super::super::names::is_dns_label;
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject};
use smp_text::yaml::{Map, Node};

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("DeploymentSpec", selector),
    ("ReplicaSetSpec", selector),
    ("DaemonSetSpec", selector),
    ("StatefulSetSpec", selector),
    ("StatefulSetSpec", claims),
    ("ReplicationControllerSpec", plain_selector),
    ("DeploymentStrategy", strategy),
    ("DaemonSetUpdateStrategy", update_strategy),
    ("StatefulSetUpdateStrategy", update_strategy),
    ("DeploymentSpec", deadline),
    ("RollingUpdateDeployment", rolling),
    ("RollingUpdateDaemonSet", rolling),
    ("JobSpec", job),
    ("CronJobSpec", cron),
    ("PodTemplate", pod_template),
];

fn labels(of: Subject<'_>) -> Option<&Map> {
    of.get("template")?.get("metadata")?.get("labels")?.as_map()
}

fn has_label(labels: Option<&Map>, key: &str, value: &Node) -> bool {
    labels.and_then(|labels| labels.get(key)).is_some_and(|own| own == value)
}

fn mismatch(of: Subject<'_>, at: &[Below<'_>], key: &str, span: smp_text::source::Span, faults: &mut Faults) {
    if of.get("template").is_some() {
        let message = format!("the labels of the template do not match the selector at `{key}`");
        faults.below(ViolationRule::SelectorMismatch, at, span, message);
    }
}

fn selector(of: Subject<'_>, faults: &mut Faults) {
    let Some(selector) = of.get("selector") else { return };
    let labels = labels(of);
    let matched = selector.get("matchLabels").and_then(Node::as_map);
    let wanted = selector.get("matchExpressions").and_then(Node::as_list);
    if matched.is_none_or(Map::is_empty) && wanted.is_none_or(Vec::is_empty) {
        return faults.field(
            ViolationRule::SelectorMismatch,
            of,
            "selector",
            "an empty selector would select all pods",
        );
    }
    for (key, value) in matched.into_iter().flat_map(Map::iter).filter(|(k, v)| !has_label(labels, k, v)) {
        let path = [Below::Field("selector"), Below::Field("matchLabels"), Below::Field(key)];
        mismatch(of, &path, key, value.span(), faults);
    }
    for (i, expression) in wanted.into_iter().flatten().enumerate().filter(|(_, e)| !holds(labels, e)) {
        let key = expression.get("key").and_then(Node::as_str).unwrap_or_default();
        let path = [Below::Field("selector"), Below::Field("matchExpressions"), Below::Entry(i)];
        mismatch(of, &path, key, expression.span(), faults);
    }
}

/// A controller without a selector has that of its template.
fn plain_selector(of: Subject<'_>, faults: &mut Faults) {
    let selector = of.get("selector").and_then(Node::as_map);
    let labels = labels(of);
    if selector.is_none_or(Map::is_empty) && labels.is_none_or(Map::is_empty) {
        return faults.field(
            ViolationRule::SelectorMismatch,
            of,
            "selector",
            "the selector or the labels of the template are missing",
        );
    }
    for (key, value) in selector.into_iter().flat_map(Map::iter).filter(|(k, v)| !has_label(labels, k, v)) {
        mismatch(of, &[Below::Field("selector"), Below::Field(key)], key, value.span(), faults);
    }
}

/// The claims of a StatefulSet become volumes of its pods, with the names that volumes have.
fn claims(of: Subject<'_>, faults: &mut Faults) {
    for (i, claim) in of.list("volumeClaimTemplates").iter().enumerate() {
        let Some(name) = claim.get_path(&["metadata", "name"]) else { continue };
        if name.as_str().is_some_and(|text| !is_dns_label(text)) {
            let path = [
                Below::Field("volumeClaimTemplates"),
                Below::Entry(i),
                Below::Field("metadata"),
                Below::Field("name"),
            ];
            let message = "this must be a name of small letters, digits and `-`, of at most 63 characters";
            faults.below(ViolationRule::FieldName, &path, name.span(), message);
        }
    }
}

fn strategy(of: Subject<'_>, faults: &mut Faults) {
    if of.text("type") == Some("Recreate") && of.get("rollingUpdate").is_some() {
        faults.field(
            ViolationRule::Strategy,
            of,
            "rollingUpdate",
            "`rollingUpdate` does not go with `type: Recreate`",
        );
    }
}

fn update_strategy(of: Subject<'_>, faults: &mut Faults) {
    if of.text("type") == Some("OnDelete") && of.get("rollingUpdate").is_some() && of.kind() == "StatefulSet"
    {
        faults.field(
            ViolationRule::Strategy,
            of,
            "rollingUpdate",
            "`rollingUpdate` does not go with `type: OnDelete`",
        );
    }
}

fn deadline(of: Subject<'_>, faults: &mut Faults) {
    let ready = of.int("minReadySeconds").unwrap_or(0);
    if of.int("progressDeadlineSeconds").unwrap_or(600) <= ready {
        let message = "`progressDeadlineSeconds` must be more than `minReadySeconds`";
        faults.field(ViolationRule::Strategy, of, "progressDeadlineSeconds", message);
    }
}

fn is_zero(value: Option<&Node>) -> bool {
    value.and_then(Node::scalar_text).is_some_and(|text| matches!(text.as_str(), "0" | "0%"))
}

fn rolling(of: Subject<'_>, faults: &mut Faults) {
    let of_set = of.kind() == "DaemonSet";
    let surge = of.get("maxSurge");
    let none = is_zero(of.get("maxUnavailable"));
    if none && (is_zero(surge) || (of_set && surge.is_none())) {
        faults.field(
            ViolationRule::Strategy,
            of,
            "maxUnavailable",
            "`maxSurge` and `maxUnavailable` cannot both be 0",
        );
    }
    let text = |field| of.text(field).and_then(|text| text.strip_suffix('%')?.parse::<u32>().ok());
    if text("maxUnavailable").is_some_and(|percent| percent > 100) {
        faults.field(ViolationRule::Strategy, of, "maxUnavailable", "more than all cannot be unavailable");
    }
}

fn job(of: Subject<'_>, faults: &mut Faults) {
    if of.text("completionMode") == Some("Indexed") && of.get("completions").is_none() {
        faults.field(
            ViolationRule::Job,
            of,
            "completions",
            "a job with `completionMode: Indexed` needs `completions`",
        );
    }
    let is_refused = |selector: &Node| {
        of.kind() == "CronJob" || (selects_something(selector) && !of.is_true("manualSelector"))
    };
    if of.get("selector").is_some_and(is_refused) {
        faults.field(ViolationRule::Job, of, "selector", "the selector of a job is made for it");
    }
}

/// A server adds its own label to the selector of a job, which makes an empty one right.
fn selects_something(selector: &Node) -> bool {
    let labels = selector.get("matchLabels").and_then(Node::as_map);
    let expressions = selector.get("matchExpressions").and_then(Node::as_list);
    !(labels.is_none_or(Map::is_empty) && expressions.is_none_or(Vec::is_empty))
}

fn cron(of: Subject<'_>, faults: &mut Faults) {
    let Some(schedule) = of.text("schedule") else { return };
    if schedule.is_empty() {
        faults.field(ViolationRule::Schedule, of, "schedule", "the schedule is empty");
    } else if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        faults.field(
            ViolationRule::Schedule,
            of,
            "schedule",
            "the zone is not part of the schedule: use `timeZone`",
        );
    } else if !is_schedule(schedule) {
        let message =
            "this must be a schedule of five fields such as `*/5 * * * *`, or a word such as `@daily`";
        faults.field(ViolationRule::Schedule, of, "schedule", message);
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A schedule as robfig/cron reads it.
fn is_schedule(text: &str) -> bool {
    if let Some(word) = text.strip_prefix('@') {
        let duration = word.strip_prefix("every ").and_then(smp_text::gocompat::time::parse_duration);
        let words = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
        return words.contains(&word) || duration.is_some();
    }
    let bounds: [(u32, u32, &[&str], u32); 5] =
        [(0, 59, &[], 0), (0, 23, &[], 0), (1, 31, &[], 0), (1, 12, &MONTHS, 1), (0, 6, &DAYS, 0)];
    let fields: Vec<&str> = text.split_whitespace().collect();
    fields.len() == 5
        && fields
            .iter()
            .zip(bounds)
            .all(|(field, bounds)| field.split(',').all(|part| is_range(part, bounds)))
}

fn is_range(part: &str, (least, most, words, first): (u32, u32, &[&str], u32)) -> bool {
    let number = |text: &str| {
        let word =
            words.iter().position(|word| text.eq_ignore_ascii_case(word)).and_then(|i| u32::try_from(i).ok());
        word.map(|i| i + first).or_else(|| text.parse().ok())
    };
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| step.parse::<u32>().map_or(true, |step| step == 0)) {
        return false;
    }
    if matches!(range, "*" | "?") {
        return true;
    }
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    match (number(from), number(to)) {
        (Some(from), Some(to)) => from >= least && to <= most && from <= to,
        _ => false,
    }
}

fn pod_template(of: Subject<'_>, faults: &mut Faults) {
    if of.is_whole && of.get("template").is_none() {
        faults.field(ViolationRule::MissingRequired, of, "template", "the template is missing");
    }
}

#[cfg(test)]
mod tests {
    use super::is_schedule;

    #[test]
    fn schedules() {
        for text in
            ["* * * * *", "*/5 0-3 1,15 JAN MON-FRI", "@daily", "@every 1h", "0 0 ? * 0", "5/10 * * * *"]
        {
            assert!(is_schedule(text), "{text}");
        }
        for text in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* * 0 * *",
            "*/0 * * * *",
            "@never",
            "5-1 * * * *",
            "a * * * *",
        ] {
            assert!(!is_schedule(text), "{text}");
        }
    }
}
