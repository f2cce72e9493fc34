//! What configures transformers: which fields each changes, and how kustomizations select resources.

mod crds;
mod defaults;
mod selector_args;
mod transformer_config;

pub use crds::config_of_crds;
pub use selector_args::SelectorArgs;
pub use transformer_config::TransformerConfig;
