//! Expressions of CEL: the rules of custom resources, evaluated as a server does.
//!
//! Owns how values become those of CEL. The crate `kube-cel` has the language and the functions of Kubernetes; what it
//! cannot do is told as a note, never taken for a rule that is kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube_cel::cel::objects::{Key, Map as CelMap};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, ResolveResult, Value as CelValue};

use super::timed_cel::{TimedProgram, depth, functions, is_too_slow};
use crate::schema::{CelRule, Cursor, TypeKind};
use crate::yaml::{Map, Node, Resolved, Value};

/// Longer expressions, and more deeply nested ones, are not compiled: reading them takes too much of the stack.
const LONGEST: usize = 16 * 1024;
const DEEPEST: usize = 64;

/// How long an expression may take. Servers count steps, and take about as long for all rules of an object.
const LIMIT: Duration = Duration::from_secs(1);

/// A compiled expression, or why there is none.
pub(super) struct Expression {
    program: Result<TimedProgram, String>,
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expression").field("compiled", &self.program.is_ok()).finish()
    }
}

/// What became of an expression that is to be true.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CelOutcome {
    Kept,
    Broken,
    /// A server cannot evaluate it either: something that it needs is not there.
    Failed(String),
    /// We cannot tell.
    Unknown(String),
}

/// Whether it would take too much of the stack to read an expression.
fn is_too_large(text: &str) -> bool {
    text.len() > LONGEST || depth(text) > DEEPEST
}

/// Whether a text can be an expression. What the crate does not read of the language (`a.?b`, `a[?b]`) can.
pub(super) fn may_be_expression(text: &str) -> bool {
    if is_too_large(text) {
        return true;
    }
    let Err(errors) = TimedProgram::compile(text, LIMIT) else { return true };
    let errors = errors.to_string();
    errors.contains("unsupported syntax") || !errors.contains("Syntax error")
}

impl Expression {
    pub(super) fn compile(text: &str) -> Self {
        if is_too_large(text) {
            return Self { program: Err("it is too long, or nested too deeply".into()) };
        }
        let why = |error: kube_cel::cel::ParseErrors| {
            error.to_string().lines().next().unwrap_or_default().to_string()
        };
        Self { program: TimedProgram::compile(text, LIMIT).map_err(why) }
    }

    /// What makes a message; none where nothing does.
    pub(super) fn of_message(text: &str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self::compile(text))
    }

    /// The message that the expression makes; none where a server falls back to another one: it has no value, is no
    /// text, is empty or has several lines.
    pub(super) fn message(&self, context: &Context<'_>) -> Option<String> {
        let Ok(CelValue::String(text)) = self.value(context) else { return None };
        let text = text.trim();
        (!text.is_empty() && !text.contains('\n')).then(|| text.to_string())
    }

    /// The value of the expression.
    pub(super) fn value(&self, context: &Context<'_>) -> Result<CelValue, CelOutcome> {
        let program = self.program.as_ref().map_err(|why| CelOutcome::Unknown(why.clone()))?;
        program.execute(context).map_err(|error| match error {
            ExecutionError::NoSuchKey(key) => CelOutcome::Failed(format!("there is no `{key}`")),
            ExecutionError::IndexOutOfBounds(_) => CelOutcome::Failed("a list has too few entries".into()),
            ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
                CelOutcome::Failed("it divides by zero".into())
            }
            ExecutionError::UndeclaredReference(name) => {
                CelOutcome::Unknown(format!("`{name}` is not known"))
            }
            error if is_too_slow(&error) => {
                CelOutcome::Unknown(format!("it takes longer than {} s", LIMIT.as_secs()))
            }
            // Others quote values.
            _ => CelOutcome::Unknown("it uses what is not supported here".into()),
        })
    }

    /// Whether the expression is true.
    pub(super) fn outcome(&self, context: &Context<'_>) -> CelOutcome {
        match self.value(context) {
            Ok(CelValue::Bool(true)) => CelOutcome::Kept,
            Ok(CelValue::Bool(false)) => CelOutcome::Broken,
            Ok(_) => CelOutcome::Unknown("it is neither true nor false".into()),
            Err(outcome) => outcome,
        }
    }
}

/// A rule of a definition, compiled.
#[derive(Debug)]
pub(super) struct CompiledRule {
    rule: CelRule,
    expression: Expression,
    /// What makes the message, where that is no plain text.
    message: Option<Expression>,
}

/// Rules that speak of what was before hold of what is new.
fn is_transition(rule: &CelRule) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    rule.rule.match_indices("oldSelf").any(|(at, word)| {
        !rule.rule[..at].ends_with(is_name) && !rule.rule[at + word.len()..].starts_with(is_name)
    })
}

