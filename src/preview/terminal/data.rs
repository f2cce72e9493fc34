//! The interface of the data that the terminal displays. Unit tests provide their own data.

use super::super::model::{DiffView, FieldView, SearchView, SourceView, TargetView};
use super::super::session::Session;

/// The views of a preview.
pub(super) trait PreviewData {
    /// Returns the output of a target.
    fn view(&self, target: &str) -> Option<TargetView>;

    /// Returns the changes of a target.
    fn diff(&self, target: &str) -> Option<DiffView>;

    /// Returns the provenance of a value.
    fn field(&self, target: &str, resource: usize, pointer: &str) -> Option<FieldView>;

    /// Returns a file that the build of a target read.
    fn source(&self, target: &str, file: &str) -> Option<SourceView>;

    /// Finds lines that contain a text.
    fn search(&self, query: &str) -> SearchView;

    /// Returns the text of a hidden value.
    fn reveal(&self, target: &str, resource: usize, pointer: &str) -> Option<String>;
}

impl PreviewData for Session {
    fn view(&self, target: &str) -> Option<TargetView> {
        self.view(target)
    }

    fn diff(&self, target: &str) -> Option<DiffView> {
        self.diff(target)
    }

    fn field(&self, target: &str, resource: usize, pointer: &str) -> Option<FieldView> {
        self.field(target, resource, pointer)
    }

    fn source(&self, target: &str, file: &str) -> Option<SourceView> {
        self.source(target, file)
    }

    fn search(&self, query: &str) -> SearchView {
        self.search(query)
    }

    fn reveal(&self, target: &str, resource: usize, pointer: &str) -> Option<String> {
        self.reveal(target, resource, pointer)
    }
}
