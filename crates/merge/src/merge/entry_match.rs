//! Matches entries of a patch with entries of a list, by the keys of the schema or the keys in `$patchMergeKey`.
//!
//! Validates the merge keys of the patch's entries.

#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::association::{Association, MultipleMatches, default_rule, patch_merge_keys, recommended_keys};
use super::directive::{Action, PATCH_MERGE_KEY, action, has_patch_merge_key, patch_merge_key_names};
use super::identity::{Identity, KeyComparison, KeyRule, KeyValue, MergeKeys, NullKey, PAIRWISE_LIMIT};
use super::rules::{MergeRules, PatchRules, Rules};
use super::trail::Trail;
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Result, plural};
use smp_text::yaml::Node;

/// The merge keys of a list while a patch is merged into it.
#[derive(Debug)]
pub(crate) struct ListKeys<'s> {
    rules: Rules,
    /// The keys of entries without `$patchMergeKey`; `None` if the list requires `$patchMergeKey`.
    keys: Option<MergeKeys>,
    multiple_matches: MultipleMatches,
    /// The keys that `$patchMergeKey` must contain.
    required_names: Vec<SmolStr>,
    /// The keys that `$patchMergeKey` may contain; empty if all are allowed.
    allowed_names: Vec<SmolStr>,
    /// The type of the entries.
    element: Cursor<'s>,
    list: Cursor<'s>,
}

/// The keys by which entries are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyPattern {
    /// The list's own merge keys.
    Own,
    /// Other keys.
    Keys(MergeKeys),
}

/// The condition with which the counterpart of a patch's entry is found.
#[derive(Debug)]
pub(crate) struct EntryMatch {
    /// The identities to search for, in order of precedence.
    pub(crate) identities: Vec<(KeyPattern, Identity)>,
    /// True if the keys are those of `$patchMergeKey`.
    pub(crate) by_patch_merge_key: bool,
    /// True if the entry is a deletion.
    pub(crate) is_deletion: bool,
    pub(crate) multiple_matches: MultipleMatches,
}

impl EntryMatch {
    /// Returns the quoted names of the list's merge keys that the entry has, or `None` for an entry with
    /// `$patchMergeKey`.
    pub(crate) fn own_keys(&self, list: &ListKeys<'_>) -> Option<Vec<String>> {
        let (pattern, _) = self.identities.first().filter(|_| !self.by_patch_merge_key)?;
        let names = match pattern {
            KeyPattern::Own => list.names(),
            KeyPattern::Keys(keys) => keys.names(),
        };
        Some(names.iter().map(|name| format!("`{name}`")).collect())
    }
}

impl<'s> ListKeys<'s> {
    /// Creates the keys of a list that merges as `association` and has entries of the type `element`.
    pub(crate) fn new(
        association: Association,
        list: Cursor<'s>,
        element: Cursor<'s>,
        rules: impl Into<Rules>,
    ) -> Self {
        let rules = rules.into();
        let (keys, several) = match association {
            Association::Keyed { keys, several } => (Some(keys), several),
            _ => (None, MultipleMatches::Rejected),
        };
        let mut must_name = patch_merge_keys(list);
        if must_name.is_empty() && rules.is_kustomize() {
            must_name.extend(keys.iter().filter_map(|keys| keys.names().first().cloned()));
        }
        Self {
            rules,
            keys,
            multiple_matches: several,
            required_names: must_name,
            allowed_names: recommended_keys(list),
            element,
            list,
        }
    }

    /// Returns the rules of the merge.
    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Returns the keys of entries without `$patchMergeKey`.
    pub(crate) fn keys(&self) -> Option<&MergeKeys> {
        self.keys.as_ref()
    }

    /// Returns the names of the list's own keys.
    pub(crate) fn names(&self) -> &[SmolStr] {
        self.keys.as_ref().map_or(&[], MergeKeys::names)
    }

    /// Returns the identity of an entry by the keys of a pattern.
    pub(crate) fn identify(&self, entry: &Node, pattern: &KeyPattern) -> Option<Identity> {
        match pattern {
            KeyPattern::Own => self.keys.as_ref()?.identify(entry),
            KeyPattern::Keys(keys) => keys.identify(entry),
        }
    }

