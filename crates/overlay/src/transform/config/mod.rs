//! Configuration of transformers: the fields that each transformer changes, and the selectors of
//! kustomizations.

mod crds;
mod defaults;
mod selector_args;
mod transformer_config;

pub use crds::config_from_crds;
pub use selector_args::SelectorArgs;
pub use transformer_config::TransformerConfig;
