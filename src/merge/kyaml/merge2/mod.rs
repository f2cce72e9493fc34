//! Two-way merge: a patch onto an object, by kyaml's rules.
//!
//! Besides the obvious (maps merge, null removes, what the patch has wins) these rules do something
//! to all of dest once a patch touches it: fields whose value is missing (`a:`) go, lists that merge
//! lose entries with equal keys. New values are treated as if they were merged with themselves, so
//! that nulls and directives in them vanish.

mod list;
mod strict;

use smol_str::SmolStr;

use super::options::MergeOptions;
use super::position::Position;
use super::restyle::{quote_old_booleans, restyle};
use super::{Fate, directive, retain, same_kind};
use crate::diagnostic::{Diagnostic, Result};
use crate::merge::directive::Action;
use crate::merge::{Exceptions, Merged, Trail};
use crate::schema::Schema;
use crate::yaml::{Comments, Entry, Key, Map, Meta, Node, Value};

/// Merges a patch onto an object, in place as far as it goes. Nothing is left when the patch deletes it.
///
/// The schema is asked for the kind that dest, or else the patch, says it has. Lists that were replaced
/// for want of a schema are warned of.
///
/// ```
/// use kubectl_smp::merge::{Exceptions, MergeOptions, merge2};
/// use kubectl_smp::schema::Schema;
/// use kubectl_smp::source::SourceMap;
/// use kubectl_smp::yaml::{Node, ParseOptions, parse_one, to_json};
///
/// let sources = SourceMap::default();
/// let read = |text: &str| parse_one(&sources, sources.add("example", text), ParseOptions::default());
/// let pod = read("{apiVersion: v1, kind: Pod, spec: {containers: [{name: web, image: a}]}}")?;
/// let patch = read("{spec: {containers: [{name: web, image: b}, {name: log}], hostname: null}}")?;
/// let options = MergeOptions::kustomize(Exceptions::Listed);
/// let merged = merge2(Some(pod), &patch, &Schema::embedded(), &options)?;
/// let containers = merged.node.as_ref().and_then(|pod| pod.get_path(&["spec", "containers"]));
/// let json = to_json(containers.unwrap_or(&Node::null()))?;
/// assert_eq!(json, r#"[{"image":"b","name":"web"},{"name":"log"}]"#);
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// A map, list or scalar against another kind of value; an unknown `$patch`; list entries that
/// cannot be told apart. With [`Exceptions::Listed`] also entries without keys or with equal ones.
pub fn merge2(
    mut dest: Option<Node>,
    patch: &Node,
    schema: &Schema,
    options: &MergeOptions,
) -> Result<Merged> {
    let mut patch = patch.clone();
    let mut merge = Merge2 { schema, options, warnings: Vec::new() };
    let source = Source::Node(&mut patch);
    let node = match merge.value(dest.as_mut(), source, Position::unknown(), &Trail::root())? {
        Fate::Keep => dest,
        Fate::Take(node) => Some(node),
        Fate::Clear => None,
    };
    let node = node.filter(|node| !node.is_null());
    Ok(Merged { node, warnings: merge.warnings, conflicts: Vec::new() })
}

/// What a value of dest is merged with.
#[derive(Debug)]
enum Source<'p> {
    /// Nothing: the patch does not reach here.
    Absent,
    /// Itself: the value came from the patch as a whole.
    Same,
    /// A value of the patch. What of it is taken is moved out.
    Node(&'p mut Node),
}

impl Source<'_> {
    fn node(&self) -> Option<&Node> {
        if let Self::Node(node) = self { Some(node) } else { None }
    }
}

/// A source that is no other value.
#[derive(Debug, Clone, Copy)]
enum Own {
    Absent,
    Same,
}

impl Own {
    fn source(self) -> Source<'static> {
        match self {
            Self::Absent => Source::Absent,
            Self::Same => Source::Same,
        }
    }
}

