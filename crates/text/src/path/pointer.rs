//! JSON pointers (RFC 6901): writing and reading their steps.

use std::borrow::Cow;

use smol_str::SmolStr;

/// Adds a step to a pointer.
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

/// The pointer with these steps.
pub fn pointer_to(steps: &[SmolStr]) -> String {
    let mut pointer = String::new();
    for step in steps {
        push_step(&mut pointer, step);
    }
    pointer
}

/// The name that a step of a pointer stands for. A `~` that escapes nothing is kept.
pub fn unescape(step: &str) -> Cow<'_, str> {
    // `~1` first: `~01` stands for `~1`.
    if step.contains('~') { step.replace("~1", "/").replace("~0", "~").into() } else { step.into() }
}

/// The names on the way of a pointer; text before the first `/` is ignored.
pub fn steps_of(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// Whether a pointer leads to what another one leads to, or into it.
pub fn is_within(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Does something with a pointer that goes one step further.
pub fn below<R>(pointer: &mut String, step: &str, work: impl FnOnce(&mut String) -> R) -> R {
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
    fn steps_are_escaped_and_taken_back() {
        let mut pointer = "/a".to_string();
        let inner = below(&mut pointer, "b/c~d", |pointer| below(pointer, "0", |pointer| pointer.clone()));
        assert_eq!((inner.as_str(), pointer.as_str()), ("/a/b~1c~0d/0", "/a"));
    }
}
