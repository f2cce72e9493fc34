//! Which entry of a list an entry of a patch is about, when nothing may get lost silently.
//!
//! Keys that an entry lacks count with the schema's default; a key without default that the patch's
//! entry lacks matches anything, as long as that leaves one entry. `$patchMergeKey` names the keys of
//! one entry: then a key that it lacks must be absent, and one that is null must be there.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::tuples::{Keys, key_text};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::merge::directive::{Action, PATCH_MERGE_KEY, action};
use crate::yaml::Node;

/// The keys that tell the entries of a list apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeySet {
    /// None at all where only `$patchMergeKey` says which.
    keys: Keys,
    /// The keys that `$patchMergeKey` must name.
    must_name: Vec<SmolStr>,
    /// The keys that it may name; any when there are none here.
    may_name: Vec<SmolStr>,
}

/// What the match must have for a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Want {
    Text(SmolStr),
    Absent,
    Present,
    Anything,
}

/// What the match must have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pattern {
    wants: Vec<(SmolStr, Want)>,
    /// Whether defaults stand for keys that an entry of the list lacks.
    with_defaults: bool,
}

/// What an entry of a patch asks for.
#[derive(Debug)]
pub(super) struct Wish {
    /// Tried in turn.
    patterns: Vec<Pattern>,
    pub(super) delete: bool,
    /// Whether `$patchMergeKey` says what to look for.
    pub(super) named: bool,
    /// Whether the first of several matches counts.
    first_of_several: bool,
}

impl KeySet {
    pub(super) fn new(keys: Keys) -> Self {
        let must_name = keys.names().first().cloned().into_iter().collect();
        Self { keys, must_name, may_name: Vec::new() }
    }

    /// With what the schema says about `$patchMergeKey`, as far as it does.
    pub(super) fn with_directive_keys(mut self, must_name: Vec<SmolStr>, may_name: Vec<SmolStr>) -> Self {
        if !must_name.is_empty() {
            self.must_name = must_name;
        }
        self.may_name = may_name;
        self
    }

    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The texts of the keys of an entry, with defaults; none without its first key.
    pub(super) fn texts(&self, entry: &Node) -> Option<Vec<SmolStr>> {
        let texts: Vec<_> = self.keys.texts(entry).collect();
        texts.first().is_some_and(|text| !text.is_empty()).then_some(texts)
    }

    /// How many of the keys some entry has.
    pub(super) fn used(&self, lists: &[&[Node]]) -> usize {
        let is_used =
            |name: &&SmolStr| lists.iter().copied().flatten().any(|entry| !key_text(entry, name).is_empty());
        self.keys.names().iter().filter(is_used).count()
    }

    /// Reads what an entry of a patch asks for.
    pub(super) fn wish(&self, entry: &Node, trail: &Trail<'_>) -> Result<Wish> {
        let Some(map) = entry.as_map() else { return Err(self.missing_key(entry, trail)) };
        let delete = action(map, trail)? == Some(Action::Delete);
        if let Some(directive) = map.get(PATCH_MERGE_KEY) {
            let keys = self.named_keys(directive, trail)?;
            return self.named_wish(entry, keys, delete, trail);
        }
        let Some(texts) = self.texts(entry) else { return Err(self.missing_key(entry, trail)) };
        let want = |text: SmolStr| if text.is_empty() { Want::Anything } else { Want::Text(text) };
        let wants = self.keys.names().iter().cloned().zip(texts.into_iter().map(want)).collect();
        let patterns = vec![Pattern { wants, with_defaults: true }];
        Ok(Wish { patterns, delete, named: false, first_of_several: false })
    }

