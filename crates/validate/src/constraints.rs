//! The compiled constraints of a schema: patterns, limits, alternatives.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Number, Value as Json};
use smol_str::SmolStr;

use super::formats::has_format;
use super::rule::ValidationRule;
use super::rules;
use super::scalar::{integer, text_of};
use smp_merge::schema::Constraints;
use smp_text::gocompat::regexp;
use smp_text::yaml::{Node, Resolved, Value};

/// Constraints in compiled form.
#[derive(Debug, Default)]
pub(super) struct CompiledConstraints {
    pub(super) own: Constraints,
    pattern: Option<Regex>,
    /// The patterns that cannot be compiled, with the reason. Includes those of alternatives.
    pub(super) invalid_patterns: Vec<(SmolStr, String)>,
    all_of: Vec<CompiledConstraints>,
    any_of: Vec<CompiledConstraints>,
    one_of: Vec<CompiledConstraints>,
    not: Option<Box<CompiledConstraints>>,
    pub(super) properties: BTreeMap<SmolStr, CompiledConstraints>,
    items: Option<Box<CompiledConstraints>>,
    #[cfg(feature = "cel")]
    pub(super) rules: Vec<super::cel::CompiledRule>,
}

/// The rule and message of a constraint that a value violates.
pub(super) type ConstraintViolation = (&'static ValidationRule, String);

impl CompiledConstraints {
    /// Compiles constraints from JSON text.
    pub(super) fn compile(text: &str) -> Self {
        Self::from_constraints(serde_json::from_str(text).unwrap_or_default())
    }

    fn from_constraints(mut own: Constraints) -> Self {
        let all = |list: &mut Vec<Constraints>| {
            std::mem::take(list).into_iter().map(Self::from_constraints).collect()
        };
        let one =
            |boxed: Option<Box<Constraints>>| boxed.map(|inner| Box::new(Self::from_constraints(*inner)));
        let (pattern, invalid) = match own.pattern.as_deref().map(regexp::compile) {
            Some(Err(why)) => (None, vec![(own.pattern.clone().unwrap_or_default(), why)]),
            pattern => (pattern.and_then(Result::ok), Vec::new()),
        };
        let compiled = Self {
            pattern,
            invalid_patterns: invalid,
            all_of: all(&mut own.all_of),
            any_of: all(&mut own.any_of),
            one_of: all(&mut own.one_of),
            not: one(own.not.take()),
            items: one(own.items.take()),
            properties: std::mem::take(&mut own.properties)
                .into_iter()
                .map(|(name, inner)| (name, Self::from_constraints(inner)))
                .collect(),
            #[cfg(feature = "cel")]
            rules: super::cel::compile_rules(&own.rules),
            own,
        };
        compiled.with_invalid_alternatives()
    }

    fn with_invalid_alternatives(mut self) -> Self {
        let lists = [&self.all_of, &self.any_of, &self.one_of].into_iter().flatten();
        let all =
            lists.chain(self.not.as_deref()).chain(self.items.as_deref()).chain(self.properties.values());
        let invalid: Vec<_> = all.flat_map(|inner| inner.invalid_patterns.clone()).collect();
        self.invalid_patterns.extend(invalid);
        self
    }

    /// Returns true if an alternative contains a pattern that cannot be compiled. Such alternatives cannot be
    /// evaluated.
    fn has_invalid_alternative(&self) -> bool {
        self.invalid_patterns.len() > usize::from(self.own.pattern.is_some() && self.pattern.is_none())
    }

    /// Returns the constraints that a value violates.
    pub(super) fn violations(&self, node: &Node) -> Vec<ConstraintViolation> {
        let mut found = Vec::new();
        match &node.value {
            Value::Scalar(_) => self.scalar(node, &mut |violation| found.push(violation)),
            Value::List(list) => self.list(list, &mut |violation| found.push(violation)),
            Value::Map(map) => {
                self.size(map.len(), ("field", "fields"), &mut |violation| found.push(violation));
            }
        }
        found.extend(self.enumeration(node));
        found.extend(self.combination(node));
        found
    }

    /// Returns a violation if the value is not one of the allowed values.
    pub(super) fn enumeration(&self, node: &Node) -> Option<ConstraintViolation> {
        let possible = &self.own.enumeration;
        if possible.is_empty() || possible.iter().any(|value| is_equal(node, value)) {
            return None;
        }
        let words: Vec<String> = possible.iter().map(|value| format!("`{}`", plain_text(value))).collect();
        Some((&rules::enumeration::RULE, format!("must be one of {}", words.join(", "))))
    }

    fn scalar(&self, node: &Node, report: &mut dyn FnMut(ConstraintViolation)) {
        let Some(value) = node.resolve() else { return };
        if let Some(text) = text_of(value) {
            self.text(text, report);
        } else if !matches!(value, Resolved::Bool(_) | Resolved::Null) {
            self.number(value, report);
        }
    }

    fn text(&self, text: &str, report: &mut dyn FnMut(ConstraintViolation)) {
        let own = &self.own;
        if own.min_length.is_some() || own.max_length.is_some() {
            let length = text.chars().count() as u64;
            if let Some(least) = own.min_length.filter(|least| length < *least) {
                report((
                    &rules::schema_limits::RULE,
                    format!("must have at least {least} character{}", plural_end(least)),
                ));
            }
            if let Some(most) = own.max_length.filter(|most| length > *most) {
                report((
                    &rules::schema_limits::RULE,
                    format!("must have at most {most} character{}", plural_end(most)),
                ));
            }
        }
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(text)) {
            let pattern = own.pattern.as_deref().unwrap_or_default();
            report((&rules::schema_pattern::RULE, format!("must match the pattern `{pattern}`")));
        }
        if let Some(format) = own.format.as_deref().filter(|format| !has_format(format, text)) {
            report((&rules::value_format::RULE, format!("must have the format `{format}`")));
        }
    }

    fn number(&self, value: Resolved<'_>, report: &mut dyn FnMut(ConstraintViolation)) {
        let own = &self.own;
        if own.format.as_deref() == Some("int32") && integer(value).is_some_and(|n| i32::try_from(n).is_err())
        {
            report((
                &rules::schema_limits::RULE,
                "must be a 32-bit integer: the integer is out of range".into(),
            ));
        }
        if let Some(least) = &own.minimum {
            let order = compare(value, least);
            if order == Some(std::cmp::Ordering::Less)
                || (own.exclusive_minimum && order == Some(std::cmp::Ordering::Equal))
            {
                let word = if own.exclusive_minimum { "more than" } else { "at least" };
                report((&rules::schema_limits::RULE, format!("must be {word} {least}")));
            }
        }
        if let Some(most) = &own.maximum {
            let order = compare(value, most);
            if order == Some(std::cmp::Ordering::Greater)
                || (own.exclusive_maximum && order == Some(std::cmp::Ordering::Equal))
            {
                let word = if own.exclusive_maximum { "less than" } else { "at most" };
                report((&rules::schema_limits::RULE, format!("must be {word} {most}")));
            }
        }
        if let Some(step) = own.multiple_of.as_ref().filter(|step| !is_multiple(value, step)) {
            report((&rules::schema_limits::RULE, format!("must be a multiple of {step}")));
        }
    }

    fn list(&self, list: &[Node], report: &mut dyn FnMut(ConstraintViolation)) {
        self.size(list.len(), ("entry", "entries"), report);
        if self.own.unique_items && duplicate_entries(list).next().is_some() {
            report((&rules::duplicate_key::RULE, "must have unique entries".into()));
        }
    }

    fn size(&self, count: usize, (one, many): (&str, &str), report: &mut dyn FnMut(ConstraintViolation)) {
        let own = &self.own;
        let noun = |limit: u64| if limit == 1 { one } else { many };
        let (least, most) = match one {
            "field" => (own.min_properties, own.max_properties),
            _ => (own.min_items, own.max_items),
        };
        let count = count as u64;
        if let Some(least) = least.filter(|least| count < *least) {
            report((&rules::schema_limits::RULE, format!("must have at least {least} {}", noun(least))));
        }
        if let Some(most) = most.filter(|most| count > *most) {
            report((&rules::schema_limits::RULE, format!("must have at most {most} {}", noun(most))));
        }
    }

    fn combination(&self, node: &Node) -> Option<ConstraintViolation> {
        if self.has_invalid_alternative() {
            return None;
        }
        let violation = |text: &str| Some((&rules::schema_combination::RULE, text.to_string()));
        if !self.all_of.iter().all(|part| part.matches(node)) {
            return violation("must match all schemas in `allOf`");
        }
        if !self.any_of.is_empty() && !self.any_of.iter().any(|part| part.matches(node)) {
            return violation("must match at least one schema in `anyOf`");
        }
        if !self.one_of.is_empty() {
            match self.one_of.iter().filter(|part| part.matches(node)).count() {
                0 => return violation("must match exactly one schema in `oneOf`, but matches none"),
                1 => {}
                _ => return violation("must match exactly one schema in `oneOf`, but matches several"),
            }
        }
        match &self.not {
            Some(not) if not.matches(node) => violation("must not match the schema in `not`"),
            _ => None,
        }
    }

    /// Returns true if a value matches a schema, including its fields and entries.
    fn matches(&self, node: &Node) -> bool {
        if self.own.type_name.as_deref().is_some_and(|name| !has_type(node, name)) {
            return false;
        }
        let below = match &node.value {
            Value::Map(map) => {
                self.own.required.iter().all(|name| map.contains_key(name))
                    && self
                        .properties
                        .iter()
                        .all(|(name, inner)| map.get(name).is_none_or(|v| inner.matches(v)))
            }
            Value::List(list) => {
                self.items.as_ref().is_none_or(|items| list.iter().all(|e| items.matches(e)))
            }
            Value::Scalar(_) => true,
        };
        below && self.violations(node).is_empty()
    }
}

