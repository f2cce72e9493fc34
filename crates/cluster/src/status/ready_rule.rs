//! The annotation with an additional readiness condition of an object.
//!
//! `condition=` is followed by a status condition, `jsonpath=` or `{` by a path, and `cel=` or any other text by a CEL
//! expression such as `object.status.ready > 2`. A CEL expression that starts with `{` (a map) requires `cel=`.

use super::fields::{self, StatusCondition};
#[cfg(feature = "cel")]
use super::ready_expression::ReadyExpression;
use smp_text::yaml::Node;

/// The annotation with an additional condition for an object to be ready. It has the syntax of `kubectl wait --for`, in
/// which `jsonpath=` may be omitted: `{.status.phase}=Running`, `jsonpath={.status.ip}` (any value),
/// `condition=Synced`, `condition=Paused=False`. With the feature `cel`, it may also be a CEL expression about
/// `object`: `object.status.replicas >= 3`, `cel=has(object.status.ip)`.
pub const READY: &str = "smp.kubectl.dev/ready";

/// A parsed readiness rule.
#[derive(Debug, Clone)]
pub(crate) enum ReadyRule {
    /// A status condition by type and status. Case is ignored.
    Condition { kind: String, status: String },
    /// A path that must select exactly one value. If `value` is set, the selected value must equal it.
    Path { text: String, steps: Vec<PathStep>, value: Option<String> },
    #[cfg(feature = "cel")]
    Expression(ReadyExpression),
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    Field(String),
    /// An index. A negative index counts from the end.
    Index(i64),
    All,
    /// The entries in which a field has a value.
    Filter {
        field: Vec<String>,
        value: String,
    },
}

impl ReadyRule {
    /// Parses the rule of an object, if it has one. The inner error is the reason why the rule is invalid.
    pub(crate) fn from_annotation(object: &Node) -> Option<Result<Self, String>> {
        let annotation = object.get_path(&["metadata", "annotations", READY])?;
        Some(annotation.as_str().ok_or_else(|| "it must be a string".to_string()).and_then(Self::parse))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(condition) = text.strip_prefix("condition=") {
            let (kind, status) = condition.split_once('=').unwrap_or((condition, "True"));
            if kind.is_empty() {
                return Err("the condition after `condition=` is missing".into());
            }
            return Ok(Self::Condition { kind: kind.into(), status: status.into() });
        }
        let path = text.strip_prefix("jsonpath=").or_else(|| text.starts_with('{').then_some(text));
        let Some(text) = path else {
            return expression(text.strip_prefix("cel=").unwrap_or(text));
        };
        let inner = text.strip_prefix('{').ok_or("use the form `{.status.phase}=Running`")?;
        let end = inner.rfind("}=").or_else(|| inner.strip_suffix('}').map(str::len));
        let end = end.ok_or("missing `}`")?;
        let value = inner[end + 1..].strip_prefix('=').map(|value| value.trim_matches(['\'', '"']));
        if value.is_some_and(str::is_empty) {
            return Err("missing value after `=`".into());
        }
        let (text, steps) = (text[..end + 2].to_string(), steps(&inner[..end])?);
        Ok(Self::Path { text, steps, value: value.map(str::to_string) })
    }

    /// Returns the reason why the rule is not satisfied, or `None` if it is.
    ///
    /// # Errors
    /// The rule can never be satisfied, for the given reason.
    #[cfg_attr(not(feature = "cel"), expect(clippy::unnecessary_wraps, reason = "only expressions fail"))]
    pub(crate) fn failure_reason(&self, object: &Node) -> Result<Option<String>, String> {
        match self {
            Self::Condition { kind, status } => Ok(unmet_condition(object, kind, status)),
            Self::Path { text, steps, value } => Ok(unmet_path(object, text, steps, value.as_deref())),
            #[cfg(feature = "cel")]
            Self::Expression(expression) => expression.failure_reason(object),
        }
    }
}

#[cfg(feature = "cel")]
fn expression(text: &str) -> Result<ReadyRule, String> {
    match text.trim() {
        "" => Err(
            "use the form `object.status.phase == 'Running'`, `{.status.phase}=Running` or `condition=Ready`"
                .into(),
        ),
        text => ReadyExpression::parse(text).map(ReadyRule::Expression),
    }
}

