//! The verbs of the API, one file for each kind of request.

pub(crate) mod body;
pub(crate) mod create;
pub(crate) mod delete;
mod json;
pub(crate) mod kinds;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod update;
pub(crate) mod watch;