    /// Returns the condition with which the counterpart of a patch's entry is found.
    ///
    /// # Errors
    /// An entry is not a map, lacks a key, or has a malformed directive.
    pub(crate) fn entry_match(&self, entry: &Node, at: &Trail<'_>) -> Result<EntryMatch> {
        let map = entry.as_map().ok_or_else(|| self.not_a_map_error(entry, at))?;
        let action = action(map, at)?;
        if action == Some(Action::Merge) && self.rules == Rules::Patch(PatchRules::Apiserver) {
            return Err(merge_directive_error(entry, at));
        }
        let delete = action == Some(Action::Delete);
        if let Some(directive) = map.get(PATCH_MERGE_KEY) {
            let named = self.named_values(&self.allowed_keys(entry, directive, at)?, entry, directive, at)?;
            return Ok(self.by_named_keys(&named, entry, action));
        }
        let own = self.keys.as_ref().and_then(|keys| Some((keys, keys.identify(entry)?)));
        let (keys, identity) = own.ok_or_else(|| self.missing_key_error(entry, at))?;
        let by = vec![by_own_keys(keys, identity)];
        Ok(EntryMatch {
            identities: by,
            by_patch_merge_key: false,
            is_deletion: delete,
            multiple_matches: self.multiple_matches,
        })
    }

    /// Returns how the values of keys from `$patchMergeKey` are compared.
    fn comparison(&self) -> KeyComparison {
        match self.rules {
            Rules::Merge(MergeRules::Kustomize { .. } | MergeRules::Kyaml) => KeyComparison::Text,
            Rules::Patch(_) | Rules::Merge(MergeRules::Lossless) => KeyComparison::Data,
        }
    }

    /// Returns the match by keys from `$patchMergeKey` with the entry's values. If a value is null, the key only has to
    /// be present.
    fn by_named_keys(
        &self,
        named: &[(SmolStr, KeyValue)],
        entry: &Node,
        action: Option<Action>,
    ) -> EntryMatch {
        let delete = action == Some(Action::Delete);
        let keys = |rule: &dyn Fn(&SmolStr, &KeyValue) -> KeyRule| {
            let keys = named.iter().map(|(name, value)| (name.clone(), rule(name, value)));
            MergeKeys::new(keys, NullKey::Absent, self.comparison())
        };
        let is_null = |value: &KeyValue| *value == KeyValue::Null;
        let by_presence = named.iter().any(|(_, value)| is_null(value));
        let exact = keys(&|_, value| if is_null(value) { KeyRule::Present } else { KeyRule::Optional });
        let otherwise = match self.rules {
            // A deletion must not remove an entry because it lacks the key.
            _ if by_presence && delete => None,
            // If no entry has the key, the patch was already applied, so the entry without the key matches.
            _ if by_presence => Some(keys(&|_, _| KeyRule::Optional)),
            Rules::Patch(PatchRules::Apiserver) => None,
            _ => Some(keys(&|name, _| self.rule_of_named(name))),
        };
        let mut by = vec![(KeyPattern::Keys(exact), named.iter().map(|(_, value)| value.clone()).collect())];
        let otherwise = otherwise.and_then(|keys| Some((keys.identify(entry)?, keys)));
        by.extend(otherwise.map(|(identity, keys)| (KeyPattern::Keys(keys), identity)));
        let several = if by_presence { MultipleMatches::First } else { MultipleMatches::Rejected };
        EntryMatch {
            identities: by,
            by_patch_merge_key: true,
            is_deletion: delete,
            multiple_matches: several,
        }
    }

    /// Returns the rule of a key from `$patchMergeKey`. Its default is used only if the list has merge keys in the
    /// schema.
    fn rule_of_named(&self, name: &str) -> KeyRule {
        let default = self.keys.as_ref().and_then(|_| default_rule(self.element, name, self.comparison()));
        default.unwrap_or(KeyRule::Optional)
    }

    fn named_values(
        &self,
        names: &[SmolStr],
        entry: &Node,
        directive: &Node,
        at: &Trail<'_>,
    ) -> Result<Vec<(SmolStr, KeyValue)>> {
        let value = |name: &SmolStr| {
            let value = entry.as_map().and_then(|map| self.comparison().value(map, name));
            let value = value.ok_or_else(|| {
                let message = format!("the key `{name}` in `{PATCH_MERGE_KEY}` is not a scalar");
                at.error(Code::Directive, message).at(directive.span())
            })?;
            Ok((name.clone(), value))
        };
        let values = names.iter().map(value).collect::<Result<Vec<_>>>()?;
        let is_missing =
            |(name, value): &&(SmolStr, KeyValue)| !value.is_present() && self.required_names.contains(name);
        let missing: Vec<&str> = values.iter().filter(is_missing).map(|(name, _)| name.as_str()).collect();
        if missing.is_empty() { Ok(values) } else { Err(missing_keys(&missing, names, entry, at)) }
    }

