//! Scalars as a server decodes them: which JSON values a field of a type takes.

use super::formats::{is_base64, is_micro_time, is_time};
use super::quantity::Quantity;
use super::rule::ValidationRule;
use super::rules::{format, wrong_type};
use smp_merge::schema::{Cursor, TypeKind};
use smp_text::gocompat::time::parse_duration;
use smp_text::yaml::Resolved;

/// Why a scalar is not taken: the rule, and what the place needs.
pub(super) type RefusedScalar = (&'static ValidationRule, &'static str);

const QUANTITY: &str = "a quantity such as `500m` or `1Gi`";

/// The end of the name of a definition that is decoded in its own way.
fn special(cursor: Cursor<'_>) -> Option<&str> {
    cursor.type_name().and_then(|name| name.strip_prefix("io.k8s.apimachinery.pkg."))
}

/// Whether a built-in kind's field takes this scalar, which is not null.
pub(super) fn decode(
    value: Resolved<'_>,
    cursor: Cursor<'_>,
    format: Option<&str>,
) -> Result<(), RefusedScalar> {
    let check = |fits: bool, rule, wanted| if fits { Ok(()) } else { Err((rule, wanted)) };
    if let Some(special) = special(cursor) {
        return match (special, value) {
            ("api.resource.Quantity", Resolved::Str(text)) => {
                check(Quantity::parse(text).is_some(), &format::RULE, QUANTITY)
            }
            ("api.resource.Quantity", _) => check(is_number(value), &wrong_type::RULE, QUANTITY),
            ("util.intstr.IntOrString", _) => int_or_string(value),
            ("apis.meta.v1.Time", value) => time(value, is_time, "a time such as `2024-05-01T10:20:30Z`"),
            ("apis.meta.v1.MicroTime", value) => {
                time(value, is_micro_time, "a time such as `2024-05-01T10:20:30.000000Z`")
            }
            ("apis.meta.v1.Duration", value) => match text_of(value) {
                Some(text) => check(is_go_duration(text), &format::RULE, "a duration such as `1h30m`"),
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

/// Dates without quotes are texts for kubectl.
pub(super) fn text_of(value: Resolved<'_>) -> Option<&str> {
    match value {
        Resolved::Str(text) | Resolved::Timestamp(text) => Some(text),
        _ => None,
    }
}

fn time(value: Resolved<'_>, form: fn(&str) -> bool, wanted: &'static str) -> Result<(), RefusedScalar> {
    match text_of(value) {
        Some(text) if form(text) => Ok(()),
        Some(_) => Err((&format::RULE, wanted)),
        None => Err((&wrong_type::RULE, "a string")),
    }
}

fn int_or_string(value: Resolved<'_>) -> Result<(), RefusedScalar> {
    match integer(value) {
        Some(number) if i32::try_from(number).is_ok() => Ok(()),
        _ if text_of(value).is_some() => Ok(()),
        _ => Err((&wrong_type::RULE, "an integer or a string")),
    }
}

/// The whole number that a scalar is; `1.0` is one.
pub(super) fn integer(value: Resolved<'_>) -> Option<i128> {
    match value {
        Resolved::Int(value) => Some(value.into()),
        Resolved::UInt(value) => Some(value.into()),
        #[expect(clippy::cast_possible_truncation, reason = "what is too large is cut, and too large still")]
        Resolved::Float(value) if value.fract() == 0.0 => Some(value as i128),
        _ => None,
    }
}

fn plain(value: Resolved<'_>, kind: TypeKind, format: Option<&str>) -> Result<(), RefusedScalar> {
    let wrong = |wanted| Err((&wrong_type::RULE, wanted));
    match kind {
        TypeKind::Any => Ok(()),
        TypeKind::Object => wrong("a map"),
        TypeKind::Array => wrong("a list"),
        TypeKind::String => match text_of(value) {
            Some(text) if format == Some("byte") && !is_base64(text) => Err((&format::RULE, "base64")),
            Some(_) => Ok(()),
            None => wrong("a string"),
        },
        TypeKind::Integer => match integer(value) {
            Some(number) if in_range(number, format) => Ok(()),
            Some(_) => wrong("an integer that is not so large"),
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

/// Whether a custom resource's field of a type takes this scalar, which is not null.
pub(super) fn structural(value: Resolved<'_>, kind: TypeKind) -> Result<(), RefusedScalar> {
    let wrong = |wanted| Err((&wrong_type::RULE, wanted));
    match kind {
        TypeKind::IntOrString if integer(value).is_some() || text_of(value).is_some() => Ok(()),
        TypeKind::IntOrString => wrong("an integer or a string"),
        _ => plain(value, kind, None),
    }
}
