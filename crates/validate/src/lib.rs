//! Validates objects offline against the schema, the rules in the API server's code, and admission policies.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Contains one traversal of an object by its schema (`walk`), one file for each rule that the API server applies
//! besides the schema (`rules`), and CEL expressions behind the feature `cel`. Validates one object at a time, and does
//! not depend on resources, builds, files or clusters. Start with [`validate`] and `rules/mod.rs`, the registry of
//! rules.
//!
//! A finding with severity error is rejected by the API server with strict field validation (`fieldValidation:
//! Strict`). A warning is accepted, but fails in another kind of request or in the next release, or an expression
//! could not be evaluated. A note is a pattern that could not be checked, or a finding without consequences.
//!
//! Messages never quote values, so they disclose no secrets. The exception is the `messageExpression` of a CRD or
//! policy: it shows what its author chose, and is not evaluated for Secrets.
//!
//! ```
//! use smp_merge::schema::Schema;
//! use smp_validate::{ValidateOptions, validate};
//! use smp_text::yaml::Node;
//!
//! let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {retries: 3}}";
//! let found = validate(&text.parse::<Node>()?, &Schema::embedded(), &ValidateOptions::default());
//! assert_eq!(found[0].rule.code(), "wrong-type");
//! assert_eq!(found[0].path.to_string(), "data.retries");
//! # Ok::<(), smp_text::diagnostic::Diagnostic>(())
//! ```

// Table-driven tests are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

#[cfg(feature = "cel")]
mod cel;
#[cfg(feature = "cel")]
mod cel_depth;
#[cfg(feature = "cel")]
mod cel_fields;
#[cfg(feature = "cel")]
mod cel_functions;
#[cfg(feature = "cel")]
mod cel_meter;
#[cfg(feature = "cel")]
mod cel_worker;
mod constraints;
mod defaults;
mod formats;
mod label_selector;
mod labels;
mod lists;
mod misplaced_field;
mod names;
mod options;
#[cfg(feature = "cel")]
pub mod policy;
mod quantity;
mod rule;
mod rules;
mod scalar;
#[cfg(feature = "cel")]
mod server_fields;
#[cfg(feature = "cel")]
pub mod timed_cel;
mod unenforced;
mod versions;
mod violation;
mod walk;
mod walk_step;

pub use label_selector::LabelSelector;
pub use labels::selects;
pub use options::ValidateOptions;
#[cfg(feature = "cel")]
pub use policy::AdmissionPolicies;
pub use quantity::{compare_quantities, is_same_quantity};
pub use rule::{ValidationRule, ViolationCause};
pub use rules::VALIDATION_RULES;
// Rules that `check` and `package` treat specially.
#[doc(hidden)]
pub use rules::{
    CEL, DATA_KEY, DUPLICATE_KEY, IMAGE, MISSING_REQUIRED, NULL_VALUE, SCHEMA_PATTERN, UNKNOWN_FIELD,
    UNKNOWN_KIND, WRONG_TYPE,
};
pub use violation::Violation;
pub use walk::type_violations;

use smp_merge::schema::{Gvk, Schema};
use smp_text::yaml::Node;

/// Validates an object by its kind, its schema, the rules in the API server's code, and policies.
///
/// If the schema is unknown, only what all objects have in common is checked. A list of objects (`items` and a kind
/// that ends in `List`) is not an object itself and has no violations.
#[must_use]
pub fn validate(node: &Node, schema: &Schema, options: &ValidateOptions) -> Vec<Violation> {
    let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
    let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
    if gvk.kind.ends_with("List") && node.get("items").is_some() {
        return Vec::new();
    }
    let known = schema.kind(&gvk);
    let problem = versions::check(node, &gvk, known.is_some(), options);
    let mut found: Vec<Violation> = problem.into_iter().collect();
    if let Some(cursor) = known {
        found.extend(walk::walk(node, cursor, versions::decoding(&gvk), options));
    }
    #[cfg(feature = "cel")]
    if let Some(policies) = &options.policies {
        found.extend(policies.validate(node, schema));
    }
    found
}

#[cfg(test)]
mod tests;
