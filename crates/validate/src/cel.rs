//! Evaluation of CEL validation rules of custom resources, as in the API server.
//!
//! Converts values to CEL values. The crate `kube-cel` implements the language and the functions of Kubernetes. A rule
//! that the crate cannot evaluate is reported as not checked, never as passed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kube_cel::cel::objects::{Key, Map as CelMap};
use kube_cel::cel::{ExecutionError, Value as CelValue};

use super::timed_cel::{NotCompiled, TimedProgram, Variables, is_over_limit, names_key};
use smp_merge::schema::{CelRule, Cursor, TypeKind};
use smp_text::yaml::{Map, Node, Resolved, Value};

/// The time limit of an expression. API servers have no time limit. They limit the cost of all rules of an object,
/// which takes about as long.
const LIMIT: Duration = Duration::from_secs(1);

/// A compiled expression, or the reason why it cannot be compiled.
pub(super) struct Expression {
    text: String,
    program: Result<Arc<TimedProgram>, String>,
}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expression").field("text", &self.text).finish_non_exhaustive()
    }
}

/// The result of a boolean expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CelOutcome {
    /// The expression is true.
    True,
    /// The expression is false.
    False,
    /// A key is missing, so that a server cannot evaluate the expression.
    MissingKey {
        key: String,
        /// True if the expression contains the key. Only then may a message quote it: other keys may be copied from
        /// secret values.
        is_named: bool,
        /// The API server's message.
        server: String,
    },
    /// The server cannot evaluate the expression either.
    Failed {
        why: String,
        /// The API server's message, which may quote values.
        server: String,
    },
    /// The expression could not be evaluated here. The API server may be able to evaluate it.
    Unknown(String),
}

impl CelOutcome {
    /// Creates the outcome of a boolean expression. As in the API server, any value other than `true` is treated as
    /// false.
    pub(super) fn new(value: Result<CelValue, Self>) -> Self {
        match value {
            Ok(CelValue::Bool(true)) => Self::True,
            Ok(_) => Self::False,
            Err(outcome) => outcome,
        }
    }

    /// Returns the reason why there is no result.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::MissingKey { key, is_named: true, .. } => format!("no such key: `{key}`"),
            Self::MissingKey { .. } => "a key is missing".to_string(),
            Self::Failed { why, .. } | Self::Unknown(why) => why.clone(),
            Self::True | Self::False => String::new(),
        }
    }

    /// Returns the outcome of an expression that uses a variable of a policy with this outcome.
    pub(super) fn of_variable(mut self, name: &str) -> Self {
        if let Self::MissingKey { server, .. } | Self::Failed { server, .. } = &mut self {
            *server = format!("composited variable {name:?} fails to evaluate: {server}");
        }
        self
    }

    pub(super) fn missing_key(&self) -> Option<&str> {
        if let Self::MissingKey { key, .. } = self { Some(key) } else { None }
    }

    fn missing(key: &str, is_named: bool) -> Self {
        Self::MissingKey { key: key.into(), is_named, server: format!("no such key: {key}") }
    }

    fn failed(why: impl Into<String>, server: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), server: server.into() }
    }
}

/// Returns false only if a text is certainly not a CEL expression. Accepts functions and types that `kube-cel` does not
/// support.
pub(super) fn may_be_expression(text: &str) -> bool {
    match TimedProgram::compile(text, LIMIT) {
        Err(NotCompiled::Invalid { all, .. }) => !all.contains("Syntax error"),
        Ok(_) | Err(NotCompiled::TooLarge | NotCompiled::Unsupported) => true,
    }
}

impl Expression {
    pub(super) fn compile(text: &str) -> Self {
        let why = |problem| match problem {
            NotCompiled::TooLarge => "the expression is too long or nested too deeply".to_string(),
            NotCompiled::Unsupported => "the expression uses an unsupported feature".into(),
            NotCompiled::Invalid { first, .. } if first.starts_with("Syntax error") => {
                "its expression is not valid CEL".into()
            }
            NotCompiled::Invalid { first, .. } => format!("invalid expression: {first}"),
        };
        Self { text: text.to_string(), program: TimedProgram::compile(text, LIMIT).map_err(why) }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Compiles a `messageExpression`; returns `None` if it is empty.
    pub(super) fn of_message(text: &str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self::compile(text))
    }