struct Merge2<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
    warnings: Vec<Diagnostic>,
}

fn take(node: &mut Node) -> Node {
    std::mem::replace(node, Node::null())
}

impl<'s> Merge2<'s> {
    fn value(
        &mut self,
        dest: Option<&mut Node>,
        source: Source<'_>,
        at: Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        let at = at.refine(&[dest.as_deref(), source.node()], self.schema);
        let Some(dest) = dest.filter(|node| !node.is_null() || matches!(source, Source::Absent)) else {
            return match source {
                Source::Node(patch) if !patch.is_null() => self.add(take(patch), &at, trail),
                _ => Ok(Fate::Clear),
            };
        };
        match source.node() {
            Some(patch) if patch.is_null() => return Ok(Fate::Clear),
            Some(patch) => same_kind(dest, patch, trail)?,
            None => {}
        }
        match dest.value {
            Value::Map(_) => self.map(dest, source, &at, trail),
            Value::List(_) => self.list(dest, source, &at, trail),
            Value::Scalar(_) => Ok(match source {
                Source::Node(patch) => Fate::Take(take(patch)),
                Source::Absent if is_silent_null(dest) => Fate::Clear,
                _ => Fate::Keep,
            }),
        }
    }

    /// A value that dest does not have.
    fn add(&mut self, mut node: Node, at: &Position<'s>, trail: &Trail<'_>) -> Result<Fate> {
        match &mut node.value {
            Value::Map(map) => {
                match (directive::take_from_map(map, trail), self.options.exceptions) {
                    (Ok(Action::Delete), _) => return Ok(Fate::Clear),
                    (Err(error), Exceptions::Listed) => return Err(error),
                    // Another word than the three stays and gets into the output (kustomize 5.8).
                    _ => {}
                }
                self.own_fields(map, Own::Same, at, trail)?;
            }
            Value::List(_) => return self.new_list(node, at, trail),
            Value::Scalar(_) => {}
        }
        Ok(Fate::Take(node))
    }

    fn map(
        &mut self,
        dest: &mut Node,
        source: Source<'_>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<Fate> {
        adopt(dest, &source);
        let Value::Map(map) = &mut dest.value else { return Ok(Fate::Keep) };
        match source {
            Source::Absent => self.own_fields(map, Own::Absent, at, trail)?,
            Source::Same => {
                if directive::take_from_map(map, trail)? == Action::Delete {
                    return Ok(Fate::Clear);
                }
                self.own_fields(map, Own::Same, at, trail)?;
            }
            Source::Node(patch) => {
                let Value::Map(theirs) = &mut patch.value else { return Ok(Fate::Keep) };
                match directive::take_from_map(theirs, trail)? {
                    Action::Delete => return Ok(Fate::Clear),
                    Action::Replace => {
                        self.own_fields(theirs, Own::Same, at, trail)?;
                        return Ok(Fate::Take(take(patch)));
                    }
                    Action::Merge => self.fields(map, theirs, at, trail)?,
                }
            }
        }
        Ok(Fate::Keep)
    }

    /// The fields of a map that no other map is merged into.
    fn own_fields(&mut self, map: &mut Map, own: Own, at: &Position<'s>, trail: &Trail<'_>) -> Result<()> {
        retain(map.entries_mut(), |entry| self.field(entry, own.source(), None, at, trail))
    }

