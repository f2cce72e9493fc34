//! Without the feature `cel`, ValidatingAdmissionPolicies are rejected, because they would be stored but never
//! evaluated.

use serde_json::Value;

use crate::hook::Operation;
use crate::request::{Target, WriteOptions};
use crate::state::State;
use crate::status::{Failure, Result};

impl State {
    /// Rejects new policies.
    #[expect(clippy::unused_self, reason = "the signature of the feature `cel`")]
    pub(crate) fn review_policies(
        &self,
        operation: Operation,
        target: &Target,
        _object: Option<&Value>,
        _old: Option<&Value>,
        _options: &mut WriteOptions,
    ) -> Result<()> {
        if operation == Operation::Create && target.resource.gvk.kind == "ValidatingAdmissionPolicy" {
            return Err(Failure::not_implemented("ValidatingAdmissionPolicies; enable its feature `cel`"));
        }
        Ok(())
    }
}