    /// Evaluates a `messageExpression`. Returns `None` if the result is not a string, is empty, or has several lines;
    /// the API server then uses another message.
    pub(super) fn message(&self, variables: &Variables<'_>) -> Option<String> {
        let Ok(CelValue::String(text)) = self.value(variables) else { return None };
        let text = text.trim();
        (!text.is_empty() && !text.contains('\n')).then(|| text.to_string())
    }

    /// Evaluates the expression.
    pub(super) fn value(&self, variables: &Variables<'_>) -> Result<CelValue, CelOutcome> {
        let program = self.program.as_ref().map_err(|why| CelOutcome::Unknown(why.clone()))?;
        program.execute(variables).map_err(|error| self.failure(error, program.is_plain()))
    }

    /// Evaluates the expression. Errors are those that the API server reports.
    pub(super) fn value_as_server(&self, variables: &Variables<'_>) -> Result<CelValue, CelOutcome> {
        let program = self.program.as_ref().map_err(|why| CelOutcome::Unknown(why.clone()))?;
        program.execute_as_server(variables).map_err(|error| self.failure(error, program.is_plain()))
    }

    /// Evaluates a boolean expression.
    pub(super) fn outcome(&self, variables: &Variables<'_>) -> CelOutcome {
        CelOutcome::new(self.value(variables))
    }

    /// Converts an evaluation error. Errors of the `cel` crate quote values, so their messages are not used.
    fn failure(&self, error: ExecutionError, is_plain: bool) -> CelOutcome {
        match error {
            ExecutionError::NoSuchKey(key) => CelOutcome::missing(&key, names_key(&self.text, &key)),
            ExecutionError::IndexOutOfBounds(at) => {
                let CelValue::Int(at) = at else { return CelOutcome::failed(OUT_OF_BOUNDS, OUT_OF_BOUNDS) };
                CelOutcome::failed(OUT_OF_BOUNDS, format!("{OUT_OF_BOUNDS}: {at}"))
            }
            ExecutionError::DivisionByZero(_) => CelOutcome::failed("division by zero", "division by zero"),
            ExecutionError::RemainderByZero(_) => CelOutcome::failed("division by zero", "modulus by zero"),
            ExecutionError::Overflow(..) => CelOutcome::failed("integer overflow", "integer overflow"),
            ExecutionError::UndeclaredReference(name) => {
                CelOutcome::Unknown(format!("undeclared reference to `{name}`"))
            }
            ExecutionError::FunctionError { message, .. } if is_over_limit(&error) => {
                CelOutcome::Unknown(message)
            }
            ExecutionError::FunctionError { function, message } if !PATTERNS.contains(&function.as_str()) => {
                let target = CONVERSIONS.iter().find(|(name, _)| *name == function);
                let server =
                    target.map(|(_, target)| format!("type conversion error from 'string' to '{target}'"));
                CelOutcome::failed(format!("invalid arguments for `{function}`"), server.unwrap_or(message))
            }
            // For some types, such as times, only the API server supports all comparisons.
            ExecutionError::NoSuchOverload
            | ExecutionError::UnexpectedType { .. }
            | ExecutionError::UnsupportedBinaryOperator(..)
            | ExecutionError::UnsupportedUnaryOperator(..)
            | ExecutionError::ValuesNotComparable(..)
            | ExecutionError::UnsupportedIndex(..)
                if is_plain =>
            {
                CelOutcome::failed("a value has the wrong type", NO_OVERLOAD)
            }
            _ => CelOutcome::Unknown("the expression uses an unsupported feature".into()),
        }
    }
}

const OUT_OF_BOUNDS: &str = "index out of bounds";
/// The API server's message if a function or operator does not exist for the types of its arguments.
const NO_OVERLOAD: &str = "no such overload";

/// Functions that convert strings, and the names of their results on the server.
const CONVERSIONS: [(&str, &str); 6] = [
    ("bool", "bool"),
    ("double", "double"),
    ("duration", "google.protobuf.Duration"),
    ("int", "int"),
    ("timestamp", "google.protobuf.Timestamp"),
    ("uint", "uint"),
];

/// Functions with regular expressions in Go syntax, which may not be supported here.
const PATTERNS: [&str; 3] = ["matches", "find", "findAll"];

