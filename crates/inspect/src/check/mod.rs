//! Lints targets that build for likely mistakes.
//!
//! Each file in `rules` holds one rule, and `registry` lists them all. Findings are diagnostics; their safe fixes
//! are data. This module owns the rules, the suppressions and the report formats. It builds nothing and prints
//! nothing.

mod baseline;
mod beside;
mod causes;
mod conclude;
mod config;
mod controllers;
mod definitions;
mod deprecated;
mod findings;
mod fix;
mod names;
mod objects;
mod outside;
mod quoting;
mod reference;
mod refusals;
mod registry;
pub mod report;
mod rule;
mod rules;
mod selection;
mod silence;
mod target;
mod twins;
mod unbuilt;
mod walk;
mod workloads;

pub use self::baseline::{Baseline, BaselineHome, Baselines};
pub use self::beside::LocalFiles;
pub use self::conclude::{Conclusion, TargetFindings, look_at};
pub use self::config::{CheckConfig, ConfiguredBaseline, IgnoredRule};
pub use self::deprecated::{replace_deprecated, replaceable_fields};
pub use self::findings::CheckReport;
pub use self::fix::{FixedFile, fixed_files};
pub use self::outside::{ControllerOutput, External, Outside};
pub use self::refusals::{ObjectJudgement, Unfinished};
pub use self::registry::{RULES, code_named, message_codes, nearest_code, rule_of};
pub use self::rule::{ExampleFiles, Finder, Rule, RuleExample, RuleGroup, RuleReach, RuleStanding};
pub use self::selection::RuleSelection;
pub use self::silence::unsilenced;
pub use self::target::CheckedTarget;
pub use self::twins::{PlainObjects, tell_twins};
pub use self::walk::FieldVisit;
