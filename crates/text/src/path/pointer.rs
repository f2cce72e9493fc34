//! Formatting and parsing of JSON pointers (RFC 6901).

use std::borrow::Cow;

use smol_str::SmolStr;

/// Appends a step to a pointer.
pub fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    if memchr::memchr2(b'~', b'/', step.as_bytes()).is_none() {
        pointer.push_str(step);
        return;
    }
    for c in step.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// Returns the pointer with these steps.
pub fn pointer_to(steps: &[SmolStr]) -> String {
    let mut pointer = String::new();
    for step in steps {
        push_step(&mut pointer, step);
    }
    pointer
}

/// Unescapes a step of a pointer. A `~` that is not part of an escape is kept.
pub fn unescape(step: &str) -> Cow<'_, str> {
    // `~1` must be replaced first: `~01` means `~1`.
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// Iterates over the unescaped steps of a pointer. Text before the first `/` is ignored.
pub fn pointer_steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// Returns true if `inner` points to the same value as `outer`, or to a value inside it.
pub fn is_within(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Calls `work` with the pointer extended by a step.
pub fn with_step<R>(pointer: &mut String, step: &str, work: impl FnOnce(&mut String) -> R) -> R {
    let length = pointer.len();
    push_step(pointer, step);
    let done = work(pointer);
    pointer.truncate(length);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_escaped_and_removed_again() {
        let mut pointer = "/a".to_string();
        let inner =
            with_step(&mut pointer, "b/c~d", |pointer| with_step(pointer, "0", |pointer| pointer.clone()));
        assert_eq!((inner.as_str(), pointer.as_str()), ("/a/b~1c~0d/0", "/a"));
    }
}
