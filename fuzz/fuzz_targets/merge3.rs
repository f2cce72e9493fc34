//! Three texts, separated by zero bytes: the edited text of dest parses to the merged tree, and lines of unchanged
//! fields stay the same.
#![no_main]

use std::collections::HashMap;

use kubectl_smp_fuzz::read;
use libfuzzer_sys::fuzz_target;
use smp_merge::merge::{InferKeys, ListOrder, MergeOptions, Merged, merge3};
use smp_merge::schema::Schema;
use smp_overlay::package::{ChangedFile, Package, merge2_packages, merge3_packages};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{Node, Style, edit_text};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let texts: Vec<&str> = text.split('\0').collect();
    let &[original, updated, dest] = texts.as_slice() else { return };
    whole_files(original, updated, dest);
    let (Some(original), Some(updated), Some(before)) = (read(original), read(updated), read(dest)) else {
        return;
    };
    let ([original], [updated], [node]) = (&original[..], &updated[..], &before[..]) else { return };
    for options in [MergeOptions::lossless(), MergeOptions::kyaml(ListOrder::Append, InferKeys::common())] {
        let merged = merge3(Some(original), Some(updated), Some(node.clone()), &Schema::embedded(), &options);
        if let Ok(Merged { node: Some(after), .. }) = merged {
            edited_reads_as(dest, (&before, node), &after);
        }
    }
});

/// Checks that the edited text of dest parses to the merged tree, and keeps the lines of unchanged values.
fn edited_reads_as(dest: &str, (before, node): (&[Node], &Node), after: &Node) {
    let edited =
        edit_text(dest, Reading::Kustomize, before, &[Some(after.clone())]).expect("the text can be edited");
    let again = read(&edited);
    assert!(
        again.as_deref() == Some(std::slice::from_ref(after)),
        "{dest:?}\nwas edited to {edited:?}\nwhich is not {after:?}"
    );
    if dest.contains(['&', '*', '|', '>', '\r', '\u{85}', '\u{2028}', '\u{2029}', '?', '\u{feff}', '%']) {
        // Anchors are expanded, and unterminated texts and unusual line endings may cause a document to be
        // rewritten.
        return;
    }
    let mut lines = HashMap::<&str, usize>::new();
    for line in edited.lines() {
        *lines.entry(bare(line)).or_default() += 1;
    }
    let mut kept = Vec::new();
    kept_lines(dest, node, after, &mut kept);
    for line in kept {
        let left = lines.entry(bare(line)).or_default();
        assert!(*left > 0, "the line {line:?} of {dest:?} is not in {edited:?}");
        *left -= 1;
    }
}

/// Merges whole files with any number of documents. The results can be parsed.
fn whole_files(original: &str, updated: &str, dest: &str) {
    let sources = SourceMap::default();
    let package =
        |name: &str, text: &str| Package::from_text(name, text.to_owned(), Reading::Kustomize, &sources).ok();
    let (Some(original), Some(updated), Some(dest)) =
        (package("original", original), package("updated", updated), package("dest", dest))
    else {
        return;
    };
    let schema = Schema::embedded();
    let all_rules = [MergeOptions::lossless(), MergeOptions::kyaml(ListOrder::Append, InferKeys::name())];
    let changed = all_rules.iter().flat_map(|options| {
        let merged = merge3_packages(&original, &updated, &dest, &schema, options);
        merged.into_iter().chain(merge2_packages(&updated, &dest, &schema, options))
    });
    // Resources that occur twice in a file are merged by lines, with any result.
    let by_lines = |warning: &Diagnostic| warning.code() == Code::DuplicateResource;
    for changed in changed.filter(|changed| !changed.warnings.iter().any(by_lines)) {
        for text in changed.files.iter().filter_map(ChangedFile::text) {
            assert!(read(text).is_some(), "not YAML: {text:?}");
        }
        let stream = changed.stream();
        assert!(read(&stream).is_some(), "not a stream: {stream:?}");
    }
}

/// The first field of a map in a list entry may move to the line of the dash.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '-']).trim_end()
}

/// The lines of block-style fields that contain only a scalar, equal before and after.
fn kept_lines<'t>(text: &'t str, before: &Node, after: &Node, out: &mut Vec<&'t str>) {
    if before.meta.style == Style::Flow || before.span() != after.span() {
        return;
    }
    if let (Some(before), Some(after)) = (before.as_map(), after.as_map()) {
        for entry in before.entries() {
            let Some(value) = after.get(&entry.key.text) else { continue };
            if entry.value.scalar_text().is_some() {
                let line = line_of(text, &entry.value);
                out.extend(line.filter(|_| is_untouched(&entry.value, value)));
            } else {
                kept_lines(text, &entry.value, value, out);
            }
        }
    } else if let (Some(before), Some(after)) = (before.as_list(), after.as_list()) {
        for node in before {
            if let Some(other) = after.iter().find(|other| other.span() == node.span()) {
                kept_lines(text, node, other, out);
            }
        }
    }
}

/// A merge may add a comment to a field that it does not change.
fn is_untouched(before: &Node, after: &Node) -> bool {
    before == after && before.span() == after.span() && before.meta.comments == after.meta.comments
}

/// The line of a scalar that begins and ends on it, with its field name.
fn line_of<'t>(text: &'t str, node: &Node) -> Option<&'t str> {
    let span = node.span();
    let (start, end) = (span.start as usize, span.end as usize);
    let value = text.get(start..end).filter(|value| !value.is_empty() && !value.contains('\n'))?;
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[from..].lines().next()?;
    let name = text[from..start].trim_start_matches([' ', '-']);
    let is_simple = name.trim_end().ends_with(':') && !name.contains(['"', '\'', '#', '\t', '[', '{']);
    (is_simple && line.len() >= value.len()).then_some(line)
}
