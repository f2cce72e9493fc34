//! Rules of names, labels, annotations and owners.

use super::row::rule;
use crate::check::rule::Rule;
use smp_text::diagnostic::Severity;
use smp_validate::ViolationRule;

/// The text eight times.
macro_rules! eight {
    ($text:expr) => {
        concat!($text, $text, $text, $text, $text, $text, $text, $text)
    };
}

/// Annotations that have all the same long text: sixteen for each letter.
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
    ($keys:expr) => {
        concat!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  annotations: {\n    a: &text \"",
            eight!(eight!("All work and no play makes a dull manifest. ")),
            "\",\n",
            $keys,
            "  }\ndata: {mode: prod}\n"
        )
    };
}

refused! {
    ObjectName Error "\
apiVersion: v1
kind: ConfigMap
metadata: {name: Web_Settings}
data: {mode: prod}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-settings}
data: {mode: prod}
";
    FieldName Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: Web_Server, image: nginx}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web-server, image: nginx}]
";
    ReferenceName Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  priorityClassName: Very_High
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  priorityClassName: very-high
";
    QualifiedName Error "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {\"the app\": web}}
data: {mode: prod}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: web}}
data: {mode: prod}
";
    LabelValue Error "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: \"web server\"}}
data: {mode: prod}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: web-server}}
data: {mode: prod}
";
    Finalizer Error "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, finalizers: [keep]}
data: {mode: prod}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, finalizers: [example.com/keep]}
data: {mode: prod}
";
    Owner Error "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  ownerReferences:
  - {apiVersion: v1, kind: Node, name: one, uid: \"1\", controller: true}
  - {apiVersion: v1, kind: Node, name: two, uid: \"2\", controller: true}
" => "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  ownerReferences:
  - {apiVersion: v1, kind: Node, name: one, uid: \"1\", controller: true}
  - {apiVersion: v1, kind: Node, name: two, uid: \"2\", controller: false}
";
    Annotations Error
        annotated!(keys!("a" "b" "c" "d" "e" "f")) =>
        annotated!(keys!("a"));
}
