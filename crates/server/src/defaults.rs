//! Defaults of objects, and deprecated fields that the server converts.

use serde_json::Value;
use smp_merge::defaults::{self, set_template_generation, template_generation};
use smp_merge::schema::Gvk;

use crate::state::State;
use crate::typed;

impl State {
    /// Sets the defaults of a decoded object.
    pub(crate) fn set_defaults(&self, object: &mut Value, gvk: &Gvk, is_custom: bool) {
        let cursor = self.cursor(gvk);
        defaults::encode_string_data(object);
        if gvk.kind == "DaemonSet" && !is_custom {
            let count = template_generation(object);
            set_template_generation(object, count);
        }
        if cursor.is_known() {
            defaults::fill_value(object, cursor);
        }
        if !is_custom {
            typed::complete(object, cursor);
        }
    }
}