    fn named_wish(&self, entry: &Node, keys: Vec<SmolStr>, delete: bool, trail: &Trail<'_>) -> Result<Wish> {
        let mut wants = Vec::with_capacity(keys.len());
        for key in keys {
            let text = key_text(entry, &key);
            let want = match entry.get(&key) {
                _ if !text.is_empty() => Want::Text(text),
                _ if self.must_name.contains(&key) => return Err(self.missing_key(entry, trail)),
                Some(_) => Want::Present,
                None => Want::Absent,
            };
            wants.push((key, want));
        }
        let wildcard = wants.iter().any(|(_, want)| *want == Want::Present);
        let otherwise = |(key, want): &(SmolStr, Want)| {
            let want = match want {
                // Where no entry has it any more, the one without it is meant: the patch was applied before.
                Want::Present => Want::Absent,
                Want::Absent if !wildcard => {
                    self.keys.default_of(key).cloned().map_or(Want::Absent, Want::Text)
                }
                want => want.clone(),
            };
            (key.clone(), want)
        };
        let second = Pattern { wants: wants.iter().map(otherwise).collect(), with_defaults: !wildcard };
        let mut patterns = vec![Pattern { wants, with_defaults: false }];
        // A deletion does not take what only lacks a key.
        if !(delete && wildcard) {
            patterns.push(second);
        }
        Ok(Wish { patterns, delete, named: true, first_of_several: wildcard })
    }

    fn named_keys(&self, directive: &Node, trail: &Trail<'_>) -> Result<Vec<SmolStr>> {
        let wrong = |message: String| trail.error(Code::Directive, message).at(directive.span());
        let texts = directive.as_list().map(|list| list.iter().map(Node::as_str).collect::<Option<Vec<_>>>());
        let Some(keys) = texts.flatten().filter(|keys| !keys.is_empty()) else {
            return Err(wrong(format!("`{PATCH_MERGE_KEY}` must be a list of field names")));
        };
        if let Some(key) = self.must_name.iter().find(|key| !keys.contains(&key.as_str())) {
            return Err(wrong(format!("`{PATCH_MERGE_KEY}` must name the default merge key `{key}`")));
        }
        let foreign =
            |key: &&&str| !self.may_name.is_empty() && !self.may_name.iter().any(|may| may == **key);
        if let Some(key) = keys.iter().find(foreign) {
            let help = format!("`{PATCH_MERGE_KEY}` may name `{}` here", self.may_name.join("`, `"));
            return Err(wrong(format!("`{key}` is no merge key of this list")).help(help));
        }
        Ok(keys.into_iter().map(SmolStr::from).collect())
    }

    fn missing_key(&self, entry: &Node, trail: &Trail<'_>) -> Diagnostic {
        let Some(key) = self.must_name.first() else {
            let message = "no merge key is known for this list, and this entry names none";
            return trail.error(Code::MissingMergeKey, message).at(entry.span()).help(format!(
                "list the fields that tell entries apart under `{PATCH_MERGE_KEY}`, or give a schema"
            ));
        };
        let message = match entry.as_map() {
            Some(_) => format!("this entry lacks its merge key `{key}`"),
            None => format!("an entry of this list must be a map with `{key}`, not {}", entry.type_name()),
        };
        let help = format!("entries of this list are told apart by `{key}`: each entry needs a value there");
        trail.error(Code::MissingMergeKey, message).at(entry.span()).help(help)
    }

    /// Whether no two entries have the same keys; entries without their first key do not count.
    ///
    /// # Errors
    /// Two that have.
    pub(super) fn check_distinct(&self, entries: &[Node], trail: &Trail<'_>) -> Result<()> {
        let mut seen: FxHashMap<Vec<SmolStr>, usize> = FxHashMap::default();
        for (i, entry) in entries.iter().enumerate() {
            let Some(texts) = self.texts(entry).filter(|_| entry.get(PATCH_MERGE_KEY).is_none()) else {
                continue;
            };
            if let Some(first) = seen.get(&texts) {
                let first = entries.get(*first).map(Node::span).unwrap_or_default();
                let here = trail.texts(self.keys.names(), &texts);
                return Err(here
                    .error(Code::DuplicateMergeKey, "two entries of this list have the same merge key")
                    .label(entry.span(), "the second one")
                    .label(first, "the first one")
                    .help("remove one of the two, or give it another key"));
            }
            seen.insert(texts, i);
        }
        Ok(())
    }
}

/// The entries of a list, to be searched.
pub(super) struct Haystack<'k> {
    keys: &'k KeySet,
    /// Entries that were deleted leave a hole.
    pub(super) entries: Vec<Option<Node>>,
    /// For long lists: positions by the text of a key, with defaults or without.
    index: FxHashMap<(SmolStr, bool), FxHashMap<SmolStr, Vec<usize>>>,
}

