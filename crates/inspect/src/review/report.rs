//! The result of comparing targets.

use std::borrow::Cow;
use std::path::PathBuf;

use super::changes::{BuildChanges, ObjectChange};
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::{Node, Value};

/// The sides on which a target exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// On both.
    Both,
    /// Only on the new side.
    Added,
    /// Only on the old side.
    Removed,
}

impl Presence {
    /// Returns the word for the change of the target.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Both => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// The comparison of a target.
#[derive(Debug, Clone)]
pub enum TargetOutcome {
    /// Both sides were built.
    Compared(BuildChanges),
    /// At least one side does not build. Contains the errors of the old and the new side.
    Failed([Option<Diagnostic>; 2]),
}

/// A target with its changes.
#[derive(Debug, Clone)]
pub struct TargetReview {
    /// The path of the target as displayed.
    pub target: PathBuf,
    /// The sides on which it exists.
    pub presence: Presence,
    /// The result.
    pub outcome: TargetOutcome,
}

impl TargetReview {
    /// Returns the changed objects.
    #[must_use]
    pub fn objects(&self) -> &[ObjectChange] {
        match &self.outcome {
            TargetOutcome::Compared(changes) => &changes.objects,
            TargetOutcome::Failed(_) => &[],
        }
    }

    /// Removes all dangers.
    pub fn clear_dangers(&mut self) {
        if let TargetOutcome::Compared(changes) = &mut self.outcome {
            changes.objects.iter_mut().for_each(|object| object.dangers.clear());
        }
    }

    /// Returns the text for a target that was not compared: `failed at base`, `fails now` or `fails in both`.
    #[must_use]
    pub fn failure(&self) -> Option<&'static str> {
        match &self.outcome {
            TargetOutcome::Compared(_) => None,
            TargetOutcome::Failed([_, None]) => Some("failed at base"),
            TargetOutcome::Failed([None, _]) => Some("fails now"),
            TargetOutcome::Failed(_) => Some("fails in both"),
        }
    }

    /// Returns true if the objects that both sides contain have another order.
    #[must_use]
    pub fn is_reordered(&self) -> bool {
        matches!(&self.outcome, TargetOutcome::Compared(changes) if changes.is_reordered)
    }

    /// Returns true if the target changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        match &self.outcome {
            TargetOutcome::Compared(changes) => !changes.is_empty() || self.presence != Presence::Both,
            TargetOutcome::Failed(_) => false,
        }
    }
}

/// The comparison of all targets.
#[derive(Debug, Clone, Default)]
pub struct Review {
    /// The targets in order, except those that cannot have changed.
    pub targets: Vec<TargetReview>,
    /// The number of targets that cannot have changed, because none of their inputs changed.
    pub unaffected: usize,
    /// The number of suppressed dangers.
    pub suppressed: usize,
}

impl Review {
    /// Returns true if several targets were selected. The output then shows the target of each change.
    #[must_use]
    pub fn has_many_targets(&self) -> bool {
        self.targets.len() + self.unaffected > 1
    }

    /// Masks strings in the changed values. Output formats that show a part of a value cannot mask it later.
    pub fn mask_values(&mut self, mask: impl Fn(&str) -> Cow<'_, str>) {
        for target in &mut self.targets {
            let TargetOutcome::Compared(changes) = &mut target.outcome else { continue };
            let fields = changes.objects.iter_mut().flat_map(|object| &mut object.fields);
            let mut pending: Vec<&mut Node> =
                fields.flat_map(|field| [&mut field.old, &mut field.new]).flatten().collect();
            while let Some(node) = pending.pop() {
                let masked = node.as_str().map(&mask);
                if let Some(Cow::Owned(text)) = masked {
                    *node = Node::string(text).with_span(node.span());
                    continue;
                }
                match &mut node.value {
                    Value::Map(map) => pending.extend(map.iter_mut().map(|(_, value)| value)),
                    Value::List(list) => pending.extend(list.iter_mut()),
                    Value::Scalar(_) => {}
                }
            }
        }
    }

    /// Returns true if any target changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.targets.iter().any(TargetReview::is_changed)
    }

    /// Returns true if a target could not be compared.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.targets.iter().any(|target| target.failure().is_some())
    }

    /// Returns true if only versions change, including those of images whose registry and repository stay the same,
    /// without a danger.
    #[must_use]
    pub fn is_routine(&self) -> bool {
        let is_routine = |target: &TargetReview| match &target.outcome {
            TargetOutcome::Compared(changes) => {
                target.presence == Presence::Both
                    && !changes.is_reordered
                    && changes.objects.iter().all(ObjectChange::is_routine)
            }
            TargetOutcome::Failed(_) => false,
        };
        self.is_changed() && self.targets.iter().all(is_routine)
    }

    /// Returns the changed objects of all targets.
    pub fn objects(&self) -> impl Iterator<Item = (&TargetReview, &ObjectChange)> {
        self.targets.iter().flat_map(|target| target.objects().iter().map(move |object| (target, object)))
    }
}
