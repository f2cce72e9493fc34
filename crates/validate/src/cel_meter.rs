//! Limits of a CEL evaluation: time, and the bytes of new values.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use kube_cel::cel::objects::Key;
use kube_cel::cel::{ExecutionError, FunctionContext, ResolveResult, Value};

/// A function that returns its argument, or fails once the time or memory limit is exceeded. Its name is not valid in
/// expressions.
pub(super) const METERED: &str = "@metered";

/// The maximum number of bytes of all values of an evaluation.
const MEMORY: usize = 16 << 20;

/// The remaining time and memory of an evaluation.
#[derive(Clone, Copy)]
struct Meter {
    deadline: Instant,
    memory: usize,
}

thread_local! {
    /// The limits of the expression that this thread is evaluating.
    static METER: Cell<Option<Meter>> = const { Cell::new(None) };
    /// The error of an argument. Functions of the `cel` crate hide such errors.
    static ARGUMENT_ERROR: RefCell<Option<ExecutionError>> = const { RefCell::new(None) };
}

const TOO_SLOW: &str = "the evaluation takes too long";
const NO_THREAD: &str = "the system cannot start a thread for the evaluation";
const TOO_LARGE: &str = "the evaluation needs too much memory";

fn limit_error(why: &str) -> ExecutionError {
    ExecutionError::function_error(METERED, why)
}

/// Returns the error of an expression that exceeds the time limit.
pub(super) fn too_slow() -> ExecutionError {
    limit_error(TOO_SLOW)
}

/// Returns the error of an expression for which no thread can be started.
#[cfg(not(target_family = "wasm"))]
pub(super) fn no_thread() -> ExecutionError {
    limit_error(NO_THREAD)
}

/// Returns true if an expression failed because it exceeded a limit.
pub fn is_over_limit(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::FunctionError { function, .. } if function == METERED)
}

/// Charges the bytes of a new value, and checks the deadline.
///
/// # Errors
/// Fails if a limit is exceeded.
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

/// Returns the value of an argument if the limits allow its size.
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

/// Estimates the size of a value in bytes.
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

/// Evaluates a function within limits.
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