/// Up to this many entries, a list is scanned instead of indexed.
const FEW: usize = 16;

impl<'k> Haystack<'k> {
    pub(super) fn new(entries: Vec<Node>, keys: &'k KeySet) -> Self {
        let entries = entries.into_iter().map(Some).collect();
        Self { keys, entries, index: FxHashMap::default() }
    }

    /// Deletes all entries that fit.
    ///
    /// # Errors
    /// As [`Haystack::find`], unless `$patchMergeKey` says what to look for.
    pub(super) fn delete(&mut self, wish: &Wish, entry: &Node, trail: &Trail<'_>) -> Result<()> {
        for pattern in &wish.patterns {
            let found = self.matches(pattern);
            if found.len() > 1 && !wish.named {
                return Err(self.ambiguous(&found, entry, trail));
            }
            for &at in &found {
                self.entries[at] = None;
            }
            if !found.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The position of the entry that fits.
    ///
    /// # Errors
    /// Several fit.
    pub(super) fn find(&mut self, wish: &Wish, entry: &Node, trail: &Trail<'_>) -> Result<Option<usize>> {
        for pattern in &wish.patterns {
            match self.matches(pattern).as_slice() {
                [] => {}
                [at] => return Ok(Some(*at)),
                [first, ..] if wish.first_of_several => return Ok(Some(*first)),
                several => return Err(self.ambiguous(several, entry, trail)),
            }
        }
        Ok(None)
    }

    fn matches(&mut self, pattern: &Pattern) -> Vec<usize> {
        let fits = |entries: &[Option<Node>], at: usize| {
            entries.get(at).and_then(Option::as_ref).is_some_and(|entry| fits(entry, pattern, self.keys))
        };
        let key = pattern.wants.iter().find_map(|(key, want)| match want {
            Want::Text(text) => Some((key, text)),
            _ => None,
        });
        let Some((key, text)) = key.filter(|_| self.entries.len() > FEW) else {
            return (0..self.entries.len()).filter(|&at| fits(&self.entries, at)).collect();
        };
        let (entries, keys) = (&self.entries, self.keys);
        let index = self.index.entry((key.clone(), pattern.with_defaults)).or_insert_with(|| {
            let mut index: FxHashMap<SmolStr, Vec<usize>> = FxHashMap::default();
            for (at, entry) in entries.iter().enumerate() {
                if let Some(text) = entry.as_ref().and_then(|e| text_of(e, key, pattern.with_defaults, keys))
                {
                    index.entry(text).or_default().push(at);
                }
            }
            index
        });
        let found = index.get(text).map_or(&[][..], Vec::as_slice);
        found.iter().copied().filter(|&at| fits(&self.entries, at)).collect()
    }

    fn ambiguous(&self, found: &[usize], entry: &Node, trail: &Trail<'_>) -> Diagnostic {
        let positions: Vec<_> = found.iter().map(|at| format!("[{at}]")).collect();
        let message =
            format!("{} entries match this one of the patch: {}", found.len(), positions.join(", "));
        let error = trail
            .error(Code::Ambiguous, message)
            .at(entry.span())
            .help(format!("give this entry more keys, or name them under `{PATCH_MERGE_KEY}`"));
        let spans = found.iter().filter_map(|&at| self.entries.get(at)?.as_ref()).map(Node::span);
        spans.fold(error, |error, span| error.label(span, "this one matches"))
    }
}

/// The text that an entry has, or counts as having, for a key.
fn text_of(entry: &Node, key: &str, with_defaults: bool, keys: &KeySet) -> Option<SmolStr> {
    let text = key_text(entry, key);
    if !text.is_empty() {
        return Some(text);
    }
    keys.keys.default_of(key).filter(|_| with_defaults).cloned()
}

fn fits(entry: &Node, pattern: &Pattern, keys: &KeySet) -> bool {
    entry.as_map().is_some()
        && pattern.wants.iter().all(|(key, want)| {
            let text = text_of(entry, key, pattern.with_defaults, keys);
            match want {
                Want::Text(want) => text.as_ref() == Some(want),
                Want::Absent => text.is_none(),
                Want::Present => text.is_some(),
                Want::Anything => true,
            }
        })
}
