//! Regular expressions and label selectors of targets: any text is accepted or rejected, and matching takes little
//! time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smp_overlay::resource::{LabelSelector, Pattern};

fuzz_target!(|texts: (&str, &str)| {
    let (pattern, text) = texts;
    if let Ok(pattern) = Pattern::new(pattern) {
        let found = pattern.matches(text);
        assert!(!pattern.is_any() || found);
        if let Some(exact) = pattern.exact() {
            assert!(pattern.matches(exact), "{exact:?}");
            assert_eq!(found, exact == text);
        }
    }
    if let Ok(selector) = LabelSelector::parse(pattern) {
        let _ = selector.matches(|key| (key == text).then_some(text));
    }
});
