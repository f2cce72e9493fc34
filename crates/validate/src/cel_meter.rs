//! Counts what an evaluation of CEL uses: time, and the bytes of new values.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use kube_cel::cel::objects::Key;
use kube_cel::cel::{ExecutionError, FunctionContext, ResolveResult, Value};

/// A function that returns its argument while there is time and memory left; no expression can name it.
pub(super) const METERED: &str = "@metered";

/// The most bytes that the values of one evaluation may take together.
const MEMORY: usize = 16 << 20;

/// What an evaluation may still use.
#[derive(Clone, Copy)]
struct Meter {
    deadline: Instant,
    memory: usize,
}

thread_local! {
    /// The limits of the expression that this thread is evaluating.
    static METER: Cell<Option<Meter>> = const { Cell::new(None) };
    /// Why an argument has no value. Functions of the crate hide that.
    static ARGUMENT_ERROR: RefCell<Option<ExecutionError>> = const { RefCell::new(None) };
}

const TOO_SLOW: &str = "it takes too long";
const TOO_LARGE: &str = "it needs too much memory";

fn limit_error(why: &str) -> ExecutionError {
    ExecutionError::function_error(METERED, why)
}

/// The error of an expression that takes too long.
pub(super) fn too_slow() -> ExecutionError {
    limit_error(TOO_SLOW)
}

/// Whether an expression has no value since it exceeds the limits.
pub fn is_over_limit(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::FunctionError { function, .. } if function == METERED)
}

/// Counts bytes that an evaluation makes, and looks at the clock.
///
/// # Errors
/// A limit is exceeded.
pub(super) fn charge(bytes: usize) -> Result<(), ExecutionError> {
    let Some(mut meter) = METER.get() else { return Ok(()) };
    if Instant::now() >= meter.deadline {
        return Err(limit_error(TOO_SLOW));
    }
    let left = meter.memory.checked_sub(bytes);
    meter.memory = left.unwrap_or_default();
    METER.set(Some(meter));
    left.map(|_| ()).ok_or_else(|| limit_error(TOO_LARGE))
}

/// The value of an argument, if its size is within the limits.
pub(super) fn metered(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let argument = call.args.first().ok_or(ExecutionError::MissingArgumentOrTarget)?;
    let value = Value::resolve(argument, call.ptx).and_then(|value| charge(size(&value)).map(|()| value));
    if let Err(error) = &value
        && !matches!(error, ExecutionError::MissingArgumentOrTarget)
    {
        ARGUMENT_ERROR.set(Some(error.clone()));
    }
    value
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    const ENTRY: usize = 32;
    match value {
        Value::String(text) => ENTRY + text.len(),
        Value::Bytes(bytes) => ENTRY + bytes.len(),
        Value::List(list) => list.iter().map(size).sum::<usize>() + ENTRY,
        Value::Map(map) => {
            let key = |key: &Key| if let Key::String(text) = key { text.len() } else { 0 };
            map.map.iter().map(|(name, value)| ENTRY + key(name) + size(value)).sum::<usize>() + ENTRY
        }
        _ => ENTRY,
    }
}

/// Evaluates something within limits.
pub(super) fn limited(limit: Duration, work: impl FnOnce() -> ResolveResult) -> ResolveResult {
    let outer = METER.replace(Some(Meter { deadline: Instant::now() + limit, memory: MEMORY }));
    ARGUMENT_ERROR.set(None);
    let value = work();
    METER.set(outer);
    value.map_err(|error| match error {
        ExecutionError::MissingArgumentOrTarget => ARGUMENT_ERROR.take().unwrap_or(error),
        error => error,
    })
}