/// A compiled CEL rule of a CRD.
#[derive(Debug)]
pub(super) struct CompiledRule {
    rule: CelRule,
    expression: Expression,
    /// The `messageExpression`, if any.
    message: Option<Expression>,
}

/// Returns true for a transition rule, which applies to updates only.
fn is_transition(rule: &CelRule) -> bool {
    names_key(&rule.rule, "oldSelf")
}

/// Compiles the rules that apply when an object is created, which are all except transition rules.
pub(super) fn compile_rules(rules: &[CelRule]) -> Vec<CompiledRule> {
    let applicable = rules.iter().filter(|rule| rule.optional_old_self || !is_transition(rule));
    let compiled = applicable.map(|rule| CompiledRule {
        rule: rule.clone(),
        expression: Expression::compile(&rule.rule),
        message: Expression::of_message(&rule.message_expression),
    });
    compiled.collect()
}

/// A rule that failed or could not be evaluated.
pub(super) struct FailedRule<'r> {
    pub(super) rule: &'r CelRule,
    pub(super) outcome: CelOutcome,
    /// The message from the CRD, if any.
    pub(super) message: Option<String>,
}

/// Evaluates the rules of a value. Returns the rules that failed or could not be evaluated.
pub(super) fn failed_rules<'r>(
    rules: &'r [CompiledRule],
    node: &Node,
    cursor: Cursor<'_>,
) -> Vec<FailedRule<'r>> {
    let mut variables = Variables::with_functions();
    if !rules.is_empty() {
        variables.add("self", value_of(node, cursor));
    }
    let outcomes = rules.iter().map(|compiled| (compiled, compiled.expression.outcome(&variables)));
    let unkept = outcomes.filter(|(_, outcome)| *outcome != CelOutcome::True);
    let reported = unkept.map(|(compiled, outcome)| {
        let rule = &compiled.rule;
        let made = compiled.message.as_ref().and_then(|message| message.message(&variables));
        let plain = || Some(rule.message.trim().to_string()).filter(|message| !message.is_empty());
        FailedRule { rule, outcome, message: made.or_else(plain) }
    });
    reported.collect()
}

thread_local! {
    static TIMESTAMP: Expression = Expression::compile("timestamp(text)");
    static DURATION: Expression = Expression::compile("duration(text)");
}

/// Converts a node to a CEL value. Field names are escaped as in expressions.
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
        let value = value_of(value, declared.unwrap_or_else(|| cursor.additional()));
        let name = if declared.is_some() {
            // Expressions may write a keyword with or without the escape.
            if is_reserved(name) {
                fields.insert(Key::String(Arc::new(name.to_string())), value.clone());
            }
            escaped(name)
        } else {
            name.to_string()
        };
        fields.insert(Key::String(Arc::new(name)), value);
    }
    CelValue::Map(CelMap { map: Arc::new(fields) })
}

#[expect(clippy::cast_precision_loss, reason = "numbers of the schema are doubles in CEL")]
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

/// Converts a string. Times and durations have their own CEL types.
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
    let mut variables = Variables::with_functions();
    variables.add("text", plain());
    format.with(|expression| expression.value(&variables)).unwrap_or_else(|_| plain())
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

