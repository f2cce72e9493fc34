//! The views of the most recently displayed targets. Each view is fetched once for each build.

use std::rc::Rc;

use super::super::model::{DiffView, TargetView};
use super::data::PreviewData;

/// The number of targets whose views are kept.
const CAPACITY: usize = 8;

/// The most recent views. The newest one is at the end.
#[derive(Debug, Default)]
pub(super) struct ViewCache {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    target: String,
    generation: u64,
    view: Option<Rc<TargetView>>,
    diff: Option<Rc<DiffView>>,
}

impl ViewCache {
    /// Returns the output of a target.
    pub(super) fn view(
        &mut self,
        data: &dyn PreviewData,
        target: &str,
        generation: u64,
    ) -> Option<Rc<TargetView>> {
        let entry = self.entry(target, generation);
        if entry.view.is_none() {
            entry.view = data.view(target).map(Rc::new);
        }
        entry.view.clone()
    }

    /// Returns the changes of a target.
    pub(super) fn diff(
        &mut self,
        data: &dyn PreviewData,
        target: &str,
        generation: u64,
    ) -> Option<Rc<DiffView>> {
        let entry = self.entry(target, generation);
        if entry.diff.is_none() {
            entry.diff = data.diff(target).map(Rc::new);
        }
        entry.diff.clone()
    }

    /// Returns the entry of a build, and makes it the newest one.
    fn entry(&mut self, target: &str, generation: u64) -> &mut Entry {
        let known = self.entries.iter().position(|entry| entry.target == target);
        let known = known.map(|i| self.entries.remove(i)).filter(|entry| entry.generation == generation);
        if self.entries.len() >= CAPACITY {
            self.entries.remove(0);
        }
        let new = || Entry { target: target.into(), generation, view: None, diff: None };
        let entry = known.unwrap_or_else(new);
        self.entries.push(entry);
        let last = self.entries.len() - 1;
        &mut self.entries[last]
    }
}
