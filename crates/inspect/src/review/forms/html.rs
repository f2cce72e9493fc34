//! A review as a single HTML page that needs no other files and no network.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::json::review_to_json;
use super::summary;
use crate::review::Review;
use smp_text::diagnostic::{MessageRenderer, escaped_json};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns a review as an HTML page with search, filters and keyboard control.
///
/// The changes are embedded as JSON, and the script of the page inserts them only as text. The page forbids all other
/// scripts and all requests.
#[must_use]
pub fn review_to_html(review: &Review, renderer: &MessageRenderer<'_>) -> String {
    let mut json = review_to_json(review, renderer);
    json["summary"] = summary(review).into();
    let parts = [
        ("%STYLE_HASH%", hash(STYLE)),
        ("%SCRIPT_HASH%", hash(SCRIPT)),
        ("%STYLE%", STYLE.to_string()),
        ("%SCRIPT%", SCRIPT.to_string()),
    ];
    let page = parts.iter().fold(PAGE.to_string(), |page, (name, text)| page.replacen(name, text, 1));
    // Values may contain any text, including the placeholder of a part, so they are inserted last.
    page.replacen("%DATA%", &script_data(&json.to_string()), 1)
}

/// Escapes JSON for a script element, since `</script>` and `<!--` have a special meaning in it.
fn script_data(json: &str) -> String {
    escaped_json(json).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_data_cannot_end_its_element() {
        let data = script_data(r#"{"a":"</script><script>alert(1)</script><!--&amp;\u2028"}"#);
        assert!(!data.contains(['<', '>', '&']), "{data}");
        let value: serde_json::Value = serde_json::from_str(&data).expect("JSON");
        assert_eq!(value["a"], "</script><script>alert(1)</script><!--&amp;\u{2028}");
    }

    #[test]
    fn page_forbids_other_scripts_and_requests() {
        let page = PAGE.replacen("%SCRIPT_HASH%", &hash(SCRIPT), 1);
        assert!(page.contains("default-src 'none'") && page.contains(&hash(SCRIPT)));
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style") && !SCRIPT.contains("innerHTML"));
    }
}
