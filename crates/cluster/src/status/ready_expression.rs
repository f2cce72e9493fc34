//! Readiness rules: CEL expressions about one object, which is named `object` and `self`. The result must be a boolean.
//!
//! All standard functions and macros of CEL except `type` are available, and the extensions of Kubernetes. Access to a
//! missing field, which is an error in CEL, means that the rule is not satisfied yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube_cel::cel::common::ast::{EntryExpr, Expr};
use kube_cel::cel::objects::Key;
use kube_cel::cel::{ExecutionError, IdedExpr, Value};

use smp_text::yaml::{Node, Resolved};
use smp_validate::timed_cel::{NotCompiled, TimedProgram, Variables, is_over_limit, names_key};

/// The names of the variable with the object.
const NAMES: [&str; 2] = ["object", "self"];

/// Maximum length of an expression in bytes.
const MAX_LENGTH: usize = 1_000;

/// The time limit of an evaluation. A rule is evaluated whenever the object changes, and other objects must wait.
const LIMIT: Duration = Duration::from_millis(100);

/// A compiled expression.
#[derive(Debug, Clone)]
pub(crate) struct ReadyExpression {
    text: String,
    program: Arc<TimedProgram>,
}

impl ReadyExpression {
    /// Compiles an expression. The error is the reason why it is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("the expression is longer than {MAX_LENGTH} characters"));
        }
        let program = TimedProgram::compile(text, LIMIT).map_err(|problem| match problem {
            NotCompiled::TooLarge => "the expression is nested too deeply".to_string(),
            NotCompiled::Unsupported => format!("`{text}` uses message literals, which are not supported"),
            NotCompiled::Invalid { first, .. } => format!("`{text}` is not a valid CEL expression: {first}"),
        })?;
        if let Some(name) = undeclared(program.expression(), &mut NAMES.to_vec()) {
            return Err(format!("unknown name `{name}` in `{text}`: the object is named `object`"));
        }
        let expression = Self { text: text.to_string(), program };
        // Most expressions cannot be evaluated for an empty object. Those that can must have a boolean result.
        match expression.evaluate(&Value::Map(HashMap::<Key, Value>::new().into())) {
            Err(EvaluationError::Never(why)) => Err(why),
            Ok(_) | Err(EvaluationError::NotYet(_)) => Ok(expression),
        }
    }

    /// Returns the reason why the rule is not satisfied, or `None` if it is.
    ///
    /// # Errors
    /// The rule can never be satisfied, for the given reason.
    pub(super) fn failure_reason(&self, object: &Node) -> Result<Option<String>, String> {
        match self.evaluate(&value(object)) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(format!("`{}` is false, must be true", self.text))),
            Err(EvaluationError::NotYet(why)) => Ok(Some(why)),
            Err(EvaluationError::Never(why)) => Err(why),
        }
    }

    /// Evaluates the expression. CEL errors may contain values of the object, which may be secret, so they are
    /// replaced.
    fn evaluate(&self, object: &Value) -> Result<bool, EvaluationError> {
        let mut variables = Variables::with_functions();
        for name in NAMES {
            variables.add(name, object.clone());
        }
        let text = &self.text;
        match self.program.execute(&variables) {
            Ok(Value::Bool(answer)) => Ok(answer),
            Ok(other) => {
                let kind = other.type_of();
                Err(EvaluationError::Never(format!("`{text}` has the type {kind}, must be bool")))
            }
            Err(ExecutionError::UndeclaredReference(name)) => {
                Err(EvaluationError::Never(format!("unknown name `{name}` in `{text}`")))
            }
            Err(ExecutionError::NoSuchKey(key)) if names_key(text, &key) => Err(EvaluationError::NotYet(
                format!("`{text}` must be true, but the object has no `{key}` yet"),
            )),
            Err(ExecutionError::NoSuchKey(_)) => {
                Err(EvaluationError::NotYet(format!("`{text}` must be true, but a key is missing")))
            }
            Err(error) if is_over_limit(&error) => {
                let limit = LIMIT.as_millis();
                Err(EvaluationError::Never(format!(
                    "`{text}` exceeds the limit of {limit} ms or the memory limit"
                )))
            }
            Err(_) => {
                Err(EvaluationError::NotYet(format!("`{text}` must be true, but cannot be evaluated yet")))
            }
        }
    }
}

/// The reason why an expression has no result.
enum EvaluationError {
    /// The object may have the required fields later.
    NotYet(String),
    /// The expression is invalid for any object.
    Never(String),
}

/// Returns the first name that is not in scope.
fn undeclared<'e>(expression: &'e IdedExpr, scope: &mut Vec<&'e str>) -> Option<&'e str> {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => None,
        Expr::Ident(name) => {
            let name = name.as_str();
            let is_known = name.starts_with('@') || scope.contains(&name);
            (!is_known).then_some(name)
        }
        Expr::Select(select) => undeclared(&select.operand, scope),
        Expr::Call(call) => {
            let parts = call.target.as_deref().into_iter().chain(&call.args);
            parts.into_iter().find_map(|part| undeclared(part, scope))
        }
        Expr::List(list) => list.elements.iter().find_map(|part| undeclared(part, scope)),
        Expr::Map(map) => map.entries.iter().find_map(|entry| undeclared_in(&entry.expr, scope)),
        Expr::Struct(made) => made.entries.iter().find_map(|entry| undeclared_in(&entry.expr, scope)),
        Expr::Comprehension(all) => {
            let outside =
                [&all.iter_range, &all.accu_init].into_iter().find_map(|part| undeclared(part, scope));
            let depth = scope.len();
            scope.extend([all.iter_var.as_str(), all.accu_var.as_str()]);
            scope.extend(all.iter_var2.as_deref());
            let inside = [&all.loop_cond, &all.loop_step, &all.result];
            let found = outside.or_else(|| inside.into_iter().find_map(|part| undeclared(part, scope)));
            scope.truncate(depth);
            found
        }
    }
}

