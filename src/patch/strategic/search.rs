//! By what an entry of a patch finds its match in the live list.

use super::Dialect;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::Trail;
use crate::merge::align::{Identity, KeyValue};
use crate::merge::association::MergeKeys;
use crate::merge::directive::PATCH_MERGE_KEY;
use crate::yaml::{Map, Node};

/// What is known of a merging list of maps.
#[derive(Debug)]
pub(super) struct ListRules<'s> {
    pub(super) dialect: Dialect,
    /// The keys of entries without `$patchMergeKey`; none where only that directive can tell entries apart.
    pub(super) keys: Option<MergeKeys<'s>>,
    /// The keys that `$patchMergeKey` must name.
    pub(super) default_keys: Vec<&'s str>,
    /// The keys that it may name; any when there are none here.
    pub(super) recommended: Vec<&'s str>,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern<'p> {
    /// The keys of the schema.
    Schema,
    /// The keys that `$patchMergeKey` names.
    Named {
        keys: Vec<&'p str>,
        /// Of those, the ones that only have to be there, whatever their value.
        any: Vec<bool>,
        /// Whether the schema's defaults stand for keys that are not there.
        defaults: bool,
    },
}

/// What to look for: patterns in turn, each with what the match must have.
#[derive(Debug)]
pub(super) struct Search<'p> {
    pub(super) wanted: Vec<(Pattern<'p>, Identity)>,
    /// Whether `$patchMergeKey` said so.
    pub(super) named: bool,
    /// Whether of several matches the first one counts.
    pub(super) first_of_several: bool,
}

impl Search<'_> {
    /// How many of the patterns count for a deletion: it does not take what only lacks a key.
    pub(super) fn deletes_by(&self) -> usize {
        if self.named && self.first_of_several { 1 } else { self.wanted.len() }
    }
}

impl<'s> ListRules<'s> {
    /// What an entry of the live list has where the pattern looks; none when it cannot match.
    pub(super) fn identify(&self, pattern: &Pattern<'_>, entry: &Node) -> Option<Identity> {
        match pattern {
            Pattern::Schema => self.identify_by_schema(entry),
            Pattern::Named { keys, any, defaults } => {
                let map = entry.as_map()?;
                let value = |(key, any): (&&str, &bool)| {
                    let value = KeyValue::of_field(map, key)?;
                    match (value.is_present(), any) {
                        (true, true) => Some(KeyValue::Null),
                        (false, true) => None,
                        (true, false) => Some(value),
                        (false, false) => Some(self.absent(key, *defaults)),
                    }
                };
                let values: Option<Vec<_>> = keys.iter().zip(any).map(value).collect();
                values.map(Identity::of_values)
            }
        }
    }

    fn absent(&self, key: &str, defaults: bool) -> KeyValue {
        let keys = self.keys.as_ref().filter(|_| defaults);
        keys.and_then(|keys| keys.element.key_default(key))
            .and_then(KeyValue::of_json)
            .unwrap_or(KeyValue::Absent)
    }

    /// The identity by the schema's keys.
    pub(super) fn identify_by_schema(&self, entry: &Node) -> Option<Identity> {
        let keys = self.keys.as_ref()?;
        match self.dialect {
            Dialect::Overlay => keys.identify(entry),
            // There null is a value like any other.
            Dialect::Apiserver => {
                let map = entry.as_map()?;
                let values = keys.names.iter().map(|key| KeyValue::of_field(map, key));
                values.collect::<Option<Vec<_>>>().map(Identity::of_values)
            }
        }
    }

    /// Whether an entry has what the schema's keys ask of it: each key there, or a default for it.
    pub(super) fn has_keys(&self, identity: Option<&Identity>) -> bool {
        let there = |value: &KeyValue| match self.dialect {
            Dialect::Apiserver => *value != KeyValue::Absent,
            Dialect::Overlay => value.is_present(),
        };
        match identity {
            Some(Identity::One(value)) => there(value),
            Some(Identity::Many(values)) => values.iter().all(there),
            Some(Identity::Whole(_)) | None => false,
        }
    }

