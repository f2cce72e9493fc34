//! What changes or makes resources: one file for each of kustomize's transformers and generators.
//!
//! Knows resources and the configuration of one transformer; knows nothing of kustomization files,
//! directories or the order of steps.
