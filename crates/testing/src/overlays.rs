//! Overlays made at random from all features of a kustomization.
//!
//! A tree of layers is grown from a seed: bases with manifests, layers over one or two others (which may
//! share a base) and components. The generator keeps a rough model of the resources of each layer, so that
//! most of what it writes about them is right; about one tree in ten gets a mistake on purpose.
//!
//! It avoids what our default dialect does otherwise on purpose: ports with a protocol in only one place, list
//! entries without their merge key. Also plain scalars with `?` in flow style, which go-yaml cannot read, and
//! labels in annotations that are null.

mod dice;
mod generators;
mod layer;
mod manifests;
mod mistakes;
mod patches;
mod plugins;
mod replacements;
mod thing;

use std::fs;
use std::path::{Path, PathBuf};

use dice::Dice;
use layer::{Layer, Position};
use manifests::Habits;

/// Writes a line to a string.
macro_rules! line {
    ($to:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($to, $($text)*).expect("text")
    }};
}
use line;

/// Writes the tree of a seed below a directory and returns the directory to build.
pub fn write(seed: u64, root: &Path) -> PathBuf {
    let mut dice = Dice::new(seed);
    let habits = Habits { protocols: dice.chance(50), nulls: dice.chance(60) };
    let flaw = dice.chance(9);
    let mut forest = Forest {
        dice,
        habits,
        flaw,
        root: root.into(),
        layers: Vec::new(),
        serial: 0,
        variables: Vec::new(),
    };
    let depth = forest.dice.pick(&[1, 2, 2, 2, 3]);
    let top = forest.layer(depth, Position::Top);
    root.join(top.directory)
}

/// The tree that grows.
struct Forest {
    dice: Dice,
    habits: Habits,
    /// Whether the top gets a mistake.
    flaw: bool,
    root: PathBuf,
    /// All layers so far; a later one may stand on any of them.
    layers: Vec<Layer>,
    serial: usize,
    /// The variables that are declared already.
    variables: Vec<&'static str>,
}

impl Forest {
    /// A number that was not used yet, for names.
    fn number(&mut self) -> usize {
        self.serial += 1;
        self.serial - 1
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
}

/// The text with each line indented.
fn indent(text: &str, columns: usize) -> String {
    let pad = " ".repeat(columns);
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("{pad}{line}\n") }).collect()
}
