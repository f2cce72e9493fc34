//! The output or the diff of a target as rows.
//!
//! Rows are computed when they are drawn, because an output may have 100,000 of them.

use std::rc::Rc;

use super::super::model::{ChangedObject, DangerView, DiffView, LineView, LocationView, TargetView};
use super::cursor::Cursor;
use super::text::{ShownLine, Tone};

/// The view of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Mode {
    /// The rendered resources.
    #[default]
    Output,
    /// The changes against the comparison.
    Diff,
}

/// The data of the rows. Each group is a resource or a changed object. Its first row is a heading.
#[derive(Debug, Clone)]
enum Groups {
    Output(Rc<TargetView>),
    Diff(Rc<DiffView>),
}

/// The rows of a target.
#[derive(Debug, Clone)]
pub(super) struct Content {
    groups: Groups,
    /// The first row of each group, and the number of all rows.
    starts: Vec<usize>,
    pub(super) cursor: Cursor,
    /// The first visible column.
    pub(super) left: usize,
}

/// A position that can be found again after a build.
#[derive(Debug, Clone)]
pub(super) struct Anchor {
    cursor: Cursor,
    left: usize,
    group: usize,
    key: String,
    offset: usize,
    pointer: Option<String>,
}

/// A line with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueLine {
    pub(super) resource: usize,
    pub(super) pointer: String,
    pub(super) is_secret: bool,
}

impl Content {
    /// Lists the rows of an output.
    pub(super) fn output(view: &Rc<TargetView>) -> Self {
        let lines = view.resources.iter().map(|resource| resource.lines.len());
        Self::new(lines.collect(), Groups::Output(Rc::clone(view)))
    }

    /// Lists the rows of a diff.
    pub(super) fn diff(view: &Rc<DiffView>) -> Self {
        let lines = view.objects.iter().map(|object| object.dangers.len() + object.lines.len());
        Self::new(lines.collect(), Groups::Diff(Rc::clone(view)))
    }

    fn new(lengths: Vec<usize>, groups: Groups) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for length in lengths {
            end += length + 1;
            starts.push(end);
        }
        Self { groups, starts, cursor: Cursor::default(), left: 0 }
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    fn group_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the group of a row, and the index of the row in the group. The heading has index 0.
    fn position_in_group(&self, row: usize) -> Option<(usize, usize)> {
        let group = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        (group < self.group_count()).then(|| (group, row - self.starts[group]))
    }

    /// Returns the identity of a group.
    fn key(&self, group: usize) -> Option<&str> {
        match &self.groups {
            Groups::Output(view) => view.resources.get(group).map(|resource| resource.id.as_str()),
            Groups::Diff(view) => view.objects.get(group).map(|object| object.id.as_str()),
        }
    }

    fn line_view(&self, row: usize) -> Option<(usize, &LineView)> {
        let (group, offset) = self.position_in_group(row)?;
        let Groups::Output(view) = &self.groups else { return None };
        Some((group, view.resources.get(group)?.lines.get(offset.checked_sub(1)?)?))
    }

    /// Returns a row as drawn. `revealed` replaces the hidden value of a line.
    pub(super) fn line(&self, row: usize, revealed: Option<(&ValueLine, &str)>) -> ShownLine {
        let Some((group, offset)) = self.position_in_group(row) else { return ShownLine::default() };
        match &self.groups {
            Groups::Output(view) => match self.line_view(row) {
                Some((_, line)) => ShownLine::new(&shown_text(line, group, revealed), Tone::Plain),
                None => ShownLine::new(&format!("# {}", view.resources[group].id), Tone::Strong),
            },
            Groups::Diff(view) => diff_line(&view.objects[group], offset),
        }
    }

    /// Returns the value on the line of the cursor.
    pub(super) fn value(&self) -> Option<ValueLine> {
        let (resource, line) = self.line_view(self.cursor.row)?;
        Some(ValueLine { resource, pointer: line.pointer.clone()?, is_secret: line.secret })
    }

    /// Returns the first value in the resource of the cursor.
    pub(super) fn first_value(&self) -> Option<ValueLine> {
        let (resource, _) = self.position_in_group(self.cursor.row)?;
        let Groups::Output(view) = &self.groups else { return None };
        let pointer = view.resources.get(resource)?.lines.iter().find_map(|line| line.pointer.clone())?;
        Some(ValueLine { resource, pointer, is_secret: false })
    }

    /// Returns the location of the danger on the line of the cursor.
    pub(super) fn danger_location(&self) -> Option<&LocationView> {
        let (group, offset) = self.position_in_group(self.cursor.row)?;
        let Groups::Diff(view) = &self.groups else { return None };
        view.objects.get(group)?.dangers.get(offset.checked_sub(1)?)?.location.as_ref()
    }

    /// Returns the first row of the next or previous group.
    pub(super) fn group_row(&self, step: isize) -> Option<usize> {
        let (group, offset) = self.position_in_group(self.cursor.row)?;
        // The first step up from within a group goes to its heading.
        let step = if step < 0 && offset > 0 { step + 1 } else { step };
        let group = group.checked_add_signed(step).filter(|group| *group < self.group_count())?;
        Some(self.starts[group])
    }

