//! The functions of CEL expressions: those of the `cel` crate, except that functions without limits are replaced.

use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, IdedExpr, ResolveResult, Value};

use super::cel_meter::{METERED, charge, metered};

/// The functions of the `cel` crate.
static ORIGINAL: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// The functions of CEL and Kubernetes.
pub(super) static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function(METERED, metered);
    context.add_function("size", size);
    context.add_function("lists.range", range);
    context.add_function("replace", replace);
    context.add_function("join", join);
    context.add_function("format", format);
    context.add_function("string", string);
    context
});

/// Returns the number of entries, fields, characters or bytes. Replaces `size` of the `cel` crate, which counts the
/// bytes of strings and hides the error of an argument.
fn size(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let value = match (&call.this, call.args.first()) {
        (Some(value), _) => value.clone(),
        (None, Some(argument)) => Value::resolve(argument, call.ptx)?,
        (None, None) => return Err(call.error("missing argument")),
    };
    let count = match value {
        Value::List(list) => list.len(),
        Value::Map(map) => map.map.len(),
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return Err(call.error("the value has no size")),
    };
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Returns the numbers from zero up to, but not including, `end`.
fn range(end: i64) -> ResolveResult {
    let count = usize::try_from(end)
        .map_err(|_| ExecutionError::function_error("lists.range", "negative argument"))?;
    charge(count.saturating_mul(size_of::<Value>()))?;
    Ok(Value::List(Arc::new((0..end).map(Value::Int).collect())))
}

/// Replaces parts of a string. The result may be as large as the product of the arguments.
fn replace(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let args = arguments(call)?;
    if let (Some(Value::String(text)), [Value::String(from), Value::String(to), ..]) = (&call.this, &*args) {
        let most = if from.is_empty() { text.len() + 1 } else { text.len() / from.len() };
        charge(most.saturating_mul(to.len()))?;
    }
    original(call, args)
}

/// Converts a value to a string. Replaces `string` of the `cel` crate, which does not convert booleans.
fn string(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let args = arguments(call)?;
    if let (None, [Value::Bool(value)]) = (&call.this, &*args) {
        return Ok(Value::String(Arc::new(value.to_string())));
    }
    original(call, args)
}

/// Joins strings with a separator. The result may be as large as the product of the arguments.
fn join(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let args = arguments(call)?;
    if let (Some(Value::List(list)), [Value::String(separator)]) = (&call.this, &*args) {
        charge(list.len().saturating_mul(separator.len()))?;
    }
    original(call, args)
}

/// Formats a string. A precision of more than three digits is rejected.
fn format(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let args = arguments(call)?;
    if let Some(Value::String(text)) = &call.this {
        let digits = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count();
        if text.split("%.").skip(1).any(|part| digits(part) > 3) {
            return Err(call.error("precision is too large"));
        }
    }
    original(call, args)
}

fn arguments(call: &FunctionContext<'_, '_>) -> Result<Vec<Value>, ExecutionError> {
    call.args.iter().map(|argument| Value::resolve(argument, call.ptx)).collect()
}

/// Calls the method of the same name in the `cel` crate.
fn original(call: &FunctionContext<'_, '_>, args: Vec<Value>) -> ResolveResult {
    let mut scope = ORIGINAL.new_inner_scope();
    let mut variable = |name: String, value: Value| {
        scope.add_variable_from_value(name.as_str(), value);
        IdedExpr { id: 0, expr: Expr::Ident(name) }
    };
    let target = call.this.clone().map(|this| Box::new(variable("this".into(), this)));
    let args = args.into_iter().enumerate().map(|(i, value)| variable(format!("arg{i}"), value)).collect();
    let expr = Expr::Call(CallExpr { func_name: call.name.into(), target, args });
    Value::resolve(&IdedExpr { id: 0, expr }, &scope)
}