/// Returns the plural ending of a noun for a count: `s`, or nothing for 1.
fn plural_end(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn has_type(node: &Node, name: &str) -> bool {
    match (&node.value, node.resolve()) {
        (Value::Map(_), _) => name == "object",
        (Value::List(_), _) => name == "array",
        (_, Some(Resolved::Bool(_))) => name == "boolean",
        (_, Some(value)) if text_of(value).is_some() => name == "string",
        (_, Some(Resolved::Null) | None) => false,
        (_, Some(value)) => name == "number" || (name == "integer" && integer(value).is_some()),
    }
}

fn plain_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn is_equal(node: &Node, value: &Json) -> bool {
    match (node.resolve(), value) {
        (Some(resolved), Json::String(text)) => text_of(resolved) == Some(text),
        (Some(Resolved::Bool(own)), Json::Bool(value)) => own == *value,
        (Some(Resolved::Null), Json::Null) => true,
        (Some(own), Json::Number(number)) => compare(own, number) == Some(std::cmp::Ordering::Equal),
        (Some(_), _) => false,
        (None, _) => node.to_json_value() == *value,
    }
}

fn compare(value: Resolved<'_>, bound: &Number) -> Option<std::cmp::Ordering> {
    let whole = bound.as_i64().map(i128::from).or_else(|| bound.as_u64().map(i128::from));
    match (integer(value), whole) {
        (Some(value), Some(bound)) => Some(value.cmp(&bound)),
        _ => as_f64(value)?.partial_cmp(&bound.as_f64()?),
    }
}

#[expect(clippy::cast_precision_loss, reason = "as a server compares numbers with fractions")]
fn as_f64(value: Resolved<'_>) -> Option<f64> {
    match value {
        Resolved::Int(value) => Some(value as f64),
        Resolved::UInt(value) => Some(value as f64),
        Resolved::Float(value) => Some(value),
        _ => None,
    }
}

fn is_multiple(value: Resolved<'_>, step: &Number) -> bool {
    match (integer(value), step.as_i64()) {
        (Some(value), Some(step)) if step != 0 => value % i128::from(step) == 0,
        _ => match (as_f64(value), step.as_f64()) {
            (Some(value), Some(step)) if step != 0.0 => {
                let times = value / step;
                (times - times.round()).abs() < 1e-9
            }
            _ => true,
        },
    }
}

/// Returns the indices of entries that equal an earlier one.
pub(super) fn duplicate_entries(list: &[Node]) -> impl Iterator<Item = usize> {
    let mut seen = rustc_hash::FxHashSet::default();
    let is_seen = move |entry: &Node| !seen.insert(entry.to_json_value().to_string());
    list.iter().map(is_seen).enumerate().filter_map(|(index, is_seen)| is_seen.then_some(index))
}
