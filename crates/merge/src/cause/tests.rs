//! Tests of histories through all kinds of changes.

use std::sync::Arc;

use super::{History, LocationKeeping, ValueHistory, Writer, WriterEntry};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, ParseOptions, Value, parse_one};

struct Texts {
    sources: SourceMap,
}

impl Texts {
    fn read(&self, name: &str, text: &str) -> Node {
        let id = self.sources.add(name, text);
        parse_one(&self.sources, id, ParseOptions::default()).expect("YAML")
    }

    /// Returns the values at a path, newest first, each with its location and the step that wrote it.
    fn story(&self, history: &History, path: &[&str]) -> String {
        let writes = history.writes_at(path).expect("a leaf");
        let told = writes.iter().map(|write| {
            let value = write.value.scalar_text().map_or("-", |text| text.as_str());
            let at = self.sources.describe(write.at).unwrap_or_else(|| "computed".into());
            format!("{value} {at} {}", write.by.name())
        });
        told.collect::<Vec<_>>().join(" < ")
    }
}

fn writer(name: &str) -> Arc<Writer> {
    Arc::new(Writer::new(name, Span::default()))
}

#[test]
fn values_keep_their_previous_values() {
    let texts = Texts { sources: SourceMap::default() };
    let base = texts.read("a.yaml", "{a: 1, b: {c: x}, l: [{name: p, v: 1}, {name: q, v: 2}]}");
    let mut history = History::new(&base, &writer("base"));
    let mut changed = base.clone();
    let patch = texts.read("p.yaml", "{a: 2, n: {name: new, v: 9}}");
    *changed.get_mut("a").expect("there") = patch.get("a").expect("there").clone();
    let list = changed.get_mut("l").and_then(Node::as_list_mut).expect("a list");
    list.insert(0, patch.get("n").expect("there").clone());
    list.remove(1);
    history.record(&changed, &writer("patch"));
    // A value that changed but kept its location was computed.
    let mut computed = changed.clone();
    let c = computed.get_mut("b").and_then(|b| b.get_mut("c")).expect("there");
    c.value = smp_text::yaml::Value::Scalar("x-1".into());
    history.record(&computed, &writer("hash"));
    let table: [(&[&str], &str); 5] = [
        (&["a"], "2 p.yaml:1:5 patch < 1 a.yaml:1:5 base"),
        (&["b", "c"], "x-1 computed hash < x a.yaml:1:15 base"),
        (&["l", "0", "v"], "9 p.yaml:1:26 patch"),
        (&["l", "1", "v"], "2 a.yaml:1:53 base"),
        (&["l", "1", "name"], "q a.yaml:1:47 base"),
    ];
    for (path, want) in table {
        assert_eq!(texts.story(&history, path), want, "{path:?}");
    }
    let removed: Vec<_> =
        history.removed().iter().map(|r| (r.pointer.as_str(), r.by.name().as_str())).collect();
    assert_eq!(removed, [("/l/0", "patch")]);
}

#[test]
fn a_value_written_twice_belongs_to_the_last_writer() {
    let texts = Texts { sources: SourceMap::default() };
    let base = texts.read("a.yaml", "a: 1\n");
    let mut history = History::new(&base, &writer("base"));
    history.record(&base, &writer("nothing"));
    let patch = texts.read("p.yaml", "a: 1\n");
    history.record(&patch, &writer("patch"));
    assert_eq!(texts.story(&history, &["a"]), "1 p.yaml:1:4 patch < 1 a.yaml:1:4 base");
}

#[test]
fn unchanged_values_in_program_output_keep_their_locations() {
    let texts = Texts { sources: SourceMap::default() };
    let base = texts.read("a.yaml", "{a: 1, l: [{name: x, v: 1}, {name: y, v: 2}]}");
    let mut history = History::new(&base, &writer("base"));
    let output = texts.read("<output>", "{l: [{name: y, v: 2}, {name: x, v: 7}], a: 1}");
    let function =
        Writer { locations: LocationKeeping::Lost, ..Writer::new("transformers[0]", Span::default()) };
    history.record(&output, &Arc::new(function));
    let table: [(&[&str], &str); 3] = [
        (&["a"], "1 a.yaml:1:5 base"),
        (&["l", "0", "v"], "2 a.yaml:1:42 base"),
        (&["l", "1", "v"], "7 computed transformers[0] < 1 a.yaml:1:25 base"),
    ];
    for (path, want) in table {
        assert_eq!(texts.story(&history, path), want, "{path:?}");
    }
    assert!(history.removed().is_empty());
}

