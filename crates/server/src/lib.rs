//! A Kubernetes API server in memory, for tests of controllers and clients.
//!
//! [`TestCluster`] answers requests as kube-apiserver does: it validates, merges patches of all types according to the
//! schema of each kind, tracks the managers of fields, and reports changes to watches. It needs no port, no thread and
//! no binary, so each test can have its own cluster.
//!
//! It has no authorization, no admission webhooks, and no containers: `exec`, `log` and `proxy` are answered with 501.

mod accept;
mod admission;
mod body;
mod causes;
mod clock;
mod cluster;
mod controllers;
mod defaults;
mod definitions;
mod discovery;
mod faults;
mod hook;
mod immutable;
mod managers;
#[cfg(feature = "overlay")]
mod manifests;
mod metadata;
mod openapi;
#[cfg_attr(not(feature = "cel"), path = "without_cel/policies.rs")]
mod policies;
#[cfg_attr(not(feature = "cel"), path = "without_cel/policy_review.rs")]
mod policy_review;
mod request;
mod resources;
mod reviews;
mod selectors;
#[cfg(feature = "serve")]
pub mod serve;
mod service;
mod services;
mod state;
mod status;
mod store;
mod strategy;
mod subresources;
mod table;
mod testing;
mod typed;
mod validation;
mod verbs;

#[cfg(all(test, feature = "kube"))]
mod tests;

pub use body::Body;
pub use clock::Clock;
pub use cluster::{Builder, TestCluster};
pub use faults::LoggedRequest;
pub use hook::{Operation, Review};
pub use resources::Verb;
pub use service::ClusterService;
pub use state::{Controller, CustomResources, Validation};
pub use testing::FaultBuilder;
