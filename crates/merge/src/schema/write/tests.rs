//! Tests of the round trip of graphs, and of corrupt buffers.

use super::*;
use crate::schema::{Cursor, Directives, Gvk, KindDef, PatchStrategy};

fn object(fields: &[(&str, TypeDef)], required: &[&str]) -> TypeDef {
    TypeDef {
        kind: TypeKind::Object,
        fields: fields.iter().map(|(name, def)| ((*name).into(), def.clone())).collect(),
        required: required.iter().map(|&name| name.into()).collect(),
        ..TypeDef::default()
    }
}

fn list_of(element: TypeDef, directives: Directives) -> TypeDef {
    TypeDef { kind: TypeKind::Array, element: Some(Box::new(element)), directives, ..TypeDef::default() }
}

fn ports() -> Directives {
    Directives {
        list_type: Some(ListType::Map),
        list_map_keys: vec!["port".into(), "protocol".into()],
        patch_strategy: PatchStrategy::parse("merge,retainKeys"),
        patch_merge_key: Some("port".into()),
        recommended_merge_key: Some("port,protocol".into()),
        map_type: None,
    }
}

/// Returns a kind with a list of ports, a recursive definition, a map with free keys, and references.
fn model() -> Model {
    let string = TypeDef::new(TypeKind::String);
    let protocol = TypeDef { default: Some("\"TCP\"".into()), ..string.clone() };
    let port = object(&[("port", TypeDef::new(TypeKind::Integer)), ("protocol", protocol)], &["port"]);
    let labels = TypeDef { additional: Some(Box::new(string.clone())), ..TypeDef::new(TypeKind::Object) };
    let atomic = Directives { map_type: Some(MapType::Atomic), ..Directives::default() };
    let spec = object(
        &[
            ("ports", list_of(TypeDef::reference_to("Port"), ports())),
            ("labels", labels),
            ("props", TypeDef::reference_to("Props")),
            ("atomic", TypeDef { directives: atomic, ..TypeDef::reference_to("Alias") }),
            ("dangling", TypeDef::reference_to("Nowhere")),
        ],
        &["ports"],
    );
    let props = object(&[("type", string), ("items", TypeDef::reference_to("Props"))], &[]);
    let definitions =
        [("Port", port), ("Spec", spec), ("Props", props), ("Alias", TypeDef::reference_to("Port"))];
    let root = TypeDef { embedded_resource: true, ..object(&[("spec", TypeDef::reference_to("Spec"))], &[]) };
    let known = KindDef { root: Some(root), scope: Some(Scope::Cluster), names: vec!["things".into()] };
    let scope_only = KindDef { scope: Some(Scope::Namespaced), ..KindDef::default() };
    Model {
        definitions: definitions.into_iter().map(|(name, def)| (name.into(), def)).collect(),
        kinds: [(thing(), known), (Gvk::from_manifest("v1", "Other"), scope_only)].into(),
    }
}

fn thing() -> Gvk {
    Gvk::from_manifest("example.com/v1", "Thing")
}

fn graph() -> TypeGraph {
    let graph = model().compile().expect("small");
    TypeGraph::from_bytes(graph.to_bytes()).expect("just written")
}

#[test]
fn graphs_round_trip() {
    let graph = graph();
    let spec = graph.kind(&thing()).expect("known").field("spec");
    assert_eq!(spec.type_name(), Some("Spec"));
    assert!(spec.is_required("ports") && !spec.is_required("labels") && !spec.is_required("x"));
    assert_eq!(
        spec.fields().map(|(name, field)| (name, field.kind_name())).collect::<Vec<_>>(),
        [
            ("atomic", "object"),
            ("dangling", "any"),
            ("labels", "object"),
            ("ports", "array"),
            ("props", "object")
        ]
    );
    let list = spec.field("ports");
    assert_eq!(list.directives(), ports());
    assert_eq!(list.list_map_keys().collect::<Vec<_>>(), ["port", "protocol"]);
    assert_eq!(list.element().type_name(), Some("Port"));
    assert_eq!(list.element().key_default("protocol"), Some("\"TCP\""));
    assert_eq!(list.element().key_default("port"), None);
    assert!(graph.kind(&thing()).expect("known").is_embedded_resource());
}

#[test]
fn undeclared_fields_use_the_free_key_type_or_are_unknown() {
    let graph = graph();
    let spec = graph.named("Spec").expect("known");
    assert!(spec.has_field("labels") && !spec.field("labels").has_field("any"));
    assert_eq!(spec.field("labels").field("any").kind_name(), "string");
    assert!(!spec.field("other").is_known());
    assert!(spec.has_field("dangling") && !spec.field("dangling").is_known());
}

#[test]
fn a_reference_keeps_the_directives_of_its_field() {
    let graph = graph();
    let spec = graph.named("Spec").expect("known");
    let field = spec.field("atomic");
    assert_eq!(field.map_type(), Some(MapType::Atomic));
    assert_eq!(field.type_name(), Some("Alias"));
    assert_eq!(field.field("protocol").default(), Some("\"TCP\""), "through two references");
    assert_eq!(spec.field("ports").element().map_type(), None, "the definition stays as it is");
}

#[test]
fn recursive_types_are_allowed_and_circular_references_are_unknown() {
    let graph = graph();
    let mut props = graph.named("Props").expect("known");
    for _ in 0..1000 {
        props = props.field("items");
    }
    assert_eq!(props.field("type").kind_name(), "string");
    let mut model = Model::default();
    model.definitions.insert("A".into(), TypeDef::reference_to("B"));
    model.definitions.insert("B".into(), TypeDef::reference_to("A"));
    let graph = model.compile().expect("small");
    assert_eq!(graph.named("A").map(Cursor::kind_name), Some("any"));
}

