//! CEL expressions from untrusted sources, evaluated within limits of time and memory.
//!
//! The `cel` crate cannot limit the cost of an evaluation. Therefore a compiled expression is rewritten: each part that
//! creates a value is wrapped in a function that counts the value's size and checks the deadline. This stops both loops
//! and long sums. Functions whose time is not linear (regular expressions, sets) run on a worker thread, which the
//! caller abandons at the time limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
#[cfg(test)]
use std::time::Instant;

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, ResolveResult, Value};

use super::cel_depth::depth;
use super::cel_functions::FUNCTIONS;
pub use super::cel_meter::is_over_limit;
use super::cel_meter::{METERED, limited, too_slow};
use super::cel_worker;
pub use super::names::names_key;

/// The maximum length of an expression. Longer or deeper ones are not compiled.
const LONGEST: usize = 16 * 1024;
/// The maximum depth of an expression.
const DEEPEST: usize = 500;

/// The maximum depth of expressions that are evaluated on the caller's stack and not on that of a worker thread.
const DEEPEST_INLINE: usize = 32;

/// Linear functions that return types whose operators `kube-cel` supports only in part.
const TYPED: [&str; 2] = ["timestamp", "duration"];

/// Functions whose time is linear in the size of their arguments. All others run on a worker thread.
const LINEAR: [&str; 24] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "string",
    "int",
    "uint",
    "double",
    "bytes",
    "bool",
    "dyn",
    "type",
    "lowerAscii",
    "upperAscii",
    "trim",
    "charAt",
    "substring",
    "split",
    "value",
    "hasValue",
    "or",
    "orValue",
    "optional.none",
    "optional.of",
];

/// The variables of an expression.
pub struct Variables<'p> {
    context: Context<'p>,
    outer: Option<&'p Variables<'p>>,
    values: Vec<(String, Value)>,
}

impl Variables<'_> {
    /// Creates a scope with the functions of CEL and Kubernetes but no variables.
    pub fn with_functions() -> Self {
        Self { context: FUNCTIONS.new_inner_scope(), outer: None, values: Vec::new() }
    }

    /// Creates a child scope.
    pub(crate) fn inner(&self) -> Variables<'_> {
        Variables { context: self.context.new_inner_scope(), outer: Some(self), values: Vec::new() }
    }

    /// Adds a variable.
    pub fn add(&mut self, name: &str, value: Value) {
        self.context.add_variable_from_value(name, value.clone());
        self.values.push((name.into(), value));
    }

    /// Creates a scope with these variables.
    fn from_values(values: Vec<(String, Value)>) -> Variables<'static> {
        let mut variables = Variables::with_functions();
        for (name, value) in values {
            variables.add(&name, value);
        }
        variables
    }

    /// Returns all variables, those of outer scopes first.
    fn all(&self) -> Vec<(String, Value)> {
        let mut values = self.outer.map(Variables::all).unwrap_or_default();
        values.extend(self.values.iter().cloned());
        values
    }
}

/// The reason why an expression was not compiled.
#[derive(Debug)]
pub enum NotCompiled {
    /// The expression is longer or deeper than the limits.
    TooLarge,
    /// The expression contains message literals, such as `Foo{a: 1}`, which the `cel` crate does not support.
    Unsupported,
    /// The text is not a valid expression.
    Invalid {
        /// The first message, without its list of expected tokens.
        first: String,
        /// All messages of the CEL parser.
        all: String,
    },
}

/// Returns the first line of a parser message, without the list of expected tokens.
fn short(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.split(" expecting ").next().unwrap_or_default().to_string()
}

/// Returns the syntax tree of an expression, which is at most `DEEPEST` levels deep.
pub(super) fn parse(text: &str) -> Result<IdedExpr, NotCompiled> {
    let parsed =
        if is_deep(text)? { cel_worker::with_stack(|| parse_here(text)) } else { Some(parse_here(text)) };
    parsed.unwrap_or(Err(NotCompiled::TooLarge))
}

/// Returns true if an expression needs a larger stack than that of the caller.
fn is_deep(text: &str) -> Result<bool, NotCompiled> {
    let depth = depth(text);
    if text.len() > LONGEST || depth > DEEPEST {
        return Err(NotCompiled::TooLarge);
    }
    Ok(depth > DEEPEST_INLINE)
}

