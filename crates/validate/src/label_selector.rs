//! Label selectors in the syntax of kubectl and of the API: `app=web,tier in (a, b),!legacy`.

use smol_str::SmolStr;

use smp_text::diagnostic::{Code, Diagnostic, Result};

/// A label selector such as `app=web,tier in (a, b),!legacy`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: SmolStr,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    In(Vec<SmolStr>),
    NotIn(Vec<SmolStr>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses a selector in Kubernetes' syntax. An empty selector matches everything.
    ///
    /// # Errors
    /// The text is not a label selector.
    pub fn parse(text: &str) -> Result<Self> {
        let mut requirements = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (requirement, after) = requirement(rest).map_err(|why| {
                let message = format!("`{text}` is not a valid label selector: {why}");
                Diagnostic::error(Code::InvalidValue, message)
                    .help("example: `app=web,tier in (front, back),!legacy`")
            })?;
            requirements.push(requirement);
            rest = after;
        }
        Ok(Self(requirements))
    }

    /// Returns true if the selector matches the labels that `get` returns.
    pub fn matches<'l>(&self, get: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|r| {
            let value = get(&r.key);
            match &r.operator {
                Operator::Exists => value.is_some(),
                Operator::Absent => value.is_none(),
                Operator::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
                Operator::NotIn(values) => value.is_none_or(|v| values.iter().all(|x| x != v)),
                Operator::Greater(n) => value.and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v > *n),
                Operator::Less(n) => value.and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v < *n),
            }
        })
    }

    /// Returns true if the selector is empty and thus matches everything.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_empty()
    }
}

/// A parsed part of a selector with the text after it, or the reason why the part is invalid.
type Parsed<'t, T> = std::result::Result<(T, &'t str), String>;

/// Parses one requirement, and the comma that follows it.
fn requirement(text: &str) -> Parsed<'_, Requirement> {
    let text = text.trim_start();
    let (absent, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim_start()));
    let (key, rest) = word(text);
    if key.is_empty() {
        return Err(format!("expected a label key, found `{text}`"));
    }
    if !is_key(key) {
        return Err(format!("`{key}` is not a valid label key"));
    }
    let rest = rest.trim_start();
    let (operator, rest) = if absent { (Operator::Absent, rest) } else { operator(key, rest)? };
    Ok((Requirement { key: key.into(), operator }, after_comma(rest)?))
}

fn operator<'t>(key: &str, rest: &'t str) -> Parsed<'t, Operator> {
    if rest.is_empty() || rest.starts_with(',') {
        return Ok((Operator::Exists, rest));
    }
    for (sign, not) in [("==", false), ("!=", true), ("=", false)] {
        if let Some(rest) = rest.strip_prefix(sign) {
            let (value, rest) = word(rest.trim_start());
            let values = vec![valid_value(value)?];
            return Ok((if not { Operator::NotIn(values) } else { Operator::In(values) }, rest));
        }
    }
    for (sign, make) in [(">", Operator::Greater as fn(i64) -> Operator), ("<", Operator::Less)] {
        if let Some(rest) = rest.strip_prefix(sign) {
            let (value, rest) = word(rest.trim_start());
            let number =
                value.parse().map_err(|_| format!("expected an integer after `{sign}`, found `{value}`"))?;
            return Ok((make(number), rest));
        }
    }
    let (name, rest) = word(rest);
    let make = match name {
        "in" => Operator::In as fn(Vec<SmolStr>) -> Operator,
        "notin" => Operator::NotIn,
        _ => return Err(format!("expected `=`, `!=`, `in` or `notin` after `{key}`, found `{name}{rest}`")),
    };
    let inner = rest.trim_start().strip_prefix('(').ok_or_else(|| format!("expected `(` after `{name}`"))?;
    let (inner, rest) = inner.split_once(')').ok_or("expected `)` after the values")?;
    Ok((
        make(inner.split(',').map(|value| valid_value(value.trim())).collect::<std::result::Result<_, _>>()?),
        rest,
    ))
}

/// Splits the text before the first whitespace, comma, parenthesis or operator.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || "=!<>(),".contains(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn after_comma(rest: &str) -> std::result::Result<&str, String> {
    let rest = rest.trim_start();
    match rest.strip_prefix(',').map(str::trim_start) {
        None if rest.is_empty() => Ok(rest),
        None => Err(format!("expected `,`, found `{rest}`")),
        Some("") => Err("expected a requirement after the last `,`".into()),
        Some(next) => Ok(next),
    }
}

fn valid_value(value: &str) -> std::result::Result<SmolStr, String> {
    if is_value(value) { Ok(value.into()) } else { Err(format!("`{value}` is not a valid label value")) }
}

/// Returns true for a valid label value: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit
/// at both ends.
fn is_value(value: &str) -> bool {
    let ends = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
    value.len() <= 63
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && ends(value.as_bytes().first())
        && ends(value.as_bytes().last())
}

/// Returns true for a valid label key: a non-empty label value, optionally with a DNS name and a slash before
/// it.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let dns = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    !name.is_empty() && is_value(name) && prefix.bytes().all(dns) && !key.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_are_parsed_and_matched() {
        let labels = [("app", "web"), ("tier", "front"), ("n", "5"), ("a.b/c", "x")];
        let get = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let table = [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app = web , tier in (front, back)", true),
            ("tier notin (front)", false),
            ("x notin (y)", true),
            ("app", true),
            ("!app", false),
            ("! x", true),
            ("n>4", true),
            ("n<5", false),
            ("a.b/c=x", true),
            ("app=", false),
            ("zzz=", false),
        ];
        for (text, want) in table {
            let selector = LabelSelector::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(selector.matches(get), want, "{text}");
        }
        for text in [
            "app=web,",
            "=x",
            "a b",
            "app in",
            "app in (a",
            "app=a b",
            "-a=b",
            "a=-b",
            ",",
            "a>x",
            "a in (b) c",
        ] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, reason) in [
            ("app in web", "expected `(` after `in`"),
            ("app in (web", "expected `)` after the values"),
            ("app web", "expected `=`, `!=`, `in` or `notin` after `app`, found `web`"),
            ("app=web,", "expected a requirement after the last `,`"),
            ("app=a b", "expected `,`, found `b`"),
            ("app=-b", "`-b` is not a valid label value"),
            ("-a", "`-a` is not a valid label key"),
            ("a>x", "expected an integer after `>`, found `x`"),
            (",", "expected a label key, found `,`"),
        ] {
            let error = LabelSelector::parse(text).expect_err(text);
            assert_eq!(error.message(), format!("`{text}` is not a valid label selector: {reason}"));
        }
    }
}
