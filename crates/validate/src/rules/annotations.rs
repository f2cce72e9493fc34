use super::prelude::*;

/// Repeats a text eight times.
macro_rules! eight {
    ($text:expr) => {
        concat!($text, $text, $text, $text, $text, $text, $text, $text)
    };
}

/// Creates sixteen annotations for each letter, all with the same long text.
macro_rules! keys {
    ($($letter:literal)*) => {
        concat!($(keys!(of $letter: "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "a" "b" "c" "d" "e" "f")),*)
    };
    (of $letter:literal: $($digit:literal)*) => {
        concat!("   ", $(" ", $letter, $digit, ": *text,"),*, "\n")
    };
}

/// Creates a ConfigMap with such annotations.
macro_rules! annotated {
    ($($letter:literal)*) => {
        concat!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  annotations: {\n    a: &text \"",
            eight!(eight!("All work and no play makes a dull manifest. ")),
            "\",\n",
            keys!($($letter)*),
            "  }\ndata: {mode: prod}\n"
        )
    };
}

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "annotations",
        meaning: "The annotations of an object are larger than 256 KiB in total.",
        remedy: "Move large texts to the `data` of a ConfigMap, or out of the cluster. Use `kubectl apply \
          --server-side`, which does not store a copy of the object in an annotation.",
    },
    why: "The limit applies to all keys and values together, including the `last-applied-configuration` of \
          client-side `kubectl apply`. Large CustomResourceDefinitions and dashboards often exceed it.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/",
    example: annotated!("a" "b" "c" "d" "e" "f"),
    fix: (keys!("b" "c" "d" "e" "f"), ""),
    checks: &[("ObjectMeta annotations", Check::Field(size))],
    ..ValidationRule::DEFAULT
};

fn size(subject: Subject<'_>, field: &str, violations: &mut RuleViolations) {
    let sizes = subject.map(field).map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if sizes.sum::<usize>() > 256 * 1024 {
        violations.report_field(subject, field, "annotations must not exceed 262144 bytes in total");
    }
}
