//! The changes between two builds of a target.

use crate::check::ImageName;
use crate::explain::ImageField;
use smp_merge::diff::Change;
use smp_merge::schema::Schema;
use smp_overlay::overlay::Built;
use smp_overlay::resource::ResId;
use smp_text::diagnostic::Diagnostic;
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::Node;

/// The result of a build, and the schema of its objects.
#[derive(Debug, Clone, Copy)]
pub struct BuiltSide<'b> {
    /// The result of the build. If it contains histories, changes have locations.
    pub built: &'b Built,
    /// The schema that identifies list entries.
    pub schema: &'b Schema,
}

/// The change of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Only the new build has the object.
    Created,
    /// Fields of the object changed.
    Changed,
    /// The object has another name.
    Renamed,
    /// The object is in another namespace.
    Moved,
    /// Only the old build has the object.
    Deleted,
}

impl Action {
    /// Returns the word for the change.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Renamed => "renamed",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the sign at the start of a line about the object.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Created => '+',
            Self::Deleted => '-',
            _ => '~',
        }
    }
}

/// A changed field, or a whole object that was created or deleted.
#[derive(Debug, Clone)]
pub struct FieldChange {
    /// The field path. Entries of associative lists are identified by their merge keys.
    pub path: FieldPath,
    /// The old value; `None` if the value was added.
    pub old: Option<Node>,
    /// The new value; `None` if the value was removed.
    pub new: Option<Node>,
    /// The locations that wrote the old and the new value. For a removed value, the second one is that of its removal.
    pub at: [Option<Span>; 2],
}

impl FieldChange {
    /// Returns the change without its locations.
    #[must_use]
    pub fn change(&self) -> Change<'_> {
        Change { path: self.path.clone(), old: self.old.as_ref(), new: self.new.as_ref() }
    }
}

/// A changed object.
#[derive(Debug, Clone)]
pub struct ObjectChange {
    /// The change.
    pub action: Action,
    /// The identity in the new build, or in the old one if the object was deleted.
    pub id: ResId,
    /// The identity in the old build, if it differs.
    pub former: Option<ResId>,
    /// The old object; `None` if it was created.
    pub old: Option<Node>,
    /// The new object; `None` if it was deleted.
    pub new: Option<Node>,
    /// The changed fields. If the object was created or deleted, this is one change of the root.
    pub fields: Vec<FieldChange>,
    /// The images of the old and the new object.
    pub images: [Vec<ImageField>; 2],
    /// The dangers of the change.
    pub dangers: Vec<ChangeDanger>,
}

impl ObjectChange {
    /// Returns true if only tags and digests of images and version labels change, without a danger.
    #[must_use]
    pub fn is_routine(&self) -> bool {
        let is_version = |field: &FieldChange| {
            let path = field.path.to_string();
            VERSION_LABELS.iter().any(|label| path.ends_with(label)) || is_other_version(field)
        };
        self.action == Action::Changed && self.dangers.is_empty() && self.fields.iter().all(is_version)
    }

    /// Returns true if the object as a whole was created or deleted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.old.is_none() || self.new.is_none()
    }
}

/// The ends of the paths of labels that change with each version.
const VERSION_LABELS: [&str; 2] = [r#"labels["app.kubernetes.io/version"]"#, r#"labels["helm.sh/chart"]"#];

/// Returns true if a field is an image, and only its version changes, not its repository. The new version must not be
/// mutable.
fn is_other_version(field: &FieldChange) -> bool {
    let is_image = matches!(field.path.elements().last(), Some(PathElement::Field(name)) if name == "image");
    let text = |node: &Option<Node>| node.as_ref().and_then(Node::as_str).map(str::to_string);
    match (text(&field.old), text(&field.new)) {
        (Some(old), Some(new)) if is_image => {
            let (old, new) = (ImageName::parse(&old), ImageName::parse(&new));
            old.repository() == new.repository() && !new.is_mutable()
        }
        _ => false,
    }
}

/// All changes between two builds.
#[derive(Debug, Clone, Default)]
pub struct BuildChanges {
    /// The changed objects, in the order of the new build. Deleted ones come last.
    pub objects: Vec<ObjectChange>,
    /// True if the objects that both builds contain have another order.
    pub is_reordered: bool,
    /// The number of objects that did not change.
    pub unchanged: usize,
    /// The number of changes that were ignored.
    pub ignored: usize,
}

impl BuildChanges {
    /// Returns true if both builds have the same objects in the same order.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.is_reordered
    }
}

/// A dangerous part of a change.
#[derive(Debug, Clone)]
pub struct ChangeDanger {
    /// The finding, at the line that caused the change.
    pub finding: Diagnostic,
    /// The line before the change. A comment on it may suppress the finding.
    pub before: Option<Span>,
}
