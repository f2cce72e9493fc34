//! JSON pointers (RFC 6901): the steps of the path to a value.

use smol_str::SmolStr;

use smp_text::path::pointer_steps;

/// The rules by which operations are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Standard {
    #[default]
    Kubernetes,
    Rfc6902,
}

/// Splits a pointer into its steps. Returns `None` if the pointer is invalid.
///
/// Kubernetes' tools drop the text before the first `/`, and keep a `~` that is not part of an escape.
pub(super) fn steps(pointer: &str, standard: Standard) -> Option<Vec<SmolStr>> {
    if standard == Standard::Rfc6902 && !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    if standard == Standard::Rfc6902 && pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1']))
    {
        return None;
    }
    Some(pointer_steps(pointer).map(SmolStr::from).collect())
}

/// Returns the index that a step represents in a list of `length` entries.
pub(super) fn index(step: &str, length: usize, standard: Standard) -> Option<usize> {
    let position = match standard {
        Standard::Rfc6902 => {
            let canonical = step == "0" || !step.starts_with(['0', '+', '-']);
            step.parse::<usize>().ok().filter(|_| canonical)?
        }
        Standard::Kubernetes => {
            let number: i64 = step.parse().ok()?;
            match usize::try_from(number) {
                Ok(position) => position,
                Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
            }
        }
    };
    (position < length).then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::path::pointer_to;

    fn read(pointer: &str, standard: Standard) -> Option<Vec<String>> {
        steps(pointer, standard).map(|steps| steps.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn pointers_are_split_and_unescaped() {
        // The pointer, true if the RFC allows it, and its steps, each with `|` before it.
        let table = [
            ("", true, ""),
            ("/", true, "|"),
            ("/a/b", true, "|a|b"),
            ("/a~1b/c~0d/~01", true, "|a/b|c~d|~1"),
            ("a/b", false, "|b"),
            ("a", false, ""),
            ("/a~2/~", false, "|a~2|~"),
            ("/é~1☃", true, "|é/☃"),
        ];
        for (pointer, strict, want) in table {
            let show =
                |steps: Vec<String>| steps.iter().map(|step| format!("|{step}")).collect::<Vec<_>>().concat();
            assert_eq!(read(pointer, Standard::Rfc6902).map(show), strict.then(|| want.into()), "{pointer}");
            assert_eq!(read(pointer, Standard::Kubernetes).map(show).as_deref(), Some(want), "{pointer}");
        }
        assert_eq!(pointer_to(&["a/b".into(), "~".into()]), "/a~1b/~0");
    }

    #[test]
    fn indices() {
        // The step, and the index by the RFC and by Kubernetes' tools, for a list of three entries.
        let table = [
            ("0", Some(0), Some(0)),
            ("2", Some(2), Some(2)),
            ("3", None, None),
            ("01", None, Some(1)),
            ("+1", None, Some(1)),
            ("-1", None, Some(2)),
            ("-3", None, Some(0)),
            ("-4", None, None),
            ("-0", None, Some(0)),
            ("-", None, None),
            ("", None, None),
            ("1 ", None, None),
            ("99999999999999999999", None, None),
            ("-9223372036854775808", None, None),
        ];
        for (step, strict, lenient) in table {
            assert_eq!(index(step, 3, Standard::Rfc6902), strict, "{step}");
            assert_eq!(index(step, 3, Standard::Kubernetes), lenient, "{step}");
        }
    }
}
