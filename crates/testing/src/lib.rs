//! What several tests share: running the program, temporary directories, fake servers, random cases.
//!
//! It is not published. Tests of the program, of the library and those with an API server use it, so that each helper is
//! compiled once.

pub mod corpus;
pub mod dice;
pub mod fake_server;
pub mod generate;
pub mod needs;
pub mod openapi;
pub mod overlays;
pub mod program;
pub mod seeds;