/// Returns true for a keyword of CEL, which expressions may use as the name of a field.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Returns the name of a field as expressions must write it, with the escapes that Kubernetes documents.
pub(super) fn escaped(name: &str) -> String {
    if is_reserved(name) {
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
    use smp_merge::schema::{Gvk, Schema};

    fn outcome(expression: &str, object: &str) -> CelOutcome {
        let node: Node = object.parse().expect("test text");
        let mut variables = Variables::with_functions();
        variables.add("self", value_of(&node, Cursor::unknown()));
        Expression::compile(expression).outcome(&variables)
    }

    #[test]
    fn expressions_hold_fail_or_are_unknown() {
        assert_eq!(outcome("self.a < 3", "{a: 1}"), CelOutcome::True);
        assert_eq!(outcome("self.a < 3", "{a: 5}"), CelOutcome::False);
        assert_eq!(outcome("!has(self.b) || self.b == 'x'", "{a: 5}"), CelOutcome::True);
        assert_eq!(outcome("self.l.all(x, x.startsWith('a'))", "{l: [ab, ac]}"), CelOutcome::True);
        assert_eq!(outcome("quantity(self.q).isGreaterThan(quantity('1Gi'))", "{q: 2Gi}"), CelOutcome::True);
        assert_eq!(outcome("size(self.t) == 2 && self.t.size() == 2", "{t: \u{e4}\u{f6}}"), CelOutcome::True);
        let missing = |key: &str| CelOutcome::missing(key, true);
        assert_eq!(outcome("self.b == 1", "{a: 1}"), missing("b"));
        for text in [
            "size(self.b)",
            "size(self.b) > 0",
            "size(self.a) > 0 || size(self.b) > 0",
            "self.b > 0 || self.c > 0",
        ] {
            assert!(matches!(outcome(text, "{a: []}"), CelOutcome::MissingKey { .. }), "{text}");
        }
        for text in
            ["int(self.a) > 3", "self.a.b == 1", "self.l[2] == 1", "1 / size(self.l) == 1", "self.a < 3"]
        {
            let outcome = outcome(text, "{a: x, l: []}");
            assert!(matches!(outcome, CelOutcome::Failed { .. }), "{text} {outcome:?}");
        }
        assert!(matches!(outcome("self.a.matches('[')", "{a: x}"), CelOutcome::Unknown(_)));
        assert_eq!(outcome("self.a", "{a: x}"), CelOutcome::False, "a server takes it for false");
        assert!(matches!(outcome("nobody(self)", "{a: 1}"), CelOutcome::Unknown(_)));
        assert!(matches!(outcome("self.a +", "{a: 1}"), CelOutcome::Unknown(_)));
        assert!(matches!(outcome(&"(".repeat(100_000), "{}"), CelOutcome::Unknown(_)));
    }

    /// Random sequences of tokens. Most are not valid expressions, and some fail when they are evaluated.
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
    fn invalid_syntax_is_no_expression() {
        for text in ["object.", "(object", "\"a", "a b", "true ? 1", "object..a", "'\\d'", "self ==", "#"] {
            assert!(!may_be_expression(text), "{text}");
        }
        for text in ["object.?a.orValue(1)", "a[?0]", "[?a.?b]", "{?'a': a.?b}", "nobody(self)", "r'\\d'"] {
            assert!(may_be_expression(text), "{text}");
        }
        assert!(may_be_expression(&"(".repeat(100_000)), "unknown");
    }

    #[test]
    fn messages_quote_no_values() {
        for text in ["self.password + 1 == 2", "int(self.password) == 2", "self.password[0] == 'h'"] {
            let why = outcome(text, "{password: hunter2}").reason();
            assert!(!why.is_empty() && !why.contains("hunter2"), "{text}: {why}");
        }
        for text in ["{'gold': 1}[self.password] == 1", "{'hunter': 1, 'hunter22': 2}[self.password] == 1"] {
            assert_eq!(outcome(text, "{password: hunter2}").reason(), "a key is missing", "{text}");
        }
        assert_eq!(outcome("self['name'] == 1", "{password: hunter2}").reason(), "no such key: `name`");
    }

    #[test]
    fn names_of_fields_are_escaped() {
        for (name, want) in [("a", "a"), ("in", "__in__"), ("a-b.c", "a__dash__b__dot__c"), ("a_b", "a_b")] {
            assert_eq!(escaped(name), want);
        }
    }

    #[test]
    fn keywords_name_fields_with_and_without_the_escape() {
        let schema = serde_json::json!({"type": "object", "properties": {"namespace": {"type": "string"}}});
        let definition = serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]},
        });
        let schema = Schema::default().with_crds(&[definition]).expect("a schema");
        let thing = schema.kind(&Gvk::from_manifest("example.com/v1", "Thing")).expect("a kind");
        let mut variables = Variables::with_functions();
        variables.add("self", value_of(&"{namespace: a}".parse().expect("an object"), thing));
        let rule = Expression::compile("self.namespace == 'a' && self.__namespace__ == 'a'");
        assert_eq!(rule.outcome(&variables), CelOutcome::True);
    }

    #[test]
    fn transition_rules_are_skipped() {
        let rule = |text: &str| CelRule { rule: text.into(), ..CelRule::default() };
        assert_eq!(compile_rules(&[rule("self == oldSelf"), rule("self.myoldSelf == 1")]).len(), 1);
    }
}
