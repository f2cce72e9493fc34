//! Unmodified clients work with `kubectl smp test-server`: kubectl, client-go, the Python client, and this program.

mod access;
mod go;
mod kubectl;
mod python;
mod rig;
mod smp;
mod workloads;
