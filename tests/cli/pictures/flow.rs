//! Diagrams of what the book lists: the sources of schemas, and the statuses of an object.

use std::fs;
use std::path::Path;

use super::svg::{AMBER, BLUE, CHARACTER, GREEN, MUTED, RED, Svg, TEXT};

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("book").join(path)).expect("the page")
}

/// A box with a centered text.
fn node(svg: &mut Svg, [x, y, width]: [usize; 3], color: &str, text: &str) {
    svg.rectangle([x, y, width, 36], "#ffffff", color);
    let indentation = width.saturating_sub(text.chars().count() * CHARACTER) / 2;
    svg.text((x + indentation, y + 23), color, "font-weight=\"bold\"", text);
}

#[test]
fn schema_sources_are_drawn_in_the_order_of_the_page() {
    let page = page("concepts/schemas.md");
    let items = page
        .lines()
        .filter_map(|line| line.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok()));
    let items: Vec<String> = items.map(|(_, text)| text.replace('`', "")).collect();
    assert_eq!(items.len(), 4, "{items:?}");
    let mut svg = Svg::new("#f6f8fa");
    svg.text(
        (24, 28),
        TEXT,
        "font-weight=\"bold\"",
        "The first source that knows the kind provides its schema",
    );
    for (index, item) in items.iter().enumerate() {
        let y = 44 + index * 58;
        node(&mut svg, [24, y, 520], if index < 3 { BLUE } else { AMBER }, item);
        if index > 0 {
            svg.arrow((284, y - 22), (284, y - 1));
            svg.text((296, y - 7), MUTED, "", "does not know the kind");
        }
        if index == 3 {
            svg.text((556, y + 15), MUTED, "", "for a kustomization only");
            svg.text((556, y + 31), MUTED, "", "with --schema");
        }
    }
    super::check("schemas.svg", &svg.finish(770, 44 + 4 * 58, "Sources of schemas"));
}

#[test]
fn statuses_of_an_object_are_drawn() {
    let page = page("waiting.md");
    let mut svg = Svg::new("#f6f8fa");
    let positions = [
        ("InProgress", 24, 40, AMBER),
        ("Current", 330, 40, GREEN),
        ("Failed", 330, 130, RED),
        ("Terminating", 24, 220, MUTED),
        ("(gone)", 330, 220, MUTED),
    ];
    for (status, x, y, color) in positions {
        assert!(status == "(gone)" || page.contains(status), "{status} is not in the page");
        node(&mut svg, [x, y, 130], color, status);
    }
    for (from, to, label) in [
        ((154, 58), (329, 58), "controllers are done"),
        ((154, 148), (329, 148), "cannot succeed"),
        ((154, 238), (329, 238), "finalizers are done"),
    ] {
        svg.arrow(from, to);
        svg.text((from.0 + 8, from.1 - 6), MUTED, "", label);
    }
    svg.arrow((89, 76), (89, 219));
    svg.text((34, 206), MUTED, "", "delete");
    svg.text((476, 63), MUTED, "", "ready: wait exits with 0");
    svg.text((476, 153), MUTED, "", "wait exits with 1 at once");
    svg.text((476, 243), MUTED, "", "delete and prune wait for this");
    super::check("readiness.svg", &svg.finish(740, 280, "The statuses of an object"));
}
