//! Tests of invalid and valid objects.

use std::collections::BTreeSet;

use super::*;
use crate::tests::found;
use crate::{ValidateOptions, validate};
use smp_merge::schema::Schema;
use smp_text::diagnostic::Severity;
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_one};

/// Returns the codes of the findings in an object.
fn codes(text: &str, schema: &Schema) -> BTreeSet<&'static str> {
    let sources = SourceMap::default();
    let id = sources.add("object.yaml", text);
    let node = parse_one(&sources, id, ParseOptions::kubectl()).expect(text);
    validate(&node, schema, &ValidateOptions::default()).iter().map(|found| found.rule.code()).collect()
}

#[test]
fn examples_violate_only_their_rule_and_fixes_none() {
    for rule in VALIDATION_RULES.iter().filter(|rule| cfg!(feature = "cel") || rule.code() != "cel") {
        let definition =
            rule.definition().map(|text| text.parse::<Node>().expect("a definition").to_json_value());
        let schema = Schema::embedded().with_crds(definition.as_slice()).expect("a schema");
        let [wrong, fixed] = [rule.example, &rule.fixed_example()]
            .map(|text| text.split("---\n").flat_map(|object| codes(object, &schema)).collect::<Vec<_>>());
        assert_eq!((wrong, fixed), (vec![rule.code()], Vec::new()));
    }
}

#[test]
fn rules_are_documented() {
    let mut codes = BTreeSet::new();
    for rule in VALIDATION_RULES {
        assert!(codes.insert(rule.code()), "{}", rule.code());
        for text in [rule.text.meaning, rule.text.remedy, rule.why].into_iter().chain(rule.suppress) {
            assert!(text.ends_with('.'), "{}: {text}", rule.code());
        }
        assert!(rule.documentation.starts_with("https://kubernetes.io/docs/"), "{}", rule.code());
    }
}

#[test]
fn invalid_objects_violate_one_rule() {
    let objects = include_str!("invalid_objects.yaml").split("--- # ").skip(1);
    let objects = objects.filter(|object| cfg!(feature = "cel") || !object.starts_with("cel "));
    let wrong: Vec<String> = objects
        .filter_map(|object| {
            let (expected, text) = object.split_once('\n')?;
            let found = found(text, &ValidateOptions::default());
            let got: Vec<_> = found.iter().map(|one| format!("{} {}", one.rule.code(), one.path)).collect();
            let is_error = found.iter().all(|one| one.severity == Severity::Error && !one.at.is_none());
            (got != [expected] || !is_error).then(|| format!("{expected}: {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn valid_objects_violate_no_rule() {
    for text in include_str!("valid_objects.yaml").split("---\n").skip(1) {
        assert_eq!(found(text, &ValidateOptions::default()), [], "{text}");
    }
}