#[cfg(not(feature = "cel"))]
fn expression(_: &str) -> Result<ReadyRule, String> {
    Err("use the form `{.status.phase}=Running` or `condition=Ready`: this program was built without CEL"
        .into())
}

fn unmet_condition(object: &Node, kind: &str, status: &str) -> Option<String> {
    let conditions = match fields::conditions(object) {
        Ok(conditions) => conditions,
        Err(problem) => return Some(problem),
    };
    match conditions.iter().find(|condition| condition.condition_type.eq_ignore_ascii_case(kind)) {
        None => Some(format!("condition {kind} is missing, must be {status}")),
        Some(found) if is_outdated(found, object) => {
            Some(format!("condition {kind} is of an older generation"))
        }
        Some(found) if found.status.eq_ignore_ascii_case(status) => None,
        Some(found) => Some(format!("condition {kind} is {}, must be {status}", found.status)),
    }
}

/// Returns true if a controller wrote a condition for an older generation of the object. A condition without a
/// generation has that of the status.
fn is_outdated(condition: &StatusCondition, object: &Node) -> bool {
    let observed = condition.observed.or_else(|| fields::observed_generation(object).ok().flatten());
    let generation = fields::generation(object).ok().flatten();
    observed.zip(generation).is_some_and(|(observed, generation)| observed < generation)
}

fn unmet_path(object: &Node, text: &str, steps: &[PathStep], expected: Option<&str>) -> Option<String> {
    let found = steps
        .iter()
        .fold(vec![object], |nodes, step| nodes.into_iter().flat_map(|n| step.select(n)).collect());
    let expectation = expected.map_or_else(|| "be set".to_string(), |value| format!("be {value}"));
    match (found.as_slice(), expected) {
        ([], _) => Some(format!("{text} is not set, must {expectation}")),
        ([_], None) => None,
        ([one], Some(expected)) => match one.scalar_text() {
            Some(value) if value == expected => None,
            Some(value) => Some(format!("{text} is {value}, must {expectation}")),
            None => Some(format!("{text} is {}, must {expectation}", one.type_name())),
        },
        (many, _) => Some(format!("{text} matches {} values, must match one", many.len())),
    }
}

impl PathStep {
    /// Returns the values that the step selects. Null values are treated as missing.
    fn select<'n>(&self, node: &'n Node) -> Vec<&'n Node> {
        let entries = || -> Vec<&'n Node> {
            match (node.as_list(), node.as_map()) {
                (Some(list), _) => list.iter().collect(),
                (None, Some(map)) => map.iter().map(|(_, value)| value).collect(),
                (None, None) => Vec::new(),
            }
        };
        let found = match self {
            Self::Field(name) => node.get(name).into_iter().collect(),
            Self::All => entries(),
            Self::Index(index) => {
                let list = node.as_list().map(Vec::as_slice).unwrap_or_default();
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let at = if *index < 0 { index + length } else { *index };
                usize::try_from(at).ok().and_then(|at| list.get(at)).into_iter().collect()
            }
            Self::Filter { field, value } => {
                let path: Vec<&str> = field.iter().map(String::as_str).collect();
                let is_match = |entry: &&Node| {
                    entry.get_path(&path).and_then(Node::scalar_text).is_some_and(|text| text == value)
                };
                entries().into_iter().filter(is_match).collect()
            }
        };
        found.into_iter().filter(|node: &&Node| !node.is_null()).collect()
    }
}

/// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`.
fn steps(path: &str) -> Result<Vec<PathStep>, String> {
    let mut rest = path.trim().strip_prefix('$').unwrap_or(path.trim());
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, remaining) = if let Some(bracket) = rest.strip_prefix('[') {
            in_brackets(bracket)?
        } else {
            let name = rest.strip_prefix('.').ok_or_else(|| format!("invalid path step `{rest}`"))?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            match &name[..end] {
                "" => return Err(format!("invalid path step `{rest}`")),
                "*" => (PathStep::All, &name[end..]),
                field => (PathStep::Field(field.into()), &name[end..]),
            }
        };
        steps.push(step);
        rest = remaining;
    }
    if steps.is_empty() { Err("the path is empty".into()) } else { Ok(steps) }
}

