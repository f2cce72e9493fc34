//! Strategic merges in five pictures: base, patch and result side by side. `blame` says where each line comes from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kubectl_smp_testing::program::{run, temp_dir};

use super::svg::{AMBER, BLUE, CHARACTER, GREEN, LINE, MUTED, RED, Svg, TEXT};

/// A name, a title, and the `spec` of base and patch.
const MERGES: [(&str, &str, &str, &str); 5] = [
    (
        "fields",
        "Maps merge field by field",
        "kind: Deployment\nspec:\n  replicas: 1\n  minReadySeconds: 10\n",
        "kind: Deployment\nspec:\n  replicas: 3\n  paused: true\n",
    ),
    (
        "entries",
        "Lists with a merge key merge entry by entry",
        "kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: web
        image: web:1
        tty: true
      - name: log
        image: log:1
",
        "kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: web
        image: web:2
      - name: proxy
        image: proxy:1
",
    ),
    (
        "atomic",
        "Lists without a merge key are replaced",
        "kind: Pod
spec:
  containers:
  - name: web
    args:
    - --port=80
    - --verbose
",
        "kind: Pod
spec:
  containers:
  - name: web
    args:
    - --port=8080
",
    ),
    (
        "deletions",
        "null removes a field, and $patch: delete removes an entry",
        "kind: Pod
spec:
  hostNetwork: true
  containers:
  - name: web
    image: web:1
  - name: debug
    image: debug:1
",
        "kind: Pod
spec:
  hostNetwork: null
  containers:
  - name: debug
    $patch: delete
",
    ),
    (
        "defaults",
        "A key that is missing has its default value: protocol is TCP",
        "kind: Service
spec:
  ports:
  - port: 53
    protocol: UDP
    name: dns
  - port: 53
    name: dns-tcp
",
        "kind: Service
spec:
  ports:
  - port: 53
    protocol: TCP
    targetPort: 5353
",
    ),
];

fn api_version(text: &str) -> &'static str {
    if text.starts_with("kind: Deployment") { "apps/v1" } else { "v1" }
}

/// A manifest whose `spec` begins in line 4.
fn manifest(text: &str) -> String {
    let (kind, spec) = text.split_once('\n').expect("a kind");
    format!("apiVersion: {}\n{kind}\nmetadata: {{name: web}}\n{spec}", api_version(text))
}

/// A line of the result: its text, and the lines in which its value and its previous value are written.
struct Line {
    text: String,
    at: Option<Origin>,
    was: Option<Origin>,
    /// The previous value is the same one.
    same: bool,
}

type Origin = (Side, usize);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Base,
    Patch,
}

/// Parses `overlays/prod/web.yaml:8:3`.
fn origin(location: &str) -> Option<Origin> {
    let side = if location.starts_with("base/") { Side::Base } else { Side::Patch };
    let line = location.split(':').nth(1)?.parse().ok()?;
    Some((side, line))
}

/// The `spec` that `blame` prints for the merge.
fn result(base: &str, patch: &str) -> Vec<Line> {
    let home = temp_dir(&[("base/web.yaml", &manifest(base)), ("overlays/prod/web.yaml", &manifest(patch))]);
    let output = run(home.path(), &["blame", "overlays/prod"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).expect("text");
    let spec = printed.lines().skip_while(|line| *line != "spec:");
    spec.map(|line| {
        let (text, comment) = line.split_once("  # ").unwrap_or((line, ""));
        let (at, was) = comment.split_once("  was ").unwrap_or((comment, ""));
        let (previous, was) = was.rsplit_once(' ').unwrap_or_default();
        let text = text.trim_end().to_string();
        let same = !previous.is_empty() && text.ends_with(&format!(": {previous}"));
        Line { text, at: origin(at), was: origin(was), same }
    })
    .collect()
}

/// The color of each line of base and patch that has a value, by what became of it.
fn colors(result: &[Line], sides: [(Side, &str); 2]) -> BTreeMap<Origin, &'static str> {
    let mut colors = BTreeMap::new();
    for (side, text) in sides {
        for (index, line) in text.lines().enumerate().skip(1) {
            let is_structure = line.ends_with(':');
            colors.insert((side, index + 3), if is_structure { MUTED } else { RED });
        }
    }
    for line in result {
        let color = if line.same { AMBER } else { BLUE };
        colors.extend(line.at.map(|at| (at, if line.same || at.0 == Side::Base { color } else { GREEN })));
        colors.extend(line.was.filter(|_| line.same).map(|was| (was, AMBER)));
    }
    colors
}

