//! Decoding of scalars: the JSON values that a field of a type accepts.

use super::formats::{is_base64, is_micro_time, is_time};
use super::quantity::Quantity;
use super::rule::ValidationRule;
use super::rules::{value_format, wrong_type};
use smp_merge::schema::{Cursor, TypeKind};
use smp_text::gocompat::time::parse_duration;
use smp_text::yaml::Resolved;

/// The rule that a scalar violates, and the expected value.
pub(super) type RejectedScalar = (&'static ValidationRule, &'static str);

const INT32: &str = "a 32-bit integer";
const INT64: &str = "a 64-bit integer";

const QUANTITY: &str = "a quantity such as `500m` or `1Gi`";

/// Returns true if the expected value of a rejected scalar is an integer in a range.
pub(super) fn is_integer_range(expected: &str) -> bool {
    matches!(expected, INT32 | INT64)
}

/// Returns the name of an apimachinery type without its package prefix. Some of these types have a JSON decoder of
/// their own.
fn apimachinery_type(cursor: Cursor<'_>) -> Option<&str> {
    cursor.type_name().and_then(|name| name.strip_prefix("io.k8s.apimachinery.pkg."))
}

/// Checks a scalar that is not null as Go decodes it into a field of this type.
pub(super) fn check_scalar(
    value: Resolved<'_>,
    cursor: Cursor<'_>,
    format: Option<&str>,
) -> Result<(), RejectedScalar> {
    let check = |fits: bool, rule, expected| if fits { Ok(()) } else { Err((rule, expected)) };
    if let Some(name) = apimachinery_type(cursor) {
        return match (name, value) {
            ("api.resource.Quantity", Resolved::Str(text)) => {
                check(Quantity::parse(text).is_some(), &value_format::RULE, QUANTITY)
            }
            ("api.resource.Quantity", _) => check(is_number(value), &wrong_type::RULE, QUANTITY),
            ("util.intstr.IntOrString", _) => int_or_string(value),
            ("apis.meta.v1.Time", value) => time(value, is_time, "a time such as `2024-05-01T10:20:30Z`"),
            ("apis.meta.v1.MicroTime", value) => {
                time(value, is_micro_time, "a time such as `2024-05-01T10:20:30.000000Z`")
            }
            ("apis.meta.v1.Duration", value) => match text_of(value) {
                Some(text) => check(is_go_duration(text), &value_format::RULE, "a duration such as `1h30m`"),
                None => Err((&wrong_type::RULE, "a string")),
            },
            _ => plain(value, cursor.type_kind(), format),
        };
    }
    plain(value, cursor.type_kind(), format)
}

fn is_go_duration(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    unsigned == "0" || parse_duration(unsigned).is_some()
}

/// Returns the text of a scalar. Unquoted dates are strings for kubectl.
pub(super) fn text_of(value: Resolved<'_>) -> Option<&str> {
    match value {
        Resolved::Str(text) | Resolved::Timestamp(text) => Some(text),
        _ => None,
    }
}

fn time(value: Resolved<'_>, form: fn(&str) -> bool, expected: &'static str) -> Result<(), RejectedScalar> {
    match text_of(value) {
        Some(text) if form(text) => Ok(()),
        Some(_) => Err((&value_format::RULE, expected)),
        None => Err((&wrong_type::RULE, "a string")),
    }
}

fn int_or_string(value: Resolved<'_>) -> Result<(), RejectedScalar> {
    match integer(value) {
        Some(number) if i32::try_from(number).is_ok() => Ok(()),
        _ if text_of(value).is_some() => Ok(()),
        _ => Err((&wrong_type::RULE, "an integer or a string")),
    }
}

/// Returns the integer value of a scalar. `1.0` is an integer.
pub(super) fn integer(value: Resolved<'_>) -> Option<i128> {
    match value {
        Resolved::Int(value) => Some(value.into()),
        Resolved::UInt(value) => Some(value.into()),
        #[expect(clippy::cast_possible_truncation, reason = "a value that is too large stays too large")]
        Resolved::Float(value) if value.fract() == 0.0 => Some(value as i128),
        _ => None,
    }
}

fn plain(value: Resolved<'_>, kind: TypeKind, format: Option<&str>) -> Result<(), RejectedScalar> {
    let wrong = |expected| Err((&wrong_type::RULE, expected));
    match kind {
        TypeKind::Any => Ok(()),
        TypeKind::Object => wrong("a map"),
        TypeKind::Array => wrong("a list"),
        TypeKind::String => match text_of(value) {
            Some(text) if format == Some("byte") && !is_base64(text) => Err((&value_format::RULE, "base64")),
            Some(_) => Ok(()),
            None => wrong("a string"),
        },
        TypeKind::Integer => match integer(value) {
            Some(number) if in_range(number, format) => Ok(()),
            Some(_) => wrong(if format == Some("int32") { INT32 } else { INT64 }),
            None => wrong("an integer"),
        },
        TypeKind::Number if is_number(value) => Ok(()),
        TypeKind::Number => wrong("a number"),
        TypeKind::Boolean => {
            if matches!(value, Resolved::Bool(_)) {
                Ok(())
            } else {
                wrong("`true` or `false`")
            }
        }
        TypeKind::IntOrString => int_or_string(value),
    }
}

fn is_number(value: Resolved<'_>) -> bool {
    matches!(value, Resolved::Int(_) | Resolved::UInt(_) | Resolved::Float(_))
}

fn in_range(number: i128, format: Option<&str>) -> bool {
    if format == Some("int32") { i32::try_from(number).is_ok() } else { i64::try_from(number).is_ok() }
}

/// Checks a scalar that is not null against a field of a custom resource, whose schema is structural.
pub(super) fn check_structural_scalar(value: Resolved<'_>, kind: TypeKind) -> Result<(), RejectedScalar> {
    let wrong = |expected| Err((&wrong_type::RULE, expected));
    match kind {
        TypeKind::IntOrString if integer(value).is_some() || text_of(value).is_some() => Ok(()),
        TypeKind::IntOrString => wrong("an integer or a string"),
        _ => plain(value, kind, None),
    }
}
