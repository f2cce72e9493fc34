//! Defaults of objects, and the forms that the server converts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use smp_merge::defaults;
use smp_merge::schema::Gvk;

use crate::state::State;
use crate::strategy::{set_template_generation, template_generation};
use crate::typed;

impl State {
    /// Sets the defaults of a decoded object.
    pub(crate) fn set_defaults(&self, object: &mut Value, gvk: &Gvk, is_custom: bool) {
        if gvk.kind == "Secret" && gvk.group.is_empty() {
            encode_secret(object);
        }
        if gvk.kind == "DaemonSet" && !is_custom {
            let count = template_generation(object);
            set_template_generation(object, count);
        }
        defaults::fill(object, &self.schema);
        if !is_custom {
            typed::complete(object, self.cursor(gvk));
        }
    }
}

/// Moves the texts of a Secret into its data.
fn encode_secret(secret: &mut Value) {
    let Some(Value::Object(texts)) = secret.as_object_mut().and_then(|fields| fields.remove("stringData"))
    else {
        return;
    };
    for (key, text) in texts {
        secret["data"][key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
}
