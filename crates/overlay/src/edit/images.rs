//! `images`: new names, tags and digests.

use super::draft::Draft;
use super::fields::{entry_of, entry_text, position, set_text, update_list};
use rustc_hash::FxHashSet;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::Span;
use smp_text::yaml::{Entry, List, Map, Node};

/// The value that keeps the existing name, tag or digest.
const KEEP: &str = "*";

/// A change of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageEdit {
    /// The name in the manifests.
    pub name: String,
    /// The new name; empty to remove it, `*` to keep it.
    pub new_name: String,
    /// The new tag; empty to remove it, `*` to keep it.
    pub new_tag: String,
    /// The new digest; empty to remove it, `*` to keep it.
    pub digest: String,
}

impl ImageEdit {
    /// Parses `NAME[=NEW_NAME][:TAG][@DIGEST]`.
    ///
    /// # Errors
    /// The argument would change nothing.
    pub fn parse(argument: &str) -> Result<Self> {
        let (key, value) = argument.split_once('=').unwrap_or(("", argument));
        let (name, new_tag, digest) = split(value);
        if name == argument {
            let message = format!("the image `{argument}` has no new name, tag or digest");
            return Err(Diagnostic::error(Code::InvalidValue, message)
                .help("use NAME=NEW_NAME, NAME:TAG or NAME@DIGEST, or several of these together"));
        }
        let (name, new_name) = if key.is_empty() { (name, "") } else { (key, name) };
        Ok(Self {
            name: name.into(),
            new_name: new_name.into(),
            new_tag: new_tag.into(),
            digest: digest.into(),
        })
    }

    /// Returns the change, with each `*` replaced by the value of the entry.
    fn resolved(&self, entry: Option<&Node>) -> [(&'static str, String); 3] {
        let all = [("newName", &self.new_name), ("newTag", &self.new_tag), ("digest", &self.digest)];
        all.map(|(field, new)| {
            let old = || entry.map_or("", |entry| entry_text(entry, field)).to_string();
            (field, if new == KEEP { old() } else { new.clone() })
        })
    }
}

/// Returns the name of an image, without its tag and digest.
#[must_use]
pub fn image_name(image: &str) -> &str {
    split(image).0
}

/// Splits an image into name, tag and digest. A `:` before the first `/` belongs to the registry.
fn split(image: &str) -> (&str, &str, &str) {
    let from = image.find('/').unwrap_or(0);
    let find = |c: char| image[from..].find(c).map(|i| i + from);
    match (find(':'), find('@')) {
        (None, None) => (image, "", ""),
        (Some(tag), None) => (&image[..tag], &image[tag + 1..], ""),
        (Some(tag), Some(digest)) if tag < digest => {
            (&image[..tag], &image[tag + 1..digest], &image[digest + 1..])
        }
        (_, Some(digest)) => (&image[..digest], "", &image[digest + 1..]),
    }
}

/// Sets images. Of several entries for an image, the first one is kept. kustomize also sorts the list by name.
pub(super) fn set(draft: &mut Draft<'_>, edits: &[ImageEdit]) {
    let sorted = draft.options.as_kustomize;
    update_list(&mut draft.fields, "images", |images| {
        let mut seen = FxHashSet::default();
        images.retain(|entry| seen.insert(entry_text(entry, "name").to_string()));
        // Of several changes of an image, the last one is used.
        for (i, edit) in edits.iter().enumerate() {
            if !edits[i + 1..].iter().any(|later| later.name == edit.name) {
                set_one(images, edit);
            }
        }
        if sorted {
            images.sort_by(|a, b| entry_text(a, "name").cmp(entry_text(b, "name")));
        }
    });
}

fn set_one(images: &mut List, edit: &ImageEdit) {
    let i = images.iter().position(|entry| entry_text(entry, "name") == edit.name);
    let values = edit.resolved(i.map(|i| &images[i]));
    let Some(i) = i else {
        let [new_name, new_tag, digest] = &values;
        let rest = [new_name, new_tag, digest].map(|(field, text)| (*field, text.as_str()));
        let all: Vec<(&str, &str)> = std::iter::once(("name", edit.name.as_str())).chain(rest).collect();
        images.push(entry_of(&all));
        return;
    };
    if images[i].as_map().is_none() {
        images[i] = Node::map(Map::new());
    }
    if let Some(entry) = images[i].as_map_mut() {
        rename_replaced(entry, &values);
        for (field, text) in &values {
            set_text(entry, field, text);
        }
        set_text(entry, "tagSuffix", "");
    }
}

/// If a digest replaces a tag, renames the field to `digest`, and the reverse, so that the new field keeps the position
/// and the comments of the old one. A marker of Flux is not kept, because Flux would write a tag to `digest`.
fn rename_replaced(entry: &mut Map, values: &[(&str, String)]) {
    let is_set = |field| values.iter().any(|(name, text)| *name == field && !text.is_empty());
    for (old, new) in [("newTag", "digest"), ("digest", "newTag")] {
        if is_set(old) || !is_set(new) || position(entry, new).is_some() {
            continue;
        }
        if let Some(i) = position(entry, old) {
            let Entry { key, value } = &mut entry.entries_mut()[i];
            key.text = new.into();
            let line = value.meta.comments.as_ref().and_then(|comments| comments.line.as_ref());
            if line.is_some_and(|line| has_flux_marker(line)) {
                // Without its location, the field is treated as new, so that the comment at the end of its line is not
                // kept.
                key.meta.span = Span::default();
                value.meta.comments = None;
            }
        }
    }
}

/// Returns true if a comment is a marker of a value that Flux updates.
pub(super) fn has_flux_marker(comment: &str) -> bool {
    comment.contains("$imagepolicy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parsed() {
        let table = [
            ("a=b:1", Some(["a", "b", "1", ""])),
            ("a=b@sha256:1", Some(["a", "b", "", "sha256:1"])),
            ("a=b:1@sha256:1", Some(["a", "b", "1", "sha256:1"])),
            ("a=b", Some(["a", "b", "", ""])),
            ("a:1", Some(["a", "", "1", ""])),
            ("a:1@sha256:1", Some(["a", "", "1", "sha256:1"])),
            ("host:5000/a", None),
            ("host:5000/a:1", Some(["host:5000/a", "", "1", ""])),
            ("a=*:*@*", Some(["a", "*", "*", "*"])),
            ("a@x:y=z", Some(["a@x:y", "z", "", ""])),
            ("a", None),
            ("", None),
        ];
        for (argument, want) in table {
            let got = ImageEdit::parse(argument).ok();
            let got = got.as_ref().map(|e| [&e.name, &e.new_name, &e.new_tag, &e.digest].map(String::as_str));
            assert_eq!(got, want, "{argument:?}");
        }
    }
}
