use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "schedule",
        meaning: "The schedule of a CronJob is not valid cron syntax.",
        remedy: "Use five fields such as `*/5 * * * *`, or a macro such as `@daily`. Set the time zone with `timeZone`.",
    },
    why: "The fields are minute, hour, day of month, month and day of week. Six fields with seconds, as in Quartz, \
          are not supported.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax",
    example: "\
apiVersion: batch/v1
kind: CronJob
metadata: {name: load}
spec:
  schedule: \"0 25 * * *\"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: load, image: busybox}]
",
    fix: ("25", "5"),
    checks: &[("CronJobSpec", Check::Type(schedule))],
    ..ValidationRule::DEFAULT
};

fn schedule(subject: Subject<'_>, violations: &mut RuleViolations) {
    let message = match subject.text("schedule") {
        None => return,
        Some("") => "must not be empty",
        Some(text) if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") => {
            "must not contain TZ or CRON_TZ: use `timeZone` instead"
        }
        Some(text) if is_schedule(text) => return,
        _ => "must be a cron schedule of five fields such as `*/5 * * * *`, or a macro such as `@daily`",
    };
    violations.report_field(subject, "schedule", message);
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Returns true for a schedule that robfig/cron accepts.
fn is_schedule(text: &str) -> bool {
    if let Some(word) = text.strip_prefix('@') {
        let duration = word.strip_prefix("every ").and_then(smp_text::gocompat::time::parse_duration);
        let words = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
        return words.contains(&word) || duration.is_some();
    }
    let bounds: [(u32, u32, &[&str], u32); 5] =
        [(0, 59, &[], 0), (0, 23, &[], 0), (1, 31, &[], 0), (1, 12, MONTHS, 1), (0, 6, DAYS, 0)];
    let fields: Vec<&str> = text.split_whitespace().collect();
    let is_field = |(field, bounds): (&&str, _)| field.split(',').all(|part| is_range(part, bounds));
    fields.len() == 5 && fields.iter().zip(bounds).all(is_field)
}

fn is_range(part: &str, (least, most, words, first): (u32, u32, &[&str], u32)) -> bool {
    let number = |text: &str| {
        let word = (first..).zip(words).find(|(_, word)| text.eq_ignore_ascii_case(word));
        word.map(|(number, _)| number).or_else(|| text.parse().ok())
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

#[cfg(test)]
mod tests {
    use super::is_schedule;

    #[test]
    fn schedules_are_valid_as_in_robfig_cron() {
        let valid = "* * * * *;*/5 0-3 1,15 JAN MON-FRI;@daily;@every 1h;0 0 ? * 0;5/10 * * * *";
        assert!(valid.split(';').all(is_schedule));
        let invalid = ";* * * *;* * * * * *;60 * * * *;* * 0 * *;*/0 * * * *;@never;5-1 * * * *;a * * * *";
        assert!(!invalid.split(';').any(is_schedule));
    }
}
