use super::prelude::*;

/// The text eight times.
macro_rules! eight {
    ($text:expr) => {
        concat!($text, $text, $text, $text, $text, $text, $text, $text)
    };
}

/// Sixteen annotations for each letter, all with the same long text.
macro_rules! keys {
    ($($letter:literal)*) => {
        concat!($(keys!(of $letter: "0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "a" "b" "c" "d" "e" "f")),*)
    };
    (of $letter:literal: $($digit:literal)*) => {
        concat!("   ", $(" ", $letter, $digit, ": *text,"),*, "\n")
    };
}

/// A ConfigMap with such annotations.
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
        meaning: "The annotations of an object have more than 256 KiB together.",
        remedy: "Keep large texts in a ConfigMap or outside of the cluster. `kubectl apply --server-side` writes no copy of the object into its annotations.",
    },
    why: "The API server limits the size of all keys and values of annotations together.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/",
    example: annotated!("a" "b" "c" "d" "e" "f"),
    fix: (keys!("b" "c" "d" "e" "f"), ""),
    checks: &[("ObjectMeta annotations", Check::Field(size))],
    ..ValidationRule::DEFAULT
};

fn size(of: Subject<'_>, field: &str, faults: &mut Faults) {
    let sizes = of.map(field).map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if sizes.sum::<usize>() > 256 * 1024 {
        faults.field(of, field, "annotations have at most 262144 bytes together");
    }
}
