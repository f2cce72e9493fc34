//! The layers of an environment of the shop, as `tree` reports them, and the history of a value, as `blame` does.

use std::path::Path;

use kubectl_smp_testing::program::run;
use serde_json::Value;

use super::svg::{AMBER, BLUE, CHARACTER, GREEN, LINE, MUTED, Svg, TEXT};

const WIDTH: usize = 760;

fn shop(args: &[&str]) -> Value {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop");
    let output = run(&home, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn children(node: &Value) -> &[Value] {
    node["children"].as_array().map_or(&[], Vec::as_slice)
}

/// The number of lines that a part needs, with those of its children.
fn lines(node: &Value) -> usize {
    1 + children(node).iter().map(lines).sum::<usize>()
}

/// Each nested box has a margin of 6 above and below.
fn height(node: &Value) -> usize {
    let nested = children(node);
    if nested.is_empty() { LINE + 4 } else { LINE + 16 + nested.iter().map(height).sum::<usize>() }
}

fn effect(node: &Value) -> String {
    let objects = node["objects"].as_array().map_or(0, Vec::len);
    let count = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    match node["changed"].as_u64() {
        Some(changed) if children(node).is_empty() => {
            let changed = usize::try_from(changed).expect("small");
            format!("changes {} of {}", count(changed, "value"), count(objects, "object"))
        }
        _ => count(objects, "object"),
    }
}

/// Draws a part and everything in it, and returns the position below it.
fn draw(svg: &mut Svg, node: &Value, x: usize, y: usize, width: usize) -> usize {
    let (kind, nested) = (text(node, "kind"), children(node));
    let (fill, border) = match kind {
        "target" => ("#ffffff", "#8c959f"),
        "base" => ("#ddf4ff", "#54aeff"),
        "component" => ("#fff8c5", "#d4a72c"),
        _ => ("#ffffff", "#d0d7de"),
    };
    let color = match kind {
        "base" | "resource" | "generator" => BLUE,
        "component" => AMBER,
        "patch" | "transformer" => GREEN,
        _ => TEXT,
    };
    let height = height(node);
    svg.rectangle([x, y, width, height - 4], fill, border);
    let title = format!("{kind} {}", text(node, "name"));
    svg.text((x + 8, y + 14), color, if nested.is_empty() { "" } else { "font-weight=\"bold\"" }, &title);
    let effect = effect(node);
    svg.text((x + width - 8 - effect.len() * CHARACTER, y + 14), MUTED, "", &effect);
    let mut below = y + LINE + 6;
    for child in nested {
        below = draw(svg, child, x + 12, below, width - 24);
    }
    y + height
}

#[test]
fn layers_of_production_are_drawn() {
    let tree = shop(&["tree", "apps/environments/production", "-o", "json"]);
    assert!(lines(&tree) > 20, "{tree}");
    let mut svg = Svg::new("#f6f8fa");
    let end = draw(&mut svg, &tree, 12, 12, WIDTH - 24);
    super::check("layers.svg", &svg.finish(WIDTH, end + 8, "The layers of apps/environments/production"));
}

/// Draws one version of a value, with the file and line that sets it.
fn version(svg: &mut Svg, y: usize, value: &Value, is_current: bool) {
    let at = &value["at"];
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop").join(text(at, "file"));
    let line = usize::try_from(at["line"].as_u64().expect("a line")).expect("small");
    let source = std::fs::read_to_string(file).expect("text");
    let source = source.lines().nth(line - 1).expect("the line").trim().to_string();
    let border = if is_current { "#2da44e" } else { "#d0d7de" };
    svg.rectangle([12, y, WIDTH - 24, 4 * LINE + 12], "#ffffff", border);
    let color = if is_current { GREEN } else { MUTED };
    svg.text((24, y + 20), color, "font-weight=\"bold\"", text(value, "value"));
    svg.text((24, y + 20 + LINE), TEXT, "", &format!("{}:{line}", text(at, "file")));
    svg.text((40, y + 20 + 2 * LINE), TEXT, "", &source);
    svg.text(
        (24, y + 20 + 3 * LINE),
        MUTED,
        "",
        &format!("set by {} of {}", text(value, "by"), text(value, "in")),
    );
}

#[test]
fn history_of_a_value_is_drawn() {
    let field = "deploy/orders:spec.template.spec.containers[name=orders].image";
    let blamed = shop(&["blame", "apps/environments/production", field, "-o", "json"]);
    let current = &blamed[0]["fields"][0];
    let history = current["history"].as_array().expect("previous values");
    let mut versions: Vec<&Value> = history.iter().rev().collect();
    versions.push(current);
    assert!(versions.len() > 1, "{blamed}");
    let mut svg = Svg::new("#f6f8fa");
    for (index, value) in versions.iter().enumerate() {
        let y = 12 + index * 108;
        version(&mut svg, y, value, index + 1 == versions.len());
        if index > 0 {
            svg.arrow((40, y - 24), (40, y - 1));
        }
    }
    super::check("provenance.svg", &svg.finish(WIDTH, versions.len() * 108 + 2, "The history of an image"));
}