/// Compiles the rules that are asked of what is created.
pub(super) fn compile_rules(rules: &[CelRule]) -> Vec<CompiledRule> {
    let asked = rules.iter().filter(|rule| rule.optional_old_self || !is_transition(rule));
    let compiled = asked.map(|rule| CompiledRule {
        rule: rule.clone(),
        expression: Expression::compile(&rule.rule),
        message: Expression::of_message(&rule.message_expression),
    });
    compiled.collect()
}

/// A rule that is not kept, or was not asked.
pub(super) struct UnkeptRule<'r> {
    pub(super) rule: &'r CelRule,
    pub(super) outcome: CelOutcome,
    /// What its definition says of a value that breaks it.
    pub(super) message: Option<String>,
}

/// Asks the rules of a value.
pub(super) fn unkept<'r>(rules: &'r [CompiledRule], node: &Node, cursor: Cursor<'_>) -> Vec<UnkeptRule<'r>> {
    with_context(|base| {
        let mut context = base.new_inner_scope();
        context.add_variable_from_value("self", value_of(node, cursor));
        let outcomes = rules.iter().map(|compiled| (compiled, compiled.expression.outcome(&context)));
        let unkept = outcomes.filter(|(_, outcome)| *outcome != CelOutcome::Kept);
        let told = unkept.map(|(compiled, outcome)| {
            let rule = &compiled.rule;
            let made = compiled.message.as_ref().and_then(|message| message.message(&context));
            let plain = || Some(rule.message.trim().to_string()).filter(|message| !message.is_empty());
            UnkeptRule { rule, outcome, message: made.or_else(plain) }
        });
        told.collect()
    })
}

thread_local! {
    static CONTEXT: Context<'static> = {
        let mut context = functions();
        context.add_function("size", size);
        context
    };
    static TIMESTAMP: Expression = Expression::compile("timestamp(text)");
    static DURATION: Expression = Expression::compile("duration(text)");
}

