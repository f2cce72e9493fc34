//! What rules are about.

use std::process::ExitCode;

use super::super::report::print;
use super::super::{Failure, Outcome};
use smp_inspect::check::{
    RULES, Rule, RuleGroup, RuleStanding, code_named, message_codes, nearest_code, rule_of,
};
use smp_text::diagnostic::Code;

/// Lists all rules by what they are about.
pub(super) fn list() -> Outcome {
    let codes = RULES.iter().map(|rule| rule.code).chain(message_codes());
    let width = codes.map(|code| code.name().len()).max().unwrap_or_default();
    let mut out = String::new();
    for group in RuleGroup::ALL {
        let rules: Vec<&&Rule> = RULES.iter().filter(|rule| rule.group == group).collect();
        if rules.is_empty() {
            continue;
        }
        let lines = rules.iter().map(|rule| {
            let off = if rule.standing == RuleStanding::Off { " (off)" } else { "" };
            format!("  {:width$}  {:7}  {}{off}\n", rule.code.name(), rule.severity.name(), rule.title())
        });
        out.extend([group.title(), ":\n", &lines.collect::<String>(), "\n"]);
    }
    let messages = message_codes().map(|code| format!("  {:width$}  {}\n", code.name(), code.meaning()));
    out.extend([
        "Messages of builds, which can be ignored where they are warnings:\n",
        &messages.collect::<String>(),
    ]);
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what a code means.
pub(super) fn one(name: &str) -> Outcome {
    let Some(code) = code_named(name) else {
        let near = nearest_code(name).map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        return Err(Failure::Usage(format!("no rule is called `{name}`{near}")));
    };
    print(&rule_of(code).map_or_else(|| message(code), Rule::page))?;
    Ok(ExitCode::SUCCESS)
}

/// What messages have no rule for.
fn message(code: Code) -> String {
    format!("# {code}\n\n{}\n\n{}\n", code.meaning(), code.remedy())
}
