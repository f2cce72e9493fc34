//! The location that the editor opens.

use super::super::model::{LocationView, TargetView};
use super::app::{Action, App};
use super::content::{Content, Mode};
use super::details::winning_location;
use super::editor::EditorTarget;
use super::layout::Pane;

impl App<'_> {
    /// Opens the editor at the location of the line with the cursor.
    pub(super) fn edit(&mut self) -> Option<Action> {
        let found = match self.focus {
            Pane::Targets => self.target_location(),
            Pane::Content if self.mode == Mode::Output => self.value_location(),
            Pane::Content => self.content.as_ref().and_then(Content::danger_location).cloned(),
            Pane::Details => self.details.location().cloned(),
        };
        let Some(at) = found else {
            self.status = "There is no location for this line".into();
            return None;
        };
        let Some(path) = at.path else {
            self.status = format!("{} is not a local file", at.file);
            return None;
        };
        Some(Action::Edit(EditorTarget { path, line: at.line, column: at.column }))
    }

    /// Returns the origin of the value at the cursor, or that of the first value of its resource.
    fn value_location(&self) -> Option<LocationView> {
        let content = self.content.as_ref()?;
        let value = content.value().or_else(|| content.first_value())?;
        let field = self.field(&self.targets.selected()?.name, &value)?;
        winning_location(&field).cloned()
    }

    /// Returns the location of the error of the target, or its kustomization.
    fn target_location(&self) -> Option<LocationView> {
        let view = self.view.as_ref()?;
        if let Some(at) = view.error.as_ref().and_then(|error| error.location.as_ref()) {
            return Some(at.clone());
        }
        let file = main_file(view)?;
        let path = self.data.source(&view.name, file)?.path;
        Some(LocationView { file: file.into(), path, line: 1, column: 1 })
    }
}

/// Returns the kustomization file in the directory of a target, or the first file.
fn main_file(view: &TargetView) -> Option<&str> {
    let folder =
        if view.name == "." { String::new() } else { format!("{}/", view.name.trim_end_matches('/')) };
    let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    let files = view.files.iter().map(String::as_str);
    let is_main = |file: &&str| file.strip_prefix(&folder).is_some_and(|name| names.contains(&name));
    files.clone().find(is_main).or_else(|| files.clone().next())
}
