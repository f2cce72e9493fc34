//! `check --list` and `check --explain`: the documentation of rules.

use std::process::ExitCode;

use super::super::report::print;
use super::super::{Failure, Outcome};
use smp_inspect::check::{
    RULES, Rule, RuleDefault, RuleGroup, code_by_name, message_codes, nearest_code, rule_by_code,
};
use smp_text::diagnostic::Code;

/// Prints all rules by group.
pub(super) fn print_list() -> Outcome {
    let codes = RULES.iter().map(|rule| rule.code).chain(message_codes());
    let width = codes.map(|code| code.name().len()).max().unwrap_or_default();
    let mut out = String::new();
    for group in RuleGroup::ALL {
        let rules: Vec<&&Rule> = RULES.iter().filter(|rule| rule.group == group).collect();
        if rules.is_empty() {
            continue;
        }
        let lines = rules.iter().map(|rule| {
            let disabled = if rule.default == RuleDefault::Disabled { " (disabled)" } else { "" };
            format!("  {:width$}  {:7}  {}{disabled}\n", rule.code.name(), rule.severity.name(), rule.title())
        });
        out.extend([group.title(), ":\n", &lines.collect::<String>(), "\n"]);
    }
    let messages = message_codes().map(|code| format!("  {:width$}  {}\n", code.name(), code.meaning()));
    out.extend([
        "Messages of builds (warnings can be disabled with --ignore):\n",
        &messages.collect::<String>(),
    ]);
    print(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the documentation of the rule or message with the code `name`.
pub(super) fn print_rule(name: &str) -> Outcome {
    let Some(code) = code_by_name(name) else {
        let fix = match nearest_code(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "run `kubectl smp check --list` for all rules".into(),
        };
        return Err(Failure::Usage(format!("unknown rule `{name}`: {fix}")));
    };
    print(&rule_by_code(code).map_or_else(|| message(code), Rule::page))?;
    Ok(ExitCode::SUCCESS)
}

/// Formats the documentation of a code that is not a rule.
fn message(code: Code) -> String {
    format!("# {code}\n\n{}\n\n{}\n", code.meaning(), code.remedy())
}