    /// Those of dest in their order, then those that only the patch has, sorted.
    fn fields(&mut self, map: &mut Map, patch: &mut Map, at: &Position<'s>, trail: &Trail<'_>) -> Result<()> {
        let (partners, mut new) = partners(map, patch);
        let theirs = patch.entries_mut();
        let mut partners = partners.into_iter();
        retain(map.entries_mut(), |entry| match partners.next().flatten() {
            Some(i) => {
                let Entry { key, value } = &mut theirs[i];
                self.field(entry, Source::Node(value), Some(key), at, trail)
            }
            None => self.field(entry, Source::Absent, None, at, trail),
        })?;
        new.sort_unstable_by(|&a, &b| theirs[a].key.text.cmp(&theirs[b].key.text));
        for i in new {
            let Entry { key, value } = &mut theirs[i];
            let at = at.field_of(&key.text, std::iter::once((&*key, &*value)), self.schema);
            let fate = self.value(None, Source::Node(value), at, &trail.field(&key.text))?;
            if let Fate::Take(mut node) = fate {
                quote_old_booleans(&mut node);
                let meta = Meta { comments: None, ..key.meta.clone() };
                map.push(Key { text: key.text.clone(), meta }, node);
            }
        }
        Ok(())
    }

    /// One field that dest has. Returns whether it stays.
    fn field(
        &mut self,
        entry: &mut Entry,
        source: Source<'_>,
        their_key: Option<&Key>,
        at: &Position<'s>,
        trail: &Trail<'_>,
    ) -> Result<bool> {
        let Entry { key, value } = entry;
        if matches!((&value.value, &source), (Value::Scalar(_), Source::Absent | Source::Same)) {
            quote_old_booleans(value);
            let stays = matches!(source, Source::Absent) && !is_silent_null(value);
            return Ok(stays || !value.is_null());
        }
        let sides = std::iter::once((&*key, &*value)).chain(their_key.zip(source.node()));
        let at = at.field_of(&key.text, sides, self.schema);
        match self.value(Some(value), source, at, &trail.field(&key.text))? {
            Fate::Keep => Ok(true),
            Fate::Take(mut node) => {
                restyle(&mut node, &value.meta);
                *value = node;
                Ok(true)
            }
            Fate::Clear => Ok(false),
        }
    }
}

/// `a:` without a value, which goes where `a: null` stays.
fn is_silent_null(node: &Node) -> bool {
    node.is_null() && node.scalar_text().is_some_and(SmolStr::is_empty)
}

/// For each field of dest the position of the patch's, and the positions of the rest.
fn partners(map: &Map, patch: &Map) -> (Vec<Option<usize>>, Vec<usize>) {
    let (mut partners, mut new) = (vec![None; map.len()], Vec::new());
    let few = patch.len() <= 4;
    let index = (!few).then(|| map.index());
    for (i, (key, _)) in patch.iter().enumerate() {
        match index.as_ref().map_or_else(|| map.position(key), |index| index.position(key)) {
            Some(at) => partners[at] = Some(i),
            None => new.push(i),
        }
    }
    (partners, new)
}

