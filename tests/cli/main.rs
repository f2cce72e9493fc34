//! Tests that run the program: its output, files, messages and errors.

#![allow(clippy::too_many_lines, reason = "tests contain their input and expected output")]

mod bad_input;
mod blame;
mod blame_cases;
mod blame_objects;
mod blame_text;
mod book;
#[cfg(all(unix, feature = "remote"))]
mod caches;
mod check;
mod check_findings;
mod completion;
mod deps;
mod differences;
mod edit;
mod examples;
#[cfg(unix)]
mod file_access;
mod git_driver;
mod help;
mod integrations;
mod kustomize;
mod limits;
mod locked_schemas;
mod merges;
mod messages;
mod mistakes;
#[cfg(feature = "cluster")]
mod offline;
mod overwritten_replacements;
mod package_files;
mod packages;
mod patches;
mod pictures;
#[cfg(feature = "preview")]
mod preview;
#[cfg(all(target_os = "linux", feature = "preview"))]
mod preview_latency;
#[cfg(feature = "preview")]
mod preview_page;
#[cfg(all(unix, feature = "tui"))]
mod preview_tui;
mod readme;
mod rejections;
mod review;
mod running;
mod secrets;
mod targets;
mod tree;
mod unmatched_references;
mod validation;
mod version;
mod watch;
#[cfg(unix)]
mod writing;
