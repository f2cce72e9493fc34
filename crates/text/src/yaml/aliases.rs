//! Resolves the aliases of a YAML text to the scalars to which they refer.

use std::ops::Range;

use granit_parser::Event;
use rustc_hash::FxHashMap;

use super::events::{CommentEvents, EventOptions, EventPosition, Receiver, read_events};
use crate::diagnostic::Result;
use crate::source::Reading;

/// The anchors and aliases seen so far.
#[derive(Default)]
struct AliasState {
    anchored: FxHashMap<usize, Range<usize>>,
    /// The scalar of each alias, by the position of the alias.
    aliases: FxHashMap<usize, Range<usize>>,
}

impl Receiver for AliasState {
    fn event(&mut self, event: Event<'_>, position: &EventPosition) -> Result<()> {
        match event {
            Event::Scalar(_, _, anchor, _) if anchor != 0 => {
                self.anchored.insert(anchor, position.range.clone());
            }
            Event::MappingStart(_, anchor, _) | Event::SequenceStart(_, anchor, _) => {
                self.anchored.remove(&anchor);
            }
            Event::Alias(anchor) => {
                let scalar = self.anchored.get(&anchor).cloned();
                self.aliases.extend(scalar.map(|scalar| (position.range.start, scalar)));
            }
            Event::DocumentEnd => self.anchored.clear(),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the byte ranges of the scalars to which aliases refer, by the byte at which each alias begins. Returns an
/// empty map if the text is not YAML.
pub fn resolve_scalar_aliases(text: &str) -> FxHashMap<usize, Range<usize>> {
    let options = EventOptions::manifests(CommentEvents::Skipped, Reading::Kustomize);
    let read = read_events(text, options, AliasState::default);
    read.map(|state| state.aliases).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_resolve_to_scalars() {
        let text = "a: &x one\nb: *x\nc: &y {d: 1}\ne: *y\nf: &x 'two'\ng: [*x]\n";
        let found = resolve_scalar_aliases(text);
        let resolved = |alias: usize| found.get(&alias).map(|range| &text[range.clone()]);
        let aliases: Vec<_> = text.match_indices('*').map(|(at, _)| resolved(at)).collect();
        assert_eq!(aliases, [Some("one"), None, Some("'two'")]);
        assert!(resolve_scalar_aliases("a: {*x").is_empty());
    }
}