    /// By what an entry of the patch looks for its match.
    pub(super) fn search<'p>(&self, entry: &'p Node, map: &'p Map, at: &Trail<'_>) -> Result<Search<'p>>
    where
        's: 'p,
    {
        if let Some(directive) = map.get(PATCH_MERGE_KEY) {
            return self.search_by_name(map, directive, at);
        }
        let identity = self.identify_by_schema(entry);
        let unique = self.keys.as_ref().is_some_and(|keys| keys.unique);
        match identity.filter(|identity| self.has_keys(Some(identity))) {
            Some(identity) => Ok(Search {
                wanted: vec![(Pattern::Schema, identity)],
                named: false,
                first_of_several: !unique,
            }),
            None => Err(self.missing_key(entry, at)),
        }
    }

    /// The error for an entry that lacks a merge key.
    pub(super) fn missing_key(&self, entry: &Node, at: &Trail<'_>) -> Diagnostic {
        let Some(keys) = &self.keys else {
            let message = "no merge key is known for this list, and this entry does not name one";
            return at
                .error(Code::MissingMergeKey, message)
                .at(entry.span())
                .help("list the fields that tell entries apart under `$patchMergeKey`, or give a schema");
        };
        let lacks = |key: &&&str| match entry.as_map().and_then(|map| KeyValue::of_field(map, key)) {
            // A map or a list.
            None => false,
            Some(value) => match self.dialect {
                Dialect::Apiserver => value == KeyValue::Absent,
                Dialect::Overlay => !value.is_present() && keys.default_of(key).is_none(),
            },
        };
        let missing: Vec<&str> = keys.names.iter().filter(lacks).copied().collect();
        let message = match missing.as_slice() {
            [] => "the merge key of this entry must be a scalar".to_string(),
            [one] => format!("this entry lacks its merge key `{one}`"),
            many => format!("this entry lacks its merge keys `{}`", many.join("`, `")),
        };
        let all = keys.names.join("`, `");
        at.error(Code::MissingMergeKey, message)
            .at(entry.span())
            .help(format!("entries of this list are told apart by `{all}`: each entry needs a value there"))
    }

    fn search_by_name<'p>(&self, map: &'p Map, directive: &'p Node, at: &Trail<'_>) -> Result<Search<'p>> {
        let keys = self.named_keys(directive, at)?;
        let wrong = |message: String| at.error(Code::Directive, message).at(directive.span());
        let values: Option<Vec<KeyValue>> = keys.iter().map(|key| KeyValue::of_field(map, key)).collect();
        let values = values.ok_or_else(|| wrong("a key named by `$patchMergeKey` is no scalar".into()))?;
        for (key, value) in keys.iter().zip(&values) {
            if self.default_keys.contains(key) && !value.is_present() {
                let message = format!("this entry lacks its merge key `{key}`");
                return Err(at.error(Code::MissingMergeKey, message).at(directive.span()));
            }
        }
        let any: Vec<bool> = values.iter().map(|value| *value == KeyValue::Null).collect();
        let exact = vec![false; keys.len()];
        let lacking: Vec<KeyValue> = values
            .iter()
            .map(|value| if *value == KeyValue::Null { KeyValue::Absent } else { value.clone() })
            .collect();
        let filled: Vec<KeyValue> = keys
            .iter()
            .zip(&lacking)
            .map(|(key, v)| if v.is_present() { v.clone() } else { self.absent(key, true) })
            .collect();
        let wildcard = any.contains(&true);
        let mut wanted = Vec::with_capacity(2);
        let named = |any, defaults| Pattern::Named { keys: keys.clone(), any, defaults };
        wanted.push((named(any, false), Identity::of_values(values)));
        if wildcard {
            // Where no entry has it any more, the one without it is meant: the patch was applied before.
            wanted.push((named(exact, false), Identity::of_values(lacking)));
        } else if self.dialect == Dialect::Overlay {
            wanted.push((named(exact, true), Identity::of_values(filled)));
        }
        Ok(Search { wanted, named: true, first_of_several: wildcard })
    }

    fn named_keys<'p>(&self, directive: &'p Node, at: &Trail<'_>) -> Result<Vec<&'p str>> {
        let wrong = |message: String| at.error(Code::Directive, message).at(directive.span());
        let texts = directive.as_list().map(|list| list.iter().map(Node::as_str).collect::<Option<Vec<_>>>());
        let keys = texts.flatten().filter(|keys| !keys.is_empty());
        let keys = keys.ok_or_else(|| wrong("`$patchMergeKey` must be a list of field names".into()))?;
        if let Some(default) = self.default_keys.iter().find(|key| !keys.contains(key)) {
            let message = format!("`$patchMergeKey` must name the default merge key `{default}`");
            return Err(wrong(message));
        }
        let allowed = |key: &&&str| self.recommended.is_empty() || self.recommended.contains(*key);
        if let Some(key) = keys.iter().find(|key| !allowed(key)) {
            let message = format!("`{key}` is no merge key of this list");
            let help = format!("`$patchMergeKey` may name `{}` here", self.recommended.join("`, `"));
            return Err(wrong(message).help(help));
        }
        Ok(keys)
    }
}
