//! The live preview of overlays: one model for the browser, the terminal and programs.
//!
//! A [`Session`] builds targets, and rebuilds those that changed files affect. Its views are data that front ends
//! display: [`TargetView`] (the output, its findings, and the tree of its bases, patches and generators), [`FieldView`]
//! (the origin of a value), [`DiffView`] and [`SourceView`]. Values of Secrets are hidden in all of them. No files are
//! written.

mod hunks;
mod model;
mod session;
#[cfg(feature = "tui")]
pub mod terminal;
mod views;
#[cfg(feature = "preview")]
pub mod web;

pub use self::hunks::DiffLine;
pub use self::model::{
    ChainLink, ChangedObject, DangerView, DiffView, ErrorView, Event, ExcerptLine, FieldView, FindingView,
    FoundLine, LineView, LocationView, ResourceView, SearchView, SourceView, TargetState, TargetSummary,
    TargetView,
};
pub use self::session::{EvaluatedTarget, Evaluation, Evaluator, Session};