#[test]
fn changing_a_value_to_another_type_removes_and_adds_it() {
    let texts = Texts { sources: SourceMap::default() };
    let mut history = History::new(&texts.read("a.yaml", "{a: {b: 1}, e: {}}"), &writer("base"));
    history.record(&texts.read("b.yaml", "{a: [1], e: {x: 1}}"), &writer("patch"));
    assert_eq!(texts.story(&history, &["a", "0"]), "1 b.yaml:1:6 patch");
    assert_eq!(texts.story(&history, &["e", "x"]), "1 b.yaml:1:17 patch");
    let removed: Vec<_> = history.removed().iter().map(|r| r.pointer.as_str()).collect();
    assert_eq!(removed, ["/a"]);
    assert!(matches!(history.root(), ValueHistory::Map(fields) if fields.len() == 2));
}

#[test]
fn entries_of_a_step_are_identified_by_location() {
    let texts = Texts { sources: SourceMap::default() };
    let (first, second) = (texts.read("k.yaml", "one: 1\n"), texts.read("k.yaml", "two: 2\n"));
    let entries = [("images[1]", &second, "two"), ("images[0]", &first, "one")];
    let entries = entries.map(|(name, node, field)| {
        let place = node.get(field).expect("there").span();
        WriterEntry { location: place, name: name.into(), at: place }
    });
    let images = Arc::new(Writer::with_entries("images", Span::default(), entries.to_vec()));
    let mut history = History::new(&texts.read("a.yaml", "{a: x, b: y}"), &writer("base"));
    let mut changed = texts.read("a.yaml", "{a: x, b: y}");
    *changed.get_mut("a").expect("there") = second.get("two").expect("there").clone();
    *changed.get_mut("b").expect("there") = first.get("one").expect("there").clone();
    history.record(&changed, &images);
    let by = |field| history.writes_at(&[field]).expect("a leaf")[0].by.name().to_string();
    assert_eq!((by("a"), by("b")), ("images[1]".into(), "images[0]".into()));
}

#[test]
fn a_value_that_two_entries_may_have_written_is_attributed_to_the_step() {
    let texts = Texts { sources: SourceMap::default() };
    let taken = texts.read("k.yaml", "one: 1\n");
    let place = taken.get("one").expect("there").span();
    let entries =
        ["vars[0]", "vars[1]"].map(|name| WriterEntry { location: place, name: name.into(), at: place });
    let vars = Arc::new(Writer::with_entries("vars", Span::default(), entries.to_vec()));
    let history = History::new(&taken, &vars);
    assert_eq!(texts.story(&history, &["one"]), "1 k.yaml:1:6 vars");
}

#[test]
fn values_that_pass_a_program_unchanged_keep_their_origin() {
    let texts = Texts { sources: SourceMap::default() };
    let mut history = History::new(&texts.read("a.yaml", "{a: x, b: y}"), &writer("base"));
    let program = Writer { locations: LocationKeeping::Lost, ..Writer::new("function", Span::default()) };
    let printed = texts.read("output", "{a: x,    b: z}");
    history.record(&printed, &Arc::new(program));
    history.record(&printed, &writer("later"));
    assert_eq!(texts.story(&history, &["a"]), "x a.yaml:1:5 base");
    assert_eq!(texts.story(&history, &["b"]), "z computed function < y a.yaml:1:11 base");
}

#[test]
fn emptied_maps_and_lists_are_computed() {
    let texts = Texts { sources: SourceMap::default() };
    let base = texts.read("a.yaml", "{a: [1], b: [2]}");
    let mut history = History::new(&base, &writer("base"));
    let mut changed = base.clone();
    changed.get_mut("a").expect("there").value = Value::List(Vec::new());
    *changed.get_mut("b").expect("there") = texts.read("b.yaml", "[]");
    history.record(&changed, &writer("patch"));
    let at =
        |history: &History, field| texts.sources.describe(history.writes_at(&[field]).expect("a leaf")[0].at);
    assert_eq!((at(&history, "a"), at(&history, "b")), (None, Some("b.yaml:1:1".into())));
    // The location of a null is after the surrounding map.
    let base = texts.read("c.yaml", "c:\n  x:\nd: 1\n");
    let mut history = History::new(&base, &writer("base"));
    let mut changed = base.clone();
    changed.get_mut("c").and_then(Node::as_map_mut).expect("a map").remove("x");
    history.record(&changed, &writer("patch"));
    assert_eq!(at(&history, "c"), None);
}