/// Parses an expression on the stack of the caller.
fn parse_here(text: &str) -> Result<IdedExpr, NotCompiled> {
    let parser = Parser::default().enable_optional_syntax(true);
    parser.parse(text).map_err(|errors| NotCompiled::Invalid {
        first: errors.errors.first().map(|error| short(&error.msg)).unwrap_or_default(),
        all: errors.to_string(),
    })
}

/// A compiled expression with its limits.
#[derive(Debug)]
pub struct TimedProgram {
    root: IdedExpr,
    limit: Duration,
    /// True if the expression is evaluated on a worker thread.
    on_worker: bool,
    /// True if the expression only calls functions on values without Kubernetes' own types.
    is_plain: bool,
    /// True once the expression exceeded a limit. It is not evaluated again.
    is_costly: AtomicBool,
    /// Locked while a worker evaluates the expression, so that a slow expression abandons only one worker.
    turn: Mutex<()>,
}

impl TimedProgram {
    /// Compiles an expression. Each evaluation may take up to `limit`.
    ///
    /// # Errors
    /// Fails if the text is not an expression, is too large, or is not supported.
    pub fn compile(text: &str, limit: Duration) -> Result<Arc<Self>, NotCompiled> {
        let rewrite = || {
            let mut rewriting = Rewriting { root: parse_here(text)?, is_plain: true, is_linear: true };
            rewriting.run()?;
            Ok(rewriting)
        };
        let is_deep = is_deep(text)?;
        let rewritten = if is_deep { cel_worker::with_stack(rewrite) } else { Some(rewrite()) };
        let Rewriting { root, is_plain, is_linear } = rewritten.unwrap_or(Err(NotCompiled::TooLarge))?;
        let on_worker = is_deep || !is_linear;
        let (is_costly, turn) = (AtomicBool::new(false), Mutex::new(()));
        Ok(Arc::new(Self { root, limit, on_worker, is_plain, is_costly, turn }))
    }

    /// Returns the syntax tree of the expression, for callers that look up its names.
    pub fn expression(&self) -> &IdedExpr {
        &self.root
    }

    /// Returns true if the expression only calls functions on plain values, so that a type error is a mistake in the
    /// expression.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Evaluates the expression.
    pub fn execute(self: &Arc<Self>, variables: &Variables<'_>) -> ResolveResult {
        let _turn = self.on_worker.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        if self.is_costly.load(Ordering::Relaxed) {
            return Err(too_slow());
        }
        let value = if self.on_worker {
            let (program, values) = (Arc::clone(self), variables.all());
            cel_worker::evaluate(
                Box::new(move || program.evaluate(&Variables::from_values(values))),
                self.limit,
            )
        } else {
            self.evaluate(variables)
        };
        if value.as_ref().err().is_some_and(is_over_limit) {
            self.is_costly.store(true, Ordering::Relaxed);
        }
        value
    }

    /// Evaluates the expression. Returns the error that the API server reports: if both operands of `&&` or `||` fail,
    /// that of the first one, and a missing key for a field of a value that is not a map.
    pub(crate) fn execute_as_server(self: &Arc<Self>, variables: &Variables<'_>) -> ResolveResult {
        let value = self.execute(variables);
        match value {
            Err(error) if !self.on_worker && !is_over_limit(&error) => {
                let first = limited(self.limit, || Err(first_error(&self.root, error.clone(), variables)));
                if first.as_ref().err().is_some_and(is_over_limit) { Err(error) } else { first }
            }
            value => value,
        }
    }

    /// Evaluates the expression on the current thread, where only its metered steps check the deadline.
    fn evaluate(&self, variables: &Variables<'_>) -> ResolveResult {
        limited(self.limit, || Value::resolve(&self.root, &variables.context))
    }
}

/// The rewriting of an expression so that its steps are metered.
struct Rewriting {
    root: IdedExpr,
    is_plain: bool,
    /// True if all functions are linear.
    is_linear: bool,
}

impl Rewriting {
    fn run(&mut self) -> Result<(), NotCompiled> {
        let mut root = std::mem::take(&mut self.root);
        self.rewrite(&mut root)?;
        self.root = root;
        Ok(())
    }