/// How many entries, fields, characters or bytes there are. The crate's own counts the bytes of texts, and hides why an
/// argument has no value.
fn size(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let value = match (&call.this, call.args.first()) {
        (Some(value), _) => value.clone(),
        (None, Some(argument)) => CelValue::resolve(argument, call.ptx)?,
        (None, None) => return Err(call.error("an argument is missing")),
    };
    let count = match value {
        CelValue::List(list) => list.len(),
        CelValue::Map(map) => map.map.len(),
        CelValue::String(text) => text.chars().count(),
        CelValue::Bytes(bytes) => bytes.len(),
        _ => return Err(call.error("this has no size")),
    };
    Ok(CelValue::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Lends the functions of CEL, which are registered once for each thread.
pub(super) fn with_context<T>(work: impl FnOnce(&Context<'static>) -> T) -> T {
    CONTEXT.with(work)
}

/// The value of a node: fields have the names by which expressions know them.
pub(super) fn value_of(node: &Node, cursor: Cursor<'_>) -> CelValue {
    match &node.value {
        Value::Map(map) => map_value(map, cursor),
        Value::List(list) => {
            CelValue::List(Arc::new(list.iter().map(|entry| value_of(entry, cursor.element())).collect()))
        }
        Value::Scalar(_) => node.resolve().map_or(CelValue::Null, |value| scalar_value(value, cursor)),
    }
}

fn map_value(map: &Map, cursor: Cursor<'_>) -> CelValue {
    let mut fields: HashMap<Key, CelValue> = HashMap::with_capacity(map.len());
    for (name, value) in map.iter() {
        let declared = cursor.declared(name);
        let name = if declared.is_some() { escaped(name) } else { name.to_string() };
        let below = declared.unwrap_or_else(|| cursor.additional());
        fields.insert(Key::String(Arc::new(name)), value_of(value, below));
    }
    CelValue::Map(CelMap { map: Arc::new(fields) })
}

#[expect(clippy::cast_precision_loss, reason = "what the schema calls a number is one with a fraction")]
fn scalar_value(value: Resolved<'_>, cursor: Cursor<'_>) -> CelValue {
    let is_number = cursor.type_kind() == TypeKind::Number;
    match value {
        Resolved::Null => CelValue::Null,
        Resolved::Bool(value) => CelValue::Bool(value),
        Resolved::Int(value) if is_number => CelValue::Float(value as f64),
        Resolved::Int(value) => CelValue::Int(value),
        Resolved::UInt(value) => CelValue::UInt(value),
        #[expect(clippy::cast_possible_truncation, reason = "it has no fraction")]
        Resolved::Float(value) if cursor.type_kind() == TypeKind::Integer && value.fract() == 0.0 => {
            CelValue::Int(value as i64)
        }
        Resolved::Float(value) => CelValue::Float(value),
        Resolved::Timestamp(text) | Resolved::Str(text) => text_value(text, cursor),
    }
}

/// Times and durations are no texts for CEL.
fn text_value(text: &str, cursor: Cursor<'_>) -> CelValue {
    let plain = || CelValue::String(Arc::new(text.to_string()));
    let constraints = cursor.constraints_text().unwrap_or_default();
    let format = if constraints.contains("\"format\":\"date-time\"") {
        &TIMESTAMP
    } else if constraints.contains("\"format\":\"duration\"") {
        &DURATION
    } else {
        return plain();
    };
    with_context(|base| {
        let mut context = base.new_inner_scope();
        context.add_variable_from_value("text", plain());
        format.with(|expression| expression.value(&context)).unwrap_or_else(|_| plain())
    })
}

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name of a field in expressions, as Kubernetes documents it.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    if !name.contains(['.', '-', '/']) && !name.contains("__") {
        return name.to_string();
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(expression: &str, object: &str) -> CelOutcome {
        let node: Node = object.parse().expect("test text");
        with_context(|base| {
            let mut context = base.new_inner_scope();
            context.add_variable_from_value("self", value_of(&node, Cursor::unknown()));
            Expression::compile(expression).outcome(&context)
        })
    }

    #[test]
    fn expressions_are_kept_broken_or_not_known() {
        assert_eq!(outcome("self.a < 3", "{a: 1}"), CelOutcome::Kept);
        assert_eq!(outcome("self.a < 3", "{a: 5}"), CelOutcome::Broken);
        assert_eq!(outcome("!has(self.b) || self.b == 'x'", "{a: 5}"), CelOutcome::Kept);
        assert_eq!(outcome("self.l.all(x, x.startsWith('a'))", "{l: [ab, ac]}"), CelOutcome::Kept);
        assert_eq!(outcome("quantity(self.q).isGreaterThan(quantity('1Gi'))", "{q: 2Gi}"), CelOutcome::Kept);
        assert_eq!(outcome("size(self.t) == 2 && self.t.size() == 2", "{t: \u{e4}\u{f6}}"), CelOutcome::Kept);
        assert!(matches!(outcome("self.b == 1", "{a: 1}"), CelOutcome::Failed(_)));
        for text in [
            "size(self.b)",
            "size(self.b) > 0",
            "size(self.a) > 0 || size(self.b) > 0",
            "self.b > 0 || self.c > 0",
        ] {
            assert!(
                matches!(outcome(text, "{a: []}"), CelOutcome::Failed(_)),
                "{text} {:?}",
                outcome(text, "{a: []}")
            );
        }
        assert!(matches!(outcome("nobody(self)", "{a: 1}"), CelOutcome::Unknown(_)));
        assert!(matches!(outcome("self.a +", "{a: 1}"), CelOutcome::Unknown(_)));
        assert!(matches!(outcome(&"(".repeat(100_000), "{}"), CelOutcome::Unknown(_)));
    }

    /// Pieces of expressions in any order: most are none, and some have no value.
    #[test]
    fn no_expression_panics() {
        const PIECES: [&str; 32] = [
            "self",
            ".a",
            "[0]",
            "['a']",
            "(",
            ")",
            "==",
            "&&",
            "||",
            "!",
            "?",
            ":",
            "size(",
            "has(",
            "1",
            "-1",
            "1u",
            "'x'",
            "\"",
            "{",
            "}",
            ",",
            ".all(x, ",
            ".map(x, ",
            ".matches('(')",
            "quantity(",
            "optional.none()",
            "/0",
            "in",
            " * 9223372036854775807",
            "\u{e4}",
            "\\",
        ];
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % below).expect("small")
        };
        for _ in 0..2000 {
            let text: String = (0..=next(9)).map(|_| PIECES[next(32)]).collect();
            let _ = outcome(&text, "{a: [1, b, {c: 2}], b: null}");
        }
    }

    #[test]
    fn what_no_server_reads_is_no_expression() {
        for text in ["object.", "(object", "\"a", "a b", "true ? 1", "object..a", "'\\d'", "self ==", "#"] {
            assert!(!may_be_expression(text), "{text}");
        }
        for text in ["object.?a.orValue(1)", "a[?0]", "[?a.?b]", "{?'a': a.?b}", "nobody(self)", "r'\\d'"] {
            assert!(may_be_expression(text), "{text}");
        }
        assert!(may_be_expression(&"(".repeat(100_000)), "not known");
    }

    #[test]
    fn messages_quote_no_values() {
        let CelOutcome::Unknown(why) = outcome("self.password + 1 == 2", "{password: hunter2}") else {
            panic!("known")
        };
        assert!(!why.contains("hunter2"), "{why}");
    }

    #[test]
    fn names_of_fields_are_escaped() {
        for (name, want) in [("a", "a"), ("in", "__in__"), ("a-b.c", "a__dash__b__dot__c"), ("a_b", "a_b")] {
            assert_eq!(escaped(name), want);
        }
    }

    #[test]
    fn rules_about_changes_are_not_asked() {
        let rule = |text: &str| CelRule { rule: text.into(), ..CelRule::default() };
        assert_eq!(compile_rules(&[rule("self == oldSelf"), rule("self.myoldSelf == 1")]).len(), 1);
    }
}
