//! Expressions of CEL that end in time, whoever wrote them: loops within loops are a few letters.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, ParseErrors, Program, ResolveResult, Value};

/// A function that gives back what it is given, while there is time; no expression can name it.
const IN_TIME: &str = "@in_time";

thread_local! {
    /// When the expression that this thread is evaluating must have an answer.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// An expression that asks for the time in each turn of its loops.
#[derive(Debug)]
pub(crate) struct TimedProgram {
    root: IdedExpr,
    limit: Duration,
    /// Once it was too slow, it is not evaluated any more.
    is_slow: AtomicBool,
}

impl TimedProgram {
    /// Compiles an expression for contexts over [`functions`], and says how long each evaluation may take.
    ///
    /// # Errors
    /// Why it is no expression.
    pub(crate) fn compile(text: &str, limit: Duration) -> Result<Self, ParseErrors> {
        let program = Program::compile(text)?;
        let mut root = program.expression().clone();
        time_loops(&mut root);
        Ok(Self { root, limit, is_slow: AtomicBool::new(false) })
    }

    /// The expression, for who looks at its names.
    #[cfg(feature = "cluster")]
    pub(crate) fn expression(&self) -> &IdedExpr {
        &self.root
    }

    /// Its value.
    pub(crate) fn execute(&self, context: &Context<'_>) -> ResolveResult {
        if self.is_slow.load(Ordering::Relaxed) {
            return Err(too_slow());
        }
        let outer = DEADLINE.replace(Some(Instant::now() + self.limit));
        let value = Value::resolve(&self.root, context);
        DEADLINE.set(outer);
        if value.as_ref().err().is_some_and(is_too_slow) {
            self.is_slow.store(true, Ordering::Relaxed);
        }
        value
    }
}

/// The functions of CEL and of Kubernetes, and what asks for the time.
pub(crate) fn functions<'c>() -> Context<'c> {
    let mut context = Context::default().with_all();
    context.add_function(IN_TIME, |goes_on: bool| -> ResolveResult {
        let is_over = DEADLINE.get().is_some_and(|deadline| Instant::now() >= deadline);
        if is_over { Err(too_slow()) } else { Ok(Value::Bool(goes_on)) }
    });
    context
}

fn too_slow() -> ExecutionError {
    ExecutionError::function_error(IN_TIME, "the time is over")
}

/// Whether an expression has no value since it takes too long.
pub(crate) fn is_too_slow(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::FunctionError { function, .. } if function == IN_TIME)
}

/// How deep brackets are nested; those in texts are counted, too.
pub(crate) fn depth(text: &str) -> usize {
    let mut depth: usize = 0;
    let depths = text.bytes().map(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth
    });
    depths.max().unwrap_or_default()
}

/// Has all loops ask for the time before each turn.
fn time_loops(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select(select) => time_loops(&mut select.operand),
        Expr::Call(call) => {
            call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(time_loops);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(time_loops),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| time_entry(&mut entry.expr)),
        Expr::Struct(made) => made.entries.iter_mut().for_each(|entry| time_entry(&mut entry.expr)),
        Expr::Comprehension(all) => {
            let parts = [&mut all.iter_range, &mut all.accu_init, &mut all.loop_step, &mut all.result];
            parts.into_iter().for_each(time_loops);
            time_loops(&mut all.loop_cond);
            let condition = std::mem::take(&mut all.loop_cond);
            let call = CallExpr { func_name: IN_TIME.into(), target: None, args: vec![condition] };
            all.loop_cond = IdedExpr { id: 0, expr: Expr::Call(call) };
        }
    }
}

fn time_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => time_loops(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            time_loops(&mut entry.key);
            time_loops(&mut entry.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_end_in_time_and_are_not_begun_again() {
        let digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
        let nested = (0..12).fold("true".to_string(), |inner, i| format!("{digits}.all(v{i}, {inner})"));
        let program = TimedProgram::compile(&nested, Duration::from_millis(50)).expect("an expression");
        let context = functions();
        for _ in 0..100 {
            let problem = program.execute(&context).expect_err("too many turns");
            assert!(is_too_slow(&problem), "{problem:?}");
        }
        let short = TimedProgram::compile("[1, 2].map(n, n + 1) == [2, 3]", Duration::from_secs(1));
        assert_eq!(short.expect("an expression").execute(&context), Ok(Value::Bool(true)));
    }
}
