//! Shared test helpers: running the program, temporary directories, fake servers, random cases.
//!
//! Not published. Tests of the program and the library use this crate, with or without an API server, so that each
//! helper is compiled once.

pub mod corpus;
pub mod dice;
pub mod fake_server;
pub mod generate;
pub mod openapi;
pub mod overlays;
pub mod program;
pub mod requirements;
pub mod seeds;
