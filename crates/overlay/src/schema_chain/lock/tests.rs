use super::*;

fn gvk() -> Gvk {
    Gvk::from_manifest("example.com/v1", "Thing")
}

fn document() -> Value {
    let kind = |name: &str| serde_json::json!({"group": "example.com", "version": "v1", "kind": name});
    serde_json::json!({
        "openapi": "3.0.0",
        "info": {"title": "x"},
        "components": {"schemas": {
            "a.Thing": {
                "description": "said",
                "type": "object",
                KIND: [kind("Thing")],
                "properties": {
                    "description": {"type": "string", "description": "said"},
                    "spec": {"allOf": [{"$ref": "#/components/schemas/a.Spec"}], "default": {"description": "kept"}},
                },
            },
            "a.Spec": {
                "type": "object",
                "properties": {
                    "self": {"$ref": "#/components/schemas/a.Spec"},
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port"],
                        "items": {"$ref": "#/components/schemas/a~1Port"},
                    },
                },
            },
            "a/Port": {"type": "object", "properties": {"port": {"type": "integer"}}},
            "a.Other": {"type": "object", KIND: [kind("Other")]},
        }},
        "paths": {
            "/apis/example.com/v1/namespaces/{namespace}/things": {
                "get": {KIND: kind("Thing"), "responses": {}},
                "parameters": [{"name": "x"}],
            },
            "/apis/example.com/v1/others": {"get": {KIND: kind("Other")}},
        },
    })
}

#[test]
fn extracted_schema_contains_all_referenced_definitions() {
    let part = extract_kind(&document(), &gvk()).expect("known");
    let names: Vec<&String> = part["components"]["schemas"].as_object().expect("a map").keys().collect();
    assert_eq!(names, ["a.Spec", "a.Thing", "a/Port"]);
    let text = part.to_string();
    assert!(!text.contains("said") && !text.contains("Other") && !text.contains("title"), "{text}");
    assert_eq!(
        part["components"]["schemas"]["a.Thing"]["properties"]["spec"]["default"]["description"],
        "kept"
    );
    assert_eq!(part["components"]["schemas"]["a.Thing"]["properties"]["description"]["type"], "string");
    assert_eq!(part["paths"].as_object().map(Map::len), Some(1));
    assert_eq!(extract_kind(&part, &gvk()), Some(part.clone()), "it is already minimal");
    assert_eq!(extract_kind(&document(), &Gvk::from_manifest("example.com/v2", "Thing")), None);
}

#[test]
fn extracted_schema_is_equivalent_for_the_kind() {
    let whole = read_document(&Node::from(&document())).and_then(|model| model.compile()).expect("readable");
    let part = extract_kind(&document(), &gvk()).expect("known");
    let locked = LockedSchema::new(gvk(), String::new(), String::new(), part);
    let graph = locked.graph().expect("readable");
    assert_eq!(graph.scope(&gvk()), whole.scope(&gvk()));
    assert!(graph.scope(&gvk()).is_some());
    let ports = |graph: &TypeGraph| {
        let ports = graph.kind(&gvk()).expect("known").field("spec").field("self").field("ports");
        (ports.list_map_keys().map(str::to_string).collect::<Vec<_>>(), ports.element().has_field("port"))
    };
    assert_eq!(ports(&graph), ports(&whole));
    assert_eq!(ports(&graph), (vec!["port".to_string()], true));
}

#[test]
fn schema_of_another_kind_is_an_error() {
    let part = extract_kind(&document(), &gvk()).expect("known");
    let other = Gvk::from_manifest("example.com/v1", "Other");
    let error = LockedSchema::new(other, String::new(), String::new(), part).graph().expect_err("not there");
    assert_eq!(error.code(), Code::NoSchema);
}

#[test]
fn definitions_of_v2_are_extracted() {
    let text = document().to_string().replace("#/components/schemas/", "#/definitions/");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let schemas = document["components"]["schemas"].take();
    document["definitions"] = schemas;
    document["swagger"] = "2.0".into();
    let part = extract_kind(&document, &gvk()).expect("known");
    assert_eq!(part["definitions"].as_object().map(Map::len), Some(3));
    let locked = LockedSchema::new(gvk(), String::new(), String::new(), part);
    assert!(locked.graph().is_ok());
}
