//! JSON pointers (RFC 6901): the steps to a value.

use smol_str::SmolStr;

use super::Rules;

/// The steps of a pointer; none when it is none.
///
/// Kubernetes' tools drop whatever stands before the first `/`, and leave a `~` that escapes nothing.
pub(super) fn steps(pointer: &str, rules: Rules) -> Option<Vec<SmolStr>> {
    if rules == Rules::Rfc6902 && !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    pointer.split('/').skip(1).map(|step| unescape(step, rules)).collect()
}

fn unescape(step: &str, rules: Rules) -> Option<SmolStr> {
    if !step.contains('~') {
        return Some(step.into());
    }
    let mut out = String::with_capacity(step.len());
    let mut rest = step;
    while let Some((before, after)) = rest.split_once('~') {
        out.push_str(before);
        let (plain, skip) = match after.as_bytes().first() {
            Some(b'0') => ('~', 1),
            Some(b'1') => ('/', 1),
            _ if rules == Rules::Kubernetes => ('~', 0),
            _ => return None,
        };
        out.push(plain);
        rest = after.get(skip..).unwrap_or_default();
    }
    out.push_str(rest);
    Some(out.into())
}

/// The position in a list of `length` entries that a step names.
pub(super) fn index(step: &str, length: usize, rules: Rules) -> Option<usize> {
    let position = match rules {
        Rules::Rfc6902 => {
            let canonical = step == "0" || !step.starts_with(['0', '+', '-']);
            step.parse::<usize>().ok().filter(|_| canonical)?
        }
        Rules::Kubernetes => {
            let number: i64 = step.parse().ok()?;
            match usize::try_from(number) {
                Ok(position) => position,
                Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?,
            }
        }
    };
    (position < length).then_some(position)
}

/// Writes steps as a pointer.
pub(super) fn show(steps: &[SmolStr]) -> String {
    steps.iter().fold(String::new(), |mut out, step| {
        out.push('/');
        out.push_str(&step.replace('~', "~0").replace('/', "~1"));
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pointer: &str, rules: Rules) -> Option<Vec<String>> {
        steps(pointer, rules).map(|steps| steps.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn pointers_are_split_and_unescaped() {
        // The pointer, whether the RFC allows it, its steps with `|` before each.
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
            assert_eq!(read(pointer, Rules::Rfc6902).map(show), strict.then(|| want.into()), "{pointer}");
            assert_eq!(read(pointer, Rules::Kubernetes).map(show).as_deref(), Some(want), "{pointer}");
        }
        assert_eq!(show(&["a/b".into(), "~".into()]), "/a~1b/~0");
    }

    #[test]
    fn indices() {
        // Step, by the RFC, by Kubernetes' tools; of a list of three.
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
            assert_eq!(index(step, 3, Rules::Rfc6902), strict, "{step}");
            assert_eq!(index(step, 3, Rules::Kubernetes), lenient, "{step}");
        }
    }
}