#[test]
fn kinds_are_found_and_listed_in_order() {
    let graph = graph();
    let kinds: Vec<_> = graph.kinds().map(|(gvk, scope)| (gvk.to_string(), scope)).collect();
    assert_eq!(
        kinds,
        [
            ("v1 Other".to_string(), Some(Scope::Namespaced)),
            ("example.com/v1 Thing".to_string(), Some(Scope::Cluster))
        ]
    );
    assert!(graph.kind(&Gvk::from_manifest("v1", "Other")).is_none(), "only its scope is known");
    assert!(graph.kind(&Gvk::from_manifest("example.com/v2", "Thing")).is_none());
    let names: Vec<_> = graph.kind_entries().flat_map(|e| e.names().collect::<Vec<_>>()).collect();
    assert_eq!(names, ["things"]);
}

#[test]
fn equal_types_are_stored_once() {
    let mut duplicated = model();
    let spec = duplicated.definitions[&SmolStr::from("Spec")].clone();
    duplicated.definitions.insert("Spec2".into(), spec);
    let (one, two) = (graph().to_bytes().len(), duplicated.compile().expect("small").to_bytes().len());
    assert_eq!(two - one, SIZES[TYPES] + SIZES[NAMES] + SIZES[TEXTS] + "Spec2".len());
}

#[test]
fn imported_definitions_are_equal() {
    let graph = graph();
    let mut copy = Model::default();
    let root = copy.import(graph.named("Spec").expect("known"));
    assert_eq!(root, TypeDef::reference_to("Spec"));
    copy.kinds.insert(thing(), KindDef { root: Some(root), ..KindDef::default() });
    let copy = copy.compile().expect("small");
    let spec = copy.kind(&thing()).expect("known");
    assert_eq!(spec.field("ports").directives(), ports());
    assert_eq!(spec.field("atomic").map_type(), Some(MapType::Atomic));
    assert_eq!(copy.named("Alias").and_then(Cursor::map_type), None);
    assert_eq!(spec.field("props").field("items").field("type").kind_name(), "string");
    assert_eq!(spec.field("ports").element().key_default("protocol"), Some("\"TCP\""));
}

/// Makes some queries of every kind.
fn ask(graph: &TypeGraph) {
    let walk = |cursor: Cursor<'_>| {
        let mut seen = 0;
        for (name, field) in cursor.fields().take(50) {
            seen += name.len() + field.list_map_keys().take(50).map(str::len).sum::<usize>();
            seen += field.element().key_default("protocol").map_or(0, str::len);
            seen += field.field("port").element().field("x").directives().list_map_keys.len().min(9);
        }
        seen
    };
    let roots = graph.kind_entries().take(50).map(|e| (e.names().take(50).count(), walk(e.root())));
    assert!(roots.count() <= 50);
    assert!(graph.names().take(50).filter_map(|name| graph.named(name)).map(walk).count() <= 50);
    assert!(graph.kind(&thing()).is_none_or(Cursor::is_known));
}

#[test]
fn no_corrupt_buffer_panics() {
    let good = graph().to_bytes();
    for length in 0..good.len() {
        assert!(TypeGraph::open_unchecked(good[..length].to_vec()).is_err(), "cut to {length}");
    }
    for position in 0..good.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut bad = good.clone();
            bad[position] = byte;
            TypeGraph::open_unchecked(bad).iter().for_each(ask);
        }
    }
}

#[test]
fn each_flipped_bit_of_a_stored_graph_is_detected() {
    let good = graph().to_bytes();
    assert!(TypeGraph::from_bytes(good.clone()).is_ok());
    for position in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[position] ^= 1 << bit;
            assert!(TypeGraph::from_bytes(bad).is_err(), "bit {bit} of byte {position}");
        }
    }
    for length in 0..good.len() {
        assert!(TypeGraph::from_bytes(good[..length].to_vec()).is_err(), "cut to {length}");
    }
    assert!(TypeGraph::from_bytes([good.as_slice(), b"x"].concat()).is_err());
}

#[test]
fn graphs_with_invalid_keys_are_rejected() {
    let of = |default: &str, recommended: &str| {
        let directives = Directives {
            patch_merge_key: Some(default.into()),
            recommended_merge_key: Some(recommended.into()),
            ..Directives::default()
        };
        let list = TypeDef { directives, ..TypeDef::new(TypeKind::Array) };
        Model { definitions: [("A".into(), list)].into(), ..Model::default() }
    };
    let good = of("foo", "foo,bar").compile().expect("good keys").to_bytes();
    assert!(TypeGraph::from_bytes(good.clone()).is_ok());
    for recommended in ["bar,foo", "bar,baz", "foo,,ba", "foo,foo"] {
        let error = of("foo", recommended).compile().expect_err("bad keys");
        assert_eq!(error.field_path(), Some("x-kubernetes-recommended-patch-merge-key"));
        // The graph is one that a writer without any checks would create.
        let text = |keys: &str| keys.as_bytes().to_vec();
        let mut bad = good[..good.len() - 32].to_vec();
        let (from, to) = (text("foo,bar"), text(recommended));
        let at = bad.windows(from.len()).position(|window| window == from).expect("its keys");
        bad[at..at + from.len()].copy_from_slice(&to);
        let checksum = sha2::Digest::finalize(<sha2::Sha256 as sha2::Digest>::new_with_prefix(&bad));
        bad.extend_from_slice(&checksum);
        let opened = TypeGraph::from_bytes(bad).expect_err("bad keys");
        assert_eq!(opened.message(), error.message());
    }
}