    fn allowed_keys(&self, entry: &Node, directive: &Node, at: &Trail<'_>) -> Result<Vec<SmolStr>> {
        let wrong = |message: String| at.error(Code::Directive, message).at(directive.span());
        let Some(keys) = patch_merge_key_names(entry).filter(|keys| !keys.is_empty()) else {
            return Err(wrong(format!("`{PATCH_MERGE_KEY}` must be a list of field names")));
        };
        if let Some(problem) = self.problem_of_names(&keys) {
            return Err(wrong(problem));
        }
        let is_named = |key: &&SmolStr| keys.contains(&key.as_str());
        let unnamed: Vec<&str> =
            self.required_names.iter().filter(|key| !is_named(key)).map(SmolStr::as_str).collect();
        if !unnamed.is_empty() {
            let default = quoted_keys("default merge key", &unnamed);
            return Err(wrong(format!("`{PATCH_MERGE_KEY}` must name the {default}")));
        }
        let allowed =
            |key: &&str| self.allowed_names.is_empty() || self.allowed_names.iter().any(|may| may == *key);
        let others: Vec<&str> = keys.iter().copied().filter(|key| !allowed(key)).collect();
        if !others.is_empty() {
            let help = format!("`{PATCH_MERGE_KEY}` may name `{}` here", self.allowed_names.join("`, `"));
            let are = plural(others.len(), "is not a merge key", "are not merge keys");
            return Err(wrong(format!("`{}` {are} of this list", others.join("`, `"))).help(help));
        }
        Ok(keys.into_iter().map(SmolStr::from).collect())
    }

    /// Returns an error message for the names in `$patchMergeKey` if one occurs twice or is not a field of the type.
    fn problem_of_names(&self, keys: &[&str]) -> Option<String> {
        let mut seen = FxHashSet::default();
        if let Some(duplicate) = keys.iter().find(|key| !seen.insert(**key)) {
            return Some(format!("`{PATCH_MERGE_KEY}` names `{duplicate}` twice"));
        }
        let is_closed = self.element.fields().next().is_some() && !self.element.preserves_unknown_fields();
        let is_key = |key: &str| self.names().iter().chain(&self.required_names).any(|name| name == key);
        let is_unknown = |key: &&&str| !self.element.has_field(key) && !is_key(key);
        let unknown = keys.iter().find(is_unknown).filter(|_| is_closed && self.allowed_names.is_empty())?;
        Some(format!("`{unknown}` in `{PATCH_MERGE_KEY}` is not a field of the entries of this list"))
    }

    /// Checks that an entry has the merge keys of the list.
    ///
    /// # Errors
    /// A key is missing or has a value that is not allowed.
    pub(crate) fn check_keys(&self, entry: &Node, at: &Trail<'_>) -> Result<()> {
        match self.identify(entry, &KeyPattern::Own) {
            Some(_) => Ok(()),
            None => Err(self.missing_key_error(entry, at)),
        }
    }

    /// Returns all keys that the entry could list in `$patchMergeKey`, if there are more than it uses.
    pub(crate) fn unused_keys(&self, entry: &Node) -> Option<String> {
        let all: Vec<SmolStr> = if self.allowed_names.is_empty() {
            self.list.list_map_keys().map(SmolStr::from).collect()
        } else {
            self.allowed_names.clone()
        };
        let named = patch_merge_key_names(entry);
        let is_known = |key: &SmolStr| match &named {
            Some(named) => named.contains(&key.as_str()),
            None => self.names().contains(key),
        };
        (!all.iter().all(is_known)).then(|| all.join(", "))
    }

    /// Returns the error for an entry that lacks a merge key.
    pub(crate) fn missing_key_error(&self, entry: &Node, at: &Trail<'_>) -> Diagnostic {
        let Some(keys) = &self.keys else {
            let message = "no merge key is known for this list, and this entry does not name one";
            return at
                .error(Code::MissingMergeKey, message)
                .at(entry.span())
                .help(format!("list the merge keys under `{PATCH_MERGE_KEY}`, or provide a schema"));
        };
        unidentified_entry_error(keys, entry, at)
    }

    /// Returns the error for an entry that is not a map.
    pub(crate) fn not_a_map_error(&self, entry: &Node, at: &Trail<'_>) -> Diagnostic {
        // kustomize looks up the key before it checks the type.
        let code = if self.rules.is_kustomize() { Code::MissingMergeKey } else { Code::WrongType };
        let message = format!("an entry of this list must be a map and is {}", entry.type_name());
        at.error(code, message).at(entry.span())
    }

