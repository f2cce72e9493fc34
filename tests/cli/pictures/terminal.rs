//! A terminal session, recorded from a run in the shop.

#![cfg(unix)]

use super::svg::{CHARACTER, LINE, Svg};
use crate::book::Clone;

/// The commands of the session. A line without `$` runs without being shown.
const SESSION: &str = r"
cp -r examples/shop shop; cd shop; git init -q -b main; git add .; git commit -qm start
sed -i 's|shop/storefront, newTag: 2.4|shop/storefrnt, newTag: 2.4|' apps/environments/staging/kustomization.yaml
$ kubectl smp check -R .
git checkout -q .
sed -i 's/count: 3/count: 0/; s/newTag: 2.3.1/newTag: 2.4.0/' apps/environments/production/kustomization.yaml
$ kubectl smp diff --rev main -R apps
$ kubectl smp blame apps/environments/production deploy/orders:spec.replicas
";

const COLUMNS: usize = 118;

/// The color and weight that escape sequences select.
#[derive(Clone, Copy, Default)]
struct Style {
    color: Option<&'static str>,
    bold: bool,
}

impl Style {
    fn select(&mut self, code: &str) {
        match code {
            "0" | "" => *self = Self::default(),
            "1" => self.bold = true,
            "31" | "91" => self.color = Some("#ff7b72"),
            "32" | "92" => self.color = Some("#7ee787"),
            "33" | "93" => self.color = Some("#e3b341"),
            "34" | "94" => self.color = Some("#79c0ff"),
            "36" | "96" => self.color = Some("#56d4dd"),
            other => panic!("unknown style {other}"),
        }
    }
}

/// Draws a line of output, and returns the style at its end.
fn line(svg: &mut Svg, y: usize, text: &str, mut style: Style) -> Style {
    let mut column = 0;
    for (index, part) in text.split("\x1b[").enumerate() {
        let part = if index == 0 {
            part
        } else {
            let (codes, rest) = part.split_once('m').expect("a style");
            codes.split(';').for_each(|code| style.select(code));
            rest
        };
        let mut shown: String = part.chars().take(COLUMNS.saturating_sub(column)).collect();
        if shown.len() < part.len() && !shown.is_empty() {
            shown.pop();
            shown.push('…');
        }
        let weight = if style.bold { "font-weight=\"bold\"" } else { "" };
        svg.text((20 + column * CHARACTER, y), style.color.unwrap_or("#e6edf3"), weight, &shown);
        column += part.chars().count();
    }
    style
}

#[test]
fn terminal_session_is_drawn() {
    let mut clone = Clone::new(".");
    let mut svg = Svg::new("#0d1117");
    let mut y = 34;
    for command in SESSION.lines().filter(|line| !line.is_empty()) {
        let Some(shown) = command.strip_prefix("$ ") else {
            let (succeeded, printed) = clone.run(command);
            assert!(succeeded, "{command}: {printed}");
            continue;
        };
        let (_, printed) = clone.run(&format!("export FORCE_COLOR=1\n{shown}"));
        svg.text((20, y), "#7ee787", "font-weight=\"bold\"", "$");
        svg.text((20 + 2 * CHARACTER, y), "#ffffff", "font-weight=\"bold\"", shown);
        y += LINE;
        let mut style = Style::default();
        for text in printed.lines() {
            style = line(&mut svg, y, text, style);
            y += LINE;
        }
        y += LINE / 2;
    }
    let title = "kubectl smp finds a misspelled image, marks a dangerous change, and names the line that sets a value";
    super::check("terminal.svg", &svg.finish(COLUMNS * CHARACTER + 40, y, title));
}
