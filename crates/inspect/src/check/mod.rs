//! Lints targets that build for likely mistakes.
//!
//! Each file in `rules` contains one rule, and `registry` lists them all. Findings are diagnostics, and their safe
//! fixes are data. This module owns the rules, the suppressions and the report formats. It builds nothing and prints
//! nothing.

mod baseline;
mod build_failures;
mod causes;
mod changed_containers;
mod changed_object;
mod changed_target;
mod conclusion;
mod config;
mod controllers;
mod crds;
mod dangers;
mod duplicates;
mod external;
mod findings;
mod fix;
mod image_reference;
mod local_files;
mod names;
mod objects;
mod quoting;
mod reference;
mod registry;
pub mod report;
mod rule;
mod rules;
mod selection;
mod suppression;
mod target;
mod validation;
mod values;
mod walk;
mod workloads;

pub use self::baseline::{Baseline, BaselineHome, Baselines};
pub use self::changed_object::{ChangedObject, Danger};
pub use self::changed_target::ChangedTarget;
pub use self::conclusion::{Agreement, Conclusion, TargetFindings, check_target, is_unused_suppression};
pub use self::config::{CheckConfig, ConfiguredBaseline, IgnoredRule};
pub use self::dangers::{ImageName, MANY_TARGETS};
pub use self::duplicates::{PlainObjects, report_duplicates};
pub use self::external::{ControllerOutput, ExternalObject, ExternalObjects};
pub use self::findings::CheckReport;
pub use self::fix::{FixedFile, fixed_files};
pub use self::image_reference::{InvalidImagePart, invalid_image_part};
pub use self::local_files::LocalFiles;
pub use self::registry::{RULES, code_by_name, message_codes, nearest_code, rule_by_code};
pub use self::rule::{ExampleFiles, Finder, Rule, RuleDefault, RuleExample, RuleGroup, RuleScope};
pub use self::selection::RuleSelection;
pub use self::suppression::{KnownComments, SuppressionComments, SuppressionTrust, without_suppressed};
pub use self::target::CheckedTarget;
pub use self::validation::{IncompleteObjects, ObjectValidation};
pub use self::walk::FieldVisit;