    fn rewrite(&mut self, expression: &mut IdedExpr) -> Result<(), NotCompiled> {
        match &mut expression.expr {
            Expr::Literal(_) | Expr::Ident(_) => {}
            Expr::Unspecified | Expr::Struct(_) => return Err(NotCompiled::Unsupported),
            Expr::Select(select) => {
                self.rewrite(&mut select.operand)?;
                if !select.test {
                    // The field selection of the `cel` crate copies its result, and returns `false` for a field of a
                    // value that is not a map.
                    let field = Expr::Literal(LiteralValue::String(select.field.as_str().into()));
                    let operand = std::mem::take(&mut *select.operand);
                    expression.expr = call(operators::INDEX, vec![operand, IdedExpr { id: 0, expr: field }]);
                }
            }
            Expr::Call(_) => self.rewrite_call(expression)?,
            Expr::List(list) => {
                for element in &mut list.elements {
                    self.rewrite(element)?;
                    meter(element);
                }
            }
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    let EntryExpr::MapEntry(entry) = &mut entry.expr else {
                        return Err(NotCompiled::Unsupported);
                    };
                    for part in [&mut entry.key, &mut entry.value] {
                        self.rewrite(part)?;
                        meter(part);
                    }
                }
            }
            Expr::Comprehension(all) => {
                let outside = [&mut all.iter_range, &mut all.accu_init];
                let inside = [&mut all.loop_cond, &mut all.loop_step, &mut all.result];
                outside.into_iter().chain(inside).try_for_each(|part| self.rewrite(part))?;
                meter(&mut all.loop_cond);
            }
        }
        Ok(())
    }

    fn rewrite_call(&mut self, expression: &mut IdedExpr) -> Result<(), NotCompiled> {
        let Expr::Call(called) = &mut expression.expr else { return Ok(()) };
        let parts = called.target.as_deref_mut().into_iter().chain(&mut called.args);
        parts.into_iter().try_for_each(|part| self.rewrite(part))?;
        match called.func_name.as_str() {
            operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::IN => meter(expression),
            // The optional selection of the `cel` crate fails if the field is absent or the value is null.
            operators::OPT_SELECT | operators::OPT_INDEX => {
                called.func_name = operators::OPT_INDEX.into();
                none_of_null(expression);
            }
            operators::ADD => called.args.iter_mut().for_each(meter_made),
            name if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => {}
            name => {
                let namespace = match called.target.as_deref() {
                    Some(IdedExpr { expr: Expr::Ident(prefix), .. }) => format!("{prefix}.{name}"),
                    _ => String::new(),
                };
                let is_simple = LINEAR.contains(&name) || LINEAR.contains(&namespace.as_str());
                self.is_plain &= is_simple;
                self.is_linear &= is_simple || TYPED.contains(&name);
                called.target.as_deref_mut().into_iter().for_each(meter_made);
                called.args.iter_mut().for_each(meter_made);
            }
        }
        Ok(())
    }
}

/// Rewrites an optional selection from a variable so that it is `optional.none()` if the variable is null.
fn none_of_null(expression: &mut IdedExpr) {
    let Expr::Call(CallExpr { args, .. }) = &expression.expr else { return };
    let Some(variable @ IdedExpr { expr: Expr::Ident(_), .. }) = args.first() else { return };
    let new = |expr| IdedExpr { id: 0, expr };
    let is_null = call(operators::EQUALS, vec![variable.clone(), new(Expr::Literal(LiteralValue::Null))]);
    let optional = Some(Box::new(new(Expr::Ident("optional".into()))));
    let none = Expr::Call(CallExpr { func_name: "none".into(), target: optional, args: Vec::new() });
    let selection = std::mem::take(expression);
    expression.expr = call(operators::CONDITIONAL, vec![new(is_null), new(none), selection]);
}

/// Returns the error of the first failing operand in an expression that fails with `error`.
fn first_error(expression: &IdedExpr, error: ExecutionError, variables: &Variables<'_>) -> ExecutionError {
    if let Expr::Call(called) = &expression.expr
        && let (operators::LOGICAL_OR | operators::LOGICAL_AND, [first, second]) =
            (called.func_name.as_str(), &*called.args)
    {
        return match Value::resolve(first, &variables.context) {
            Err(error) => first_error(first, error, variables),
            Ok(_) => first_error(second, error, variables),
        };
    }
    let is_overload = matches!(error, ExecutionError::NoSuchOverload);
    let field = if is_overload { field_of_scalar(expression, variables) } else { None };
    field.map_or(error, |field| ExecutionError::no_such_key(&field))
}

