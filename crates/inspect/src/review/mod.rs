//! Compares two builds: the objects that changed, the fields, and the source lines that caused the changes.
//!
//! [`compare_builds`] pairs the objects of two builds and compares them by the schema. `forms` formats the result.
//! This module builds nothing, reads no files and prints nothing.

mod changes;
mod compare;
mod dangers;
mod defaults;
pub mod forms;
mod images;
mod locate;
mod many_targets;
mod noise;
mod pairing;
mod report;
mod suppress;

pub use self::changes::{Action, BuildChanges, BuiltSide, ChangeDanger, FieldChange, ObjectChange};
pub use self::compare::{CompareOptions, compare_builds};
pub use self::images::{ImageChange, image_changes};
pub use self::many_targets::add_many_targets_dangers;
pub use self::noise::NoiseRules;
pub use self::report::{Presence, Review, TargetOutcome, TargetReview};
pub use self::suppress::DangerSuppressions;