/// The panel of one text: its heading, its lines, and the left edge.
fn panel(svg: &mut Svg, heading: &str, x: usize, lines: &[(String, &str)], width: usize) {
    svg.text((x, 54), MUTED, "font-weight=\"bold\"", heading);
    svg.rectangle([x - 10, 64, width * CHARACTER + 20, lines.len() * LINE + 14], "#ffffff", "#d0d7de");
    for (index, (text, color)) in lines.iter().enumerate() {
        let style = if *color == RED { "text-decoration=\"line-through\"" } else { "" };
        svg.text((x, 84 + index * LINE), color, style, text);
    }
}

fn picture(title: &str, base: &str, patch: &str) -> String {
    let result = result(base, patch);
    let colors = colors(&result, [(Side::Base, base), (Side::Patch, patch)]);
    let source = |side: Side, text: &str| -> Vec<(String, &str)> {
        let lines = text.lines().skip(1).enumerate();
        lines.map(|(index, line)| (line.to_string(), colors[&(side, index + 4)])).collect()
    };
    let own = |line: &Line| match line.at {
        None => MUTED,
        Some(at) => colors[&at],
    };
    let results: Vec<_> = result.iter().map(|line| (line.text.clone(), own(line))).collect();
    let panels = [source(Side::Base, base), source(Side::Patch, patch), results];
    let widest = panels.iter().flatten().map(|(text, _)| text.chars().count()).max().unwrap_or_default();
    let step = widest * CHARACTER + 90;
    let lines = panels.iter().map(Vec::len).max().unwrap_or_default();
    let mut svg = Svg::new("#f6f8fa");
    svg.text((24, 28), TEXT, "font-weight=\"bold\"", title);
    for (index, (heading, lines)) in ["base", "patch", "result"].iter().zip(&panels).enumerate() {
        panel(&mut svg, heading, 30 + index * step, lines, widest);
    }
    connect(&mut svg, &result, step, widest);
    legend(&mut svg, 64 + lines * LINE + 44);
    svg.finish((3 * step - 30).max(690), 64 + lines * LINE + 60, title)
}

/// Draws a curve from each value of the patch to the result, and from those of the base that have no patch.
fn connect(svg: &mut Svg, result: &[Line], step: usize, widest: usize) {
    let end = widest * CHARACTER + 40;
    for (index, line) in result.iter().enumerate() {
        let y = 80 + index * LINE;
        if let Some((Side::Patch, from)) = line.at {
            let color = if line.same { AMBER } else { GREEN };
            svg.curve((step + end, 80 + (from - 4) * LINE), (2 * step + 20, y), color);
        }
    }
    for line in result.iter().filter(|line| line.same) {
        if let (Some((Side::Patch, patch)), Some((Side::Base, base))) = (line.at, line.was) {
            svg.curve((end, 80 + (base - 4) * LINE), (step + 20, 80 + (patch - 4) * LINE), AMBER);
        }
    }
}

fn legend(svg: &mut Svg, y: usize) {
    let mut x = 24;
    for (color, text) in [
        (BLUE, "kept from the base"),
        (GREEN, "from the patch"),
        (AMBER, "the same on both sides"),
        (RED, "removed"),
    ] {
        svg.rectangle([x, y - 10, 12, 12], color, color);
        svg.text((x + 18, y), TEXT, "", text);
        x += (text.len() + 5) * CHARACTER;
    }
}

#[test]
fn merges_are_drawn() {
    for (name, title, base, patch) in MERGES {
        super::check(&format!("merge-{name}.svg"), &picture(title, base, patch));
    }
}

#[test]
fn strategic_merge_page_shows_the_inputs_of_its_pictures() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("book/concepts/strategic-merge.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let mut missing = String::new();
    for (name, title, ..) in MERGES {
        let image = format!("![{title}](../pictures/merge-{name}.svg)");
        if !page.contains(&image) {
            let _ = writeln!(missing, "{image}");
        }
    }
    assert!(missing.is_empty(), "the page lacks\n{missing}");
}