fn undeclared_in<'e>(entry: &'e EntryExpr, scope: &mut Vec<&'e str>) -> Option<&'e str> {
    match entry {
        EntryExpr::StructField(field) => undeclared(&field.value, scope),
        EntryExpr::MapEntry(entry) => {
            undeclared(&entry.key, scope).or_else(|| undeclared(&entry.value, scope))
        }
    }
}

fn value(node: &Node) -> Value {
    if let Some(map) = node.as_map() {
        let entries = map.iter().map(|(name, entry)| (Key::from(name), value(entry)));
        return Value::Map(entries.collect::<HashMap<Key, Value>>().into());
    }
    if let Some(list) = node.as_list() {
        return Value::List(Arc::new(list.iter().map(value).collect()));
    }
    match node.resolve() {
        Some(Resolved::Bool(truth)) => Value::Bool(truth),
        Some(Resolved::Int(number)) => Value::Int(number),
        Some(Resolved::UInt(number)) => Value::UInt(number),
        Some(Resolved::Float(number)) => Value::Float(number),
        Some(Resolved::Null) | None => Value::Null,
        Some(Resolved::Str(text) | Resolved::Timestamp(text)) => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Result<bool, String> {
        let object: Node =
            "{spec: {count: 3, none: null}, status: {phase: Running, ok: true, ratio: 0.5, ips: [a, b], \
                            conditions: [{type: Ready, status: 'True'}, {type: Old, status: 'False'}]}}"
                .parse()
                .expect("YAML");
        let expression = ReadyExpression::parse(text)?;
        expression.failure_reason(&object).map(|why| why.is_none())
    }

    #[test]
    fn met_rules_are_true() {
        for text in [
            "object.status.phase == 'Running'",
            "self.spec.count > 2 && object.spec.count + 1 == 4",
            "object.status.ok",
            "has(object.status.ips) && size(object.status.ips) == 2",
            "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
            "object.status.conditions.filter(c, c.status == 'True').map(c, c.type) == ['Ready']",
            "!has(object.status.other)",
            "object.status.phase in ['Running', 'Succeeded']",
            "object.status.phase.matches('^R.*g$') && object.status.phase.startsWith('Run')",
            "object.spec.none == null",
            "object.status.ratio < 0.6 ? true : false",
            "true",
        ] {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        for text in [
            "object.status.phase == 'Pending'",
            "object.status.other == 1",
            "object.status.ips[7] == 'a'",
            "object.spec.count == 'three' || object.spec.count > 5",
            "object.status.conditions.all(c, c.status == 'True')",
            "object.spec.none < 3",
            "1 / 0 == 1",
        ] {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
    }

    #[test]
    fn invalid_expressions_are_errors() {
        let long = format!("object.a == '{}'", "x".repeat(MAX_LENGTH));
        for (text, part) in [
            ("object.status.phase ==", "is not a valid CEL expression"),
            ("object.status.phase = 'a'", "is not a valid CEL expression"),
            ("status.phase == 'Running'", "unknown name `status`"),
            ("object.a.all(c, c == d)", "unknown name `d`"),
            ("object.a.all(c, true) && c", "unknown name `c`"),
            ("{'a': b} == object.a", "unknown name `b`"),
            ("1 + 1", "has the type int"),
            ("'Running'", "has the type string"),
            ("[object.status]", ""),
            ("unheard('of')", "unknown name"),
            (long.as_str(), "longer than 1000"),
            ("object.status.phase", "has the type string, must be bool"),
        ] {
            let problem = holds(text).expect_err(text);
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn nested_expressions_do_not_overflow_the_stack() {
        let nested =
            |open: &str, close: &str, depth: usize| open.repeat(depth) + "true" + &close.repeat(depth);
        assert_eq!(holds(&nested("(", ")", 20)), Ok(true));
        assert!(holds(&nested("(", ")", 400)).is_err());
        for open in ["[", "{", "size(", "object.a.map(c,", "('x' + "] {
            // Only checks that there is no panic.
            drop(holds(&nested(open, ")", 60)));
        }
        let most = MAX_LENGTH - 10;
        for text in [
            "!".repeat(most) + "true",
            "-".repeat(most) + "1 == 1",
            format!("object{}", ".a".repeat(most / 2)),
            format!("{}1 == 1", "1+".repeat(most / 2 - 3)),
            format!("{}true", "true||".repeat(most / 6 - 1)),
            format!("{}true", "true?true:".repeat(most / 10 - 1)),
            format!("{}true", "a?".repeat(most / 2)),
            format!("object{}", "[0]".repeat(most / 3 - 3)),
        ] {
            // Only checks that there is no panic.
            drop(holds(&text));
        }
    }

    #[test]
    fn values_of_the_object_are_not_in_messages() {
        let object: Node = "{data: {key: hush}, n: 1}".parse().expect("YAML");
        for text in [
            "object.data.key > 3",
            "object.data < object.n",
            "object.n[object.data.key]",
            "{'gold': 1}[object.data.key] == 1",
            "-object.data.key == 1",
        ] {
            let why = ReadyExpression::parse(text).expect(text).failure_reason(&object);
            assert!(!format!("{why:?}").contains("hush"), "{text}: {why:?}");
        }
    }
}