    /// Returns the row of a value, or that of the heading of its resource.
    pub(super) fn row_of(&self, resource: usize, pointer: Option<&str>) -> Option<usize> {
        let start = *self.starts.get(resource).filter(|_| resource < self.group_count())?;
        let Groups::Output(view) = &self.groups else { return Some(start) };
        let lines = &view.resources[resource].lines;
        let line = pointer.and_then(|pointer| {
            lines.iter().position(|line| line.pointer.as_deref().is_some_and(|one| one == pointer))
        });
        Some(line.map_or(start, |line| start + 1 + line))
    }

    /// Describes the position of the cursor.
    pub(super) fn anchor(&self) -> Anchor {
        let (group, offset) = self.position_in_group(self.cursor.row).unwrap_or_default();
        Anchor {
            cursor: self.cursor,
            left: self.left,
            group,
            key: self.key(group).unwrap_or_default().to_string(),
            offset,
            pointer: self.value().map(|value| value.pointer),
        }
    }

    /// Moves the cursor to a position of a former content: to the same value, otherwise to the same line of the same
    /// resource, otherwise to the same row.
    pub(super) fn restore(&mut self, anchor: &Anchor) {
        (self.cursor, self.left) = (anchor.cursor, anchor.left);
        let has_key = |group: &usize| self.key(*group) == Some(&anchor.key);
        let same = Some(anchor.group).filter(has_key).or_else(|| (0..self.group_count()).find(has_key));
        let Some(same) = same else { return };
        let last = self.starts[same + 1] - 1;
        let by_line = (self.starts[same] + anchor.offset).min(last);
        let on_line = self.line_view(by_line).and_then(|(_, line)| line.pointer.as_ref());
        let pointer = anchor.pointer.as_ref().filter(|pointer| on_line != Some(pointer));
        let by_value = pointer.and_then(|pointer| self.row_of_value(same, pointer));
        self.cursor.jump(by_value.unwrap_or(by_line));
    }

    fn row_of_value(&self, resource: usize, pointer: &str) -> Option<usize> {
        self.row_of(resource, Some(pointer)).filter(|row| *row > self.starts[resource])
    }

    /// Returns the text for a content without rows.
    pub(super) fn empty_text(&self) -> String {
        match &self.groups {
            Groups::Output(view) if view.error.is_some() => "No successful build yet.".into(),
            Groups::Output(_) => "The target has no resources.".into(),
            Groups::Diff(view) => match &view.error {
                Some(error) => error.clone(),
                None => format!("No changes against {}.", view.comparison),
            },
        }
    }

    /// Returns the number of the cursor's group, and the number of all groups.
    pub(super) fn position(&self) -> Option<(usize, usize)> {
        let (group, _) = self.position_in_group(self.cursor.row)?;
        Some((group + 1, self.group_count()))
    }

    /// Returns the identity of the resource at an index.
    pub(super) fn resource_id(&self, resource: usize) -> Option<&str> {
        self.key(resource)
    }
}

/// Returns the text of a line. If its value is revealed, the text contains it.
fn shown_text(line: &LineView, resource: usize, revealed: Option<(&ValueLine, &str)>) -> String {
    let is_shown = |value: &ValueLine| {
        value.resource == resource && line.secret && line.pointer.as_deref() == Some(&value.pointer)
    };
    match revealed {
        Some((value, text)) if is_shown(value) => {
            let key = line.text.split("***").next().unwrap_or_default().trim_end_matches(['\'', '"']);
            format!("{key}{text}")
        }
        _ => line.text.clone(),
    }
}

/// Returns a row of a changed object: its heading, a danger or a line.
fn diff_line(object: &ChangedObject, offset: usize) -> ShownLine {
    let Some(i) = offset.checked_sub(1) else {
        return ShownLine::new(&format!("# {} ({})", object.id, object.action), Tone::Strong);
    };
    if let Some(danger) = object.dangers.get(i) {
        return danger_line(danger);
    }
    let Some(line) = object.lines.get(i - object.dangers.len()) else { return ShownLine::default() };
    match line.sign {
        '@' => ShownLine::new(&line.text, Tone::Dim),
        '+' => ShownLine::new(&format!("+{}", line.text), Tone::Added),
        '-' => ShownLine::new(&format!("-{}", line.text), Tone::Removed),
        sign => ShownLine::new(&format!("{sign}{}", line.text), Tone::Plain),
    }
}

fn danger_line(danger: &DangerView) -> ShownLine {
    let DangerView { severity, code, message, .. } = danger;
    ShownLine::new(&format!("! {severity}[{code}]: {message}"), tone_of(severity))
}

/// Returns the tone of a severity.
pub(super) fn tone_of(severity: &str) -> Tone {
    match severity {
        "error" => Tone::Error,
        "warning" => Tone::Warning,
        _ => Tone::Plain,
    }
}
