//! Random overlays that use all features of a kustomization.
//!
//! A seed generates a tree of layers: bases with manifests, layers over one or two others (which may share a base), and
//! components. The generator keeps a simplified model of the resources of each layer, so that most patches and
//! references are valid. About one tree in ten contains a deliberate mistake.
//!
//! Avoids deliberate differences of our default dialect: ports with a protocol in only one version, and list
//! entries without their merge key. Also avoids plain scalars with `?` in flow style, which go-yaml cannot parse,
//! and labels in null annotations.

mod dice;
mod generators;
mod layer;
mod manifests;
mod mistakes;
mod patches;
mod plugins;
mod replacements;
mod resource_model;

use std::fs;
use std::path::{Path, PathBuf};

use dice::Dice;
use layer::{Layer, Position};
use manifests::ManifestStyle;

/// Writes a line to a string.
macro_rules! line {
    ($to:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($to, $($text)*).expect("text")
    }};
}
use line;

/// Writes the overlays of a seed to a directory. Returns the directory to build.
pub fn write(seed: u64, root: &Path) -> PathBuf {
    let mut dice = Dice::new(seed);
    let habits = ManifestStyle { port_protocols: dice.chance(50), null_annotations: dice.chance(60) };
    let has_mistake = dice.chance(9);
    let mut forest = OverlayGenerator {
        dice,
        habits,
        has_mistake,
        root: root.into(),
        layers: Vec::new(),
        serial: 0,
        variables: Vec::new(),
    };
    let depth = forest.dice.pick(&[1, 2, 2, 2, 3]);
    let top = forest.layer(depth, Position::Top);
    root.join(top.directory)
}

/// The generator and the layers that it has written.
struct OverlayGenerator {
    dice: Dice,
    habits: ManifestStyle,
    /// True if the top layer gets a mistake.
    has_mistake: bool,
    root: PathBuf,
    /// The layers so far. A later layer may use any of them as a base.
    layers: Vec<Layer>,
    serial: usize,
    /// The variables that were declared so far.
    variables: Vec<&'static str>,
}

impl OverlayGenerator {
    /// Returns an unused number for names.
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

/// Indents each line of a text.
fn indent(text: &str, columns: usize) -> String {
    let pad = " ".repeat(columns);
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("{pad}{line}\n") }).collect()
}