/// What a map or list of dest takes from the patch's beside the content: comments where the patch
/// has them, and the layout where dest is empty.
fn adopt(dest: &mut Node, source: &Source<'_>) {
    let Source::Node(patch) = source else { return };
    let is_empty = match &dest.value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Scalar(_) => false,
    };
    if is_empty {
        dest.meta.style = patch.meta.style;
    }
    if let Some(theirs) = patch.meta.comments.as_deref() {
        let Comments { head, line, foot } = theirs.clone();
        let mine = dest.meta.comments.get_or_insert_default();
        mine.line = line.or_else(|| mine.line.take());
        if !head.is_empty() {
            mine.head = head;
        }
        if !foot.is_empty() {
            mine.foot = foot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::kyaml::testing::{commented, node, outcome, shown, wanted};

    fn merged(dest: &str, patch: &str) -> String {
        let dest = (!dest.is_empty()).then(|| node(dest));
        outcome(merge2(dest, &node(patch), &Schema::kustomize(), &MergeOptions::kustomize(Exceptions::None)))
    }

    #[test]
    fn maps_merge_field_by_field() {
        let table = [
            ("{a: 1}", "{a: 2, b: 3}", "{a: 2, b: 3}"),
            ("{z: 1}", "{c: 1, B: 2, a: 3}", "{z: 1, B: 2, a: 3, c: 1}"),
            ("{a: {x: 1, y: {z: 1}}}", "{a: {y: {w: 2}}}", "{a: {x: 1, y: {z: 1, w: 2}}}"),
            ("{a: {x: 1}}", "{a: {}}", "{a: {x: 1}}"),
            ("{a: [1, 2]}", "{a: [3]}", "{a: [3]}"),
            ("{a: [1, 2]}", "{a: []}", "{a: []}"),
            ("{a: null}", "{a: {b: 1}}", "{a: {b: 1}}"),
            ("{a: null}", "{a: x}", "{a: x}"),
            ("", "{a: {b: null, c: 1}}", "{a: {c: 1}}"),
        ];
        for (dest, patch, want) in table {
            assert_eq!(merged(dest, patch), wanted(want), "{patch} onto {dest}");
        }
    }

    #[test]
    fn nulls_remove_and_vanish() {
        let table = [
            ("{a: 1, b: 2}", "{a: null}", "{b: 2}"),
            ("{b: 2}", "{a: ~}", "{b: 2}"),
            ("{a: {b: 1}}", "{a: {b: null}}", "{a: {}}"),
            ("{a: [1]}", "{a: null}", "{}"),
            ("{}", "{a: {b: {c: null}, d: null}}", "{a: {b: {}}}"),
            ("{}", "{a: [null, {b: null}]}", "{a: [null, {b: null}]}"),
            // What the patch does not speak of: a null that is written out stays, an empty value goes.
            ("a:\nb: null\nc: {d: ~, e: }\n", "{x: 1}", "{b: null, c: {d: null}, x: 1}"),
            ("{a: [{b: }]}", "{x: 1}", "{a: [{b: null}], x: 1}"),
        ];
        for (dest, patch, want) in table {
            assert_eq!(merged(dest, patch), wanted(want), "{patch} onto {dest}");
        }
    }

    #[test]
    fn directives_of_maps() {
        let table = [
            ("{a: {x: 1}, b: 1}", "{a: {$patch: delete}}", "{b: 1}"),
            ("{a: {x: 1}}", "{a: {$patch: replace, y: 2, z: null}}", "{a: {y: 2}}"),
            ("{a: {x: 1}}", "{a: {$patch: merge, y: 2}}", "{a: {x: 1, y: 2}}"),
            ("{a: 1}", "{$patch: delete}", "none"),
            ("{a: 1}", "{$patch: replace, b: 2}", "{b: 2}"),
            ("{}", "{a: {$patch: delete, x: 1}}", "{}"),
            ("{}", "{a: {$patch: merge, x: 1}}", "{a: {x: 1}}"),
            ("{}", "{a: {b: {$patch: delete}, c: {$patch: replace, d: 1}}}", "{a: {c: {d: 1}}}"),
            ("{a: {x: 1}}", "{a: {$patch: drop}}", "Directive"),
            ("{}", "{a: {b: {$patch: drop}}}", "Directive"),
            ("{}", "{a: {$patch: drop}}", "{a: {$patch: drop}}"),
            ("{a: {x: 1}}", "{a: {$retainKeys: [x], y: 1}}", "{a: {x: 1, $retainKeys: [x], y: 1}}"),
        ];
        for (dest, patch, want) in table {
            assert_eq!(merged(dest, patch), wanted(want), "{patch} onto {dest}");
        }
        let auto = merge2(
            Some(node("{}")),
            &node("{a: {$patch: drop}}"),
            &Schema::none(),
            &MergeOptions::kustomize(Exceptions::Listed),
        );
        assert_eq!(outcome(auto), "Directive");
    }

    #[test]
    fn kinds_do_not_mix() {
        for (dest, patch) in
            [("{a: {}}", "{a: 1}"), ("{a: [1]}", "{a: {b: 1}}"), ("{a: x}", "{a: []}"), ("{a: 1}", "[1]")]
        {
            assert_eq!(merged(dest, patch), "WrongType", "{patch} onto {dest}");
        }
        let error = merge2(
            Some(node("{a: {b: [1]}}")),
            &node("{a: {b: x}}"),
            &Schema::none(),
            &MergeOptions::kustomize(Exceptions::Listed),
        );
        let error = error.expect_err("a list and a string");
        assert_eq!(error.field_path(), Some("a.b"));
        assert_eq!(error.labels().len(), 2, "both places");
    }

    #[test]
    fn styles_of_dest_decide_types() {
        let table = [
            ("{a: \"1\"}", "{a: 5}", "{a: \"5\"}"),
            ("{a: 1}", "{a: \"5\"}", "{a: \"5\"}"),
            ("{a: 1}", "{a: 5}", "{a: 5}"),
            ("{a: [1]}", "{a: [\"5\", 6]}", "{a: [\"5\", 6]}"),
            ("{}", "{a: \"5\", b: 6}", "{a: \"5\", b: 6}"),
        ];
        for (dest, patch, want) in table {
            assert_eq!(merged(dest, patch), wanted(want), "{patch} onto {dest}");
        }
    }

    #[test]
    fn an_object_within_an_object_has_its_own_type() {
        let dest = "{kind: Foo, spec: {raw: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: x}]}}}}";
        let patch = "{spec: {raw: {spec: {containers: [{name: a, image: y}, {name: b}]}}}}";
        let want = "{kind: Foo, spec: {raw: {apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: y}, {name: b}]}}}}";
        assert_eq!(merged(dest, patch), wanted(want));
    }

    #[test]
    fn comments_and_layout() {
        let dest = commented("# head\na: 1 # old\nb: {} # keep\nc: [1]\nd: x\n");
        let patch = commented("a: 2\nb: # mine\n  x: 1\nc:\n- 2\n# new\ne: 3 # with\n");
        let merged = merge2(Some(dest), &patch, &Schema::none(), &MergeOptions::kustomize(Exceptions::None));
        let merged = merged.expect("merged").node.expect("something");
        assert_eq!(shown(&merged), "{a: 2, b: {x: 1}, c: [2], d: x, e: 3}");
        let entries = merged.as_map().expect("a map").entries();
        let comments = |meta: &Meta| meta.comments.as_deref().cloned().unwrap_or_default();
        assert_eq!(comments(&entries[0].key.meta).head, ["# head"]);
        assert_eq!(comments(&entries[0].value.meta).line, None, "it was about the old value");
        assert_eq!(comments(&entries[1].value.meta).line.as_deref(), Some("# keep"));
        assert_eq!(entries[1].value.meta.style, crate::yaml::Style::Block, "it was empty");
        assert_eq!(entries[2].value.meta.style, crate::yaml::Style::Flow);
        assert!(comments(&entries[4].key.meta).head.is_empty(), "kyaml drops those of new keys");
        assert_eq!(comments(&entries[4].value.meta).line.as_deref(), Some("# with"));
    }

    #[test]
    fn large_maps_merge_like_small_ones() {
        let map = |n: usize, step: usize, value: &str| -> Node {
            let fields =
                (0..n).map(|i| (Key::from(format!("k{:04}", i * step).as_str()), Node::plain(value)));
            Node::map(fields.collect())
        };
        let merged = merge2(
            Some(map(100, 1, "a")),
            &map(40, 5, "b"),
            &Schema::none(),
            &MergeOptions::kustomize(Exceptions::Listed),
        );
        let merged = merged.expect("merged").node.expect("something");
        let entries = merged.as_map().expect("a map").entries();
        assert_eq!(entries.len(), 120);
        for (i, entry) in entries.iter().enumerate() {
            let (key, value) =
                if i < 100 { (i, if i % 5 == 0 { "b" } else { "a" }) } else { ((i - 80) * 5, "b") };
            assert_eq!(entry.key.text, format!("k{key:04}"));
            assert_eq!(entry.value.as_str(), Some(value), "{key}");
        }
    }
}