/// Returns the first field that an expression selects from a value that is not a map.
fn field_of_scalar(expression: &IdedExpr, variables: &Variables<'_>) -> Option<String> {
    let Expr::Call(called) = &expression.expr else { return None };
    let parts = called.target.as_deref().into_iter().chain(&called.args);
    if let Some(field) = parts.into_iter().find_map(|part| field_of_scalar(part, variables)) {
        return Some(field);
    }
    let (operators::INDEX, [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(field)), .. }]) =
        (called.func_name.as_str(), &*called.args)
    else {
        return None;
    };
    let operand = Value::resolve(operand, &variables.context).ok()?;
    let has_no_fields = matches!(
        operand,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::String(_)
    );
    has_no_fields.then(|| field.inner().to_string())
}

fn call(name: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr { func_name: name.into(), target: None, args })
}

/// Wraps an expression in the metering function.
fn meter(expression: &mut IdedExpr) {
    if !matches!(expression.expr, Expr::Literal(_)) {
        let inner = std::mem::take(expression);
        expression.expr = call(METERED, vec![inner]);
    }
}

/// Wraps an expression in the metering function, except a variable, whose value already exists.
fn meter_made(expression: &mut IdedExpr) {
    if !matches!(expression.expr, Expr::Ident(_)) {
        meter(expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, variables: &Variables<'_>) -> ResolveResult {
        TimedProgram::compile(text, Duration::from_millis(200)).expect("an expression").execute(variables)
    }

    fn is_stopped(text: &str, variables: &Variables<'_>) -> bool {
        let start = Instant::now();
        let stopped = value(text, variables).as_ref().err().is_some_and(is_over_limit);
        stopped && start.elapsed() < Duration::from_secs(5)
    }

    #[test]
    fn loops_stop_at_the_time_limit_and_are_not_retried() {
        let digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
        let nested = (0..12).fold("true".to_string(), |inner, i| format!("{digits}.all(v{i}, {inner})"));
        let program = TimedProgram::compile(&nested, Duration::from_millis(50)).expect("an expression");
        let variables = Variables::with_functions();
        for _ in 0..100 {
            let problem = program.execute(&variables).expect_err("too many turns");
            assert!(is_over_limit(&problem), "{problem:?}");
        }
        assert_eq!(value("[1, 2].map(n, n + 1) == [2, 3]", &variables), Ok(Value::Bool(true)));
    }

    #[test]
    fn expressions_stop_at_the_limits() {
        let mut variables = Variables::with_functions();
        variables.add("s", Value::from("x".repeat(100_000).as_str()));
        let sum = vec!["a"; 400].join(" + ");
        let copies = vec!["s"; 2000].join(", ");
        for text in [
            format!("[s].map(a, {sum}) == []"),
            format!("size([{copies}]) == 1"),
            "s.replace('', s) == ''".into(),
            "s.split('').join(s) == ''".into(),
            "lists.range(10000000000).size() == 1".into(),
            "s.matches('(x+x+)+y') || sets.contains(s.split(''), s.split('').map(a, a + 'b'))".into(),
        ] {
            assert!(is_stopped(&text, &variables), "{}: {:?}", &text[..40], value(&text, &variables).err());
        }
        assert_eq!(value("size(s + s) == 200000", &variables), Ok(Value::Bool(true)));
    }

    #[test]
    fn large_or_unsupported_expressions_are_rejected() {
        let limit = Duration::from_secs(1);
        for text in ["Foo{a: 1}.a == 1", &"(".repeat(1000), &format!("a{}", ".a".repeat(2000))] {
            let problem = TimedProgram::compile(text, limit).expect_err("too large");
            assert!(!matches!(problem, NotCompiled::Invalid { .. }), "{problem:?}");
        }
        let deep = format!("1{} == 401", " + 1".repeat(400));
        assert_eq!(value(&deep, &Variables::with_functions()), Ok(Value::Bool(true)));
        assert!(value("'%.1000000000f'.format([1.5]) == ''", &Variables::with_functions()).is_err());
    }
}