    /// Checks that no two entries have the same keys. Entries with `$patchMergeKey` are skipped.
    ///
    /// # Errors
    /// Two entries have the same keys.
    pub(crate) fn check_distinct<'n>(
        &self,
        entries: impl Iterator<Item = &'n Node>,
        at: &Trail<'_>,
    ) -> Result<()> {
        let own = |entry: &Node| {
            if has_patch_merge_key(entry) { None } else { self.identify(entry, &KeyPattern::Own) }
        };
        let (spans, names): (Vec<_>, Vec<_>) = entries.map(|entry| (entry.span(), own(entry))).unzip();
        let Some(([first, second], keys)) = first_duplicate(&names).zip(self.keys.as_ref()) else {
            return Ok(());
        };
        let here = names[second].as_ref().map_or(at.index(second), |name| at.named(keys, name));
        Err(here
            .error(Code::DuplicateMergeKey, "two entries of this list have the same merge key")
            .label(spans[second], "second entry")
            .label(spans[first], "first entry")
            .help("remove one of them, or change its key"))
    }
}

/// Returns the indices of the first two entries with the same identity.
pub(crate) fn first_duplicate(names: &[Option<Identity>]) -> Option<[usize; 2]> {
    let named = || names.iter().enumerate().filter_map(|(i, name)| Some((i, name.as_ref()?)));
    if names.len() <= PAIRWISE_LIMIT {
        let earlier = |(i, name)| named().take_while(|(j, _)| *j < i).find(|(_, other)| *other == name);
        return named().find_map(|entry| Some([earlier(entry)?.0, entry.0]));
    }
    let mut seen = FxHashMap::default();
    named().find_map(|(i, name)| seen.insert(name, i).map(|first| [first, i]))
}

/// Returns the match by those keys that the entry has.
fn by_own_keys(keys: &MergeKeys, identity: Identity) -> (KeyPattern, Identity) {
    let is_set = |value: &KeyValue| *value != KeyValue::Absent;
    if identity.values().iter().all(is_set) {
        return (KeyPattern::Own, identity);
    }
    let (known, values): (Vec<_>, Vec<_>) =
        keys.iter().zip(identity.values()).filter(|(_, value)| is_set(value)).unzip();
    let known = known.into_iter().map(|(name, rule)| (name.clone(), rule.clone()));
    let known = MergeKeys::new(known, NullKey::Absent, keys.comparison());
    (KeyPattern::Keys(known), values.into_iter().cloned().collect())
}

/// Returns the error for an entry without an identity. It names the missing keys, or the keys with invalid values.
pub(crate) fn unidentified_entry_error(keys: &MergeKeys, entry: &Node, at: &Trail<'_>) -> Diagnostic {
    let missing = keys.missing_keys(entry);
    if !missing.is_empty() {
        return missing_keys(&missing, keys.names(), entry, at);
    }
    if entry.as_map().is_none() {
        let names = quoted_keys("merge key", &keys.names().iter().map(SmolStr::as_str).collect::<Vec<_>>());
        let message = format!("this entry must be a map with its {names}, and is {}", entry.type_name());
        return at.error(Code::MissingMergeKey, message).at(entry.span());
    }
    let unusable = quoted_keys("merge key", &keys.invalid_keys(entry));
    let message = format!("the {unusable} of this entry must be a string, number or boolean");
    at.error(Code::MissingMergeKey, message).at(entry.span())
}

/// Returns the error for an entry that lacks some of the required keys.
fn missing_keys(missing: &[&str], all: &[SmolStr], entry: &Node, at: &Trail<'_>) -> Diagnostic {
    let message = format!("this entry lacks its {}", quoted_keys("merge key", missing));
    let needs = if missing.len() == all.len() { "for each of them" } else { "for the missing keys, too" };
    let needs =
        if missing.len() == 1 && all.len() > 1 { format!("for `{}`, too", missing[0]) } else { needs.into() };
    at.error(Code::MissingMergeKey, message)
        .at(entry.span())
        .help(format!("entries of this list are merged by `{}`: set a value {needs}", all.join("`, `")))
}

/// Formats keys, for example as "merge key `a`" or "merge keys `a`, `b`".
fn quoted_keys(what: &str, keys: &[&str]) -> String {
    let plural = plural(keys.len(), "", "s");
    format!("{what}{plural} `{}`", keys.join("`, `"))
}

/// Returns the API server's error for `$patch: merge` in an entry of a list.
pub(crate) fn merge_directive_error(entry: &Node, at: &Trail<'_>) -> Diagnostic {
    at.error(Code::Directive, "`$patch: merge` is not allowed in an entry of a list")
        .at(entry.span())
        .help("remove the directive: entries are merged by default")
}