/// Parses a step in brackets. Also returns the text after it.
fn in_brackets(text: &str) -> Result<(PathStep, &str), String> {
    let invalid_step =
        || format!("invalid path step `[{text}`: use a number, *, a quoted name, or a filter with ==");
    if let Some(filter) = text.strip_prefix("?(") {
        let (filter, remaining) = filter.split_once(")]").ok_or_else(invalid_step)?;
        let (field, value) = filter.split_once("==").ok_or_else(invalid_step)?;
        let field = field.trim().strip_prefix("@.").ok_or_else(invalid_step)?;
        let field = field.split('.').map(str::to_string).collect();
        return Ok((
            PathStep::Filter { field, value: value.trim().trim_matches(['\'', '"']).into() },
            remaining,
        ));
    }
    if let Some(quote @ ('\'' | '"')) = text.chars().next() {
        let (name, remaining) = text[1..].split_once([quote]).ok_or_else(invalid_step)?;
        return Ok((PathStep::Field(name.into()), remaining.strip_prefix(']').ok_or_else(invalid_step)?));
    }
    let (inner, remaining) = text.split_once(']').ok_or_else(invalid_step)?;
    let step = if inner == "*" {
        PathStep::All
    } else {
        PathStep::Index(inner.parse().map_err(|_| invalid_step())?)
    };
    Ok((step, remaining))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_evaluated_as_in_kubectl_wait() {
        let object: Node =
            "{metadata: {annotations: {a.b/c: d}}, spec: {count: 3, none: null}, status: {phase: Running, \
             ips: [a, b], conditions: [{type: Ready, status: 'True'}, {type: Synced, status: 'False'}]}}"
                .parse()
                .expect("YAML");
        let holds = |text: &str| {
            ReadyRule::parse(text).and_then(|rule| rule.failure_reason(&object)).map(|why| why.is_none())
        };
        for text in [
            "{.status.phase}=Running",
            "jsonpath={.status.phase}=Running",
            "jsonpath='{.status.phase}'=Running".replace('\'', "").as_str(),
            "{.status.phase}",
            "{.status.phase}='Running'",
            "{.spec.count}=3",
            "{$.status.ips[-1]}=b",
            "{.metadata.annotations['a.b/c']}=d",
            "{.status.conditions[?(@.type==\"Ready\")].status}=True",
            "condition=ready",
            "condition=Synced=false",
        ] {
            assert_eq!(holds(text), Ok(true), "{text}");
        }
        for text in [
            "{.status.phase}=Pending",
            "{.status.none}",
            "{.spec.none}",
            "{.status.ips[*]}=a",
            "{.status.ips}=a",
            "{.status.ips[2]}",
            "condition=Synced",
            "condition=Other",
        ] {
            assert_eq!(holds(text), Ok(false), "{text}");
        }
        let outdated = |observed: &str, of_condition: &str| {
            let object: Node = format!(
                "{{metadata: {{generation: 2}}, status: {{{observed} conditions: [{{type: Synced, status: 'True' {of_condition}}}]}}}}"
            )
            .parse()
            .expect("YAML");
            let rule = ReadyRule::parse("condition=Synced").expect("a rule");
            rule.failure_reason(&object).expect("a result").is_some()
        };
        assert!(outdated("", ", observedGeneration: 1"), "a condition of the previous generation");
        assert!(outdated("observedGeneration: 1,", ""), "a status of the previous generation");
        assert!(
            !outdated("", ", observedGeneration: 2")
                && !outdated("observedGeneration: 1,", ", observedGeneration: 2")
        );
        assert!(!outdated("", ""), "without generations");
        for text in ["", "x", "{.a", "{}", "{a}", "{.a}=", "{..a}", "{.a[b]}", "{.a[?(@.b>1)]}", "condition="]
        {
            assert!(holds(text).is_err(), "{text}");
        }
    }
}
