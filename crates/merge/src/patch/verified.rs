//! Creates patches and verifies them by applying them.

use super::apply::{ApplyOptions, apply};
use super::create::{CreationRules, PatchPart, ServerPatchOptions, create_by, diff};
use super::equality::{Difference, PatchedEquality};
use super::expected::{AtomicMaps, ExpectedResultRules, OthersChanges};
use super::inputs::{CreateOptions, PatchInputs, ThreeWayOptions};
use super::json_merge::create_json_merge;
use super::json_patch::create_json_patch;
use super::null_fields::NullFields;
use super::numbers::check_numbers;
use super::patch_type::PatchType;
use super::three_way::{check_conflicts, check_identity, create_three_way_by};
use crate::merge::association::ListPolicy;
use crate::merge::{Merged, PatchRules};
use crate::schema::Cursor;
use smp_text::diagnostic::{Code, Diagnostic, Result, WithWarnings};
use smp_text::yaml::{Map, Node};

/// Creates a patch of any type and verifies it: applied to the input, it yields the expected object. With a current
/// object, it is a three-way patch, otherwise a two-way patch.
///
/// For a two-way patch, the expected object is the modified version. For a three-way patch, it is the current object
/// with all values of the modified version and without the fields that only the original has; additions by other owners
/// are kept. Lists merge by the schema: for the API server by patch strategies, otherwise by all directives. For
/// unknown kinds, overlays, JSON merge patches and JSON patches replace lists as a whole. Only strategic merge patches
/// replace atomic maps as a whole; the other types can set single fields. For the API server, the patch is that of
/// `kubectl apply`.
///
/// For a three-way patch, a field that is null in the original or the modified version is treated as absent. For a
/// two-way patch, only a JSON patch can set null; with the other types, the field must have a known type, so that null
/// means absent. For the API server, a patch that may overwrite changes removes a field that is null in the modified
/// version, as kubectl does, except in metadata.
///
/// Returns a warning for each list that an overlay patch replaces because it has no schema.
///
/// ```
/// use strategic_merge_patch::patch::{CreateOptions, PatchInputs, PatchType, create_verified};
/// use strategic_merge_patch::schema::Cursor;
/// use smp_text::yaml::Node;
/// use serde_json::json;
///
/// let applied = Node::from(&json!({"spec": {"size": 1, "color": "red"}}));
/// let expected = Node::from(&json!({"spec": {"size": 2}}));
/// let live = Node::from(&json!({"metadata": {"uid": "1", "finalizers": ["others"]}, "spec": {"size": 1, "color": "red"}}));
///
/// let sides = PatchInputs { original: &applied, modified: &expected, current: Some(&live) };
/// let patch = create_verified(&sides, PatchType::Merge, Cursor::unknown(), &CreateOptions::default())?;
/// assert_eq!(patch.value.to_json_value(), json!({"spec": {"size": 2, "color": null}}));
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// The errors of [`create`](super::create) and [`create_three_way`](super::create_three_way). The error is
/// [`Code::Unsupported`] if no patch of this type yields the expected object, such as for a change of one of two
/// entries with the same merge key. [`alternative_forms`] returns the types that can.
pub fn create_verified(
    sides: &PatchInputs<'_>,
    patch_type: PatchType,
    kind: Cursor<'_>,
    options: &CreateOptions,
) -> Result<WithWarnings<Node>> {
    check_numbers(sides.modified)?;
    let Some(current) = sides.current else { return create_and_verify(sides, patch_type, kind, *options) };
    let form = PatchForm { patch_type, rules: options.rules };
    let (before, after) = match (form.policy(), options.three_way.overwrite) {
        // For kubectl, null removes the value of another owner. This is a conflict unless overwriting is allowed.
        (ListPolicy::Apiserver, true) => (NullFields::Typed, NullFields::Metadata),
        (ListPolicy::Apiserver, false) => (NullFields::Typed, NullFields::Typed),
        _ => (NullFields::All, NullFields::All),
    };
    let (original, modified) =
        (before.removed_from(sides.original, kind), after.removed_from(sides.modified, kind));
    let sides = PatchInputs { original: &original, modified: &modified, current: Some(current) };
    create_and_verify(&sides, patch_type, kind, *options)
}

fn create_and_verify(
    sides: &PatchInputs<'_>,
    patch_type: PatchType,
    kind: Cursor<'_>,
    options: CreateOptions,
) -> Result<WithWarnings<Node>> {
    let CreateOptions { rules, three_way, recommended_keys } = options;
    let form = PatchForm { patch_type, rules };
    let expected = expected_object(sides, form, kind, three_way)?;
    let creation = match rules {
        PatchRules::Apiserver if recommended_keys => CreationRules::ServerWithRecommendedKeys,
        rules => rules.into(),
    };
    let trial = Verification { inputs: sides, expected: &expected, form, kind, creation };
    let input = sides.input();
    match (patch_type, sides.current) {
        (PatchType::Strategic, Some(current)) if rules == PatchRules::Apiserver => {
            trial.verify_kubectl_patch(current, three_way)
        }
        (PatchType::Strategic, None) if rules == PatchRules::Apiserver => {
            let kubectl_patch = trial.verify(create_by(input, &expected, kind, creation)?);
            kubectl_patch.or_else(|error| trial.verify_differences().map_err(|_| error))
        }
        (PatchType::Strategic, _) => trial.verify(create_by(input, &expected, kind, creation)?),
        (PatchType::Merge, _) => trial.verify(create_json_merge(input, &expected)),
        (PatchType::Json, _) => trial.verify(create_json_patch(input, &expected)),
    }
}

/// A patch type and, for strategic merge patches, its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchForm {
    /// The type of the patch.
    pub patch_type: PatchType,
    /// The rules by which it will be applied, if it is a strategic merge patch.
    pub rules: PatchRules,
}

impl PatchForm {
    fn policy(self) -> ListPolicy {
        match (self.patch_type, self.rules) {
            (PatchType::Strategic, PatchRules::Apiserver) => ListPolicy::Apiserver,
            _ => ListPolicy::Overlay,
        }
    }
}

/// Returns the other patch types and rules that can express a change for which [`create_verified`] fails. Each of them
/// is verified.
///
/// ```
/// use strategic_merge_patch::patch::{CreateOptions, PatchInputs, PatchType, alternative_forms, create_verified};
/// use strategic_merge_patch::schema::Cursor;
/// use smp_text::yaml::Node;
///
/// let (original, modified): (Node, Node) = ("{}".parse()?, "{size: {limit: null}}".parse()?);
/// let sides = PatchInputs { original: &original, modified: &modified, current: None };
/// let options = CreateOptions::default();
/// // In a JSON merge patch, null removes a field.
/// assert!(create_verified(&sides, PatchType::Merge, Cursor::unknown(), &options).is_err());
/// let forms = alternative_forms(&sides, PatchType::Merge, Cursor::unknown(), &options);
/// assert_eq!(forms.iter().map(|form| form.patch_type).collect::<Vec<_>>(), [PatchType::Json]);
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[must_use]
pub fn alternative_forms(
    sides: &PatchInputs<'_>,
    patch_type: PatchType,
    kind: Cursor<'_>,
    options: &CreateOptions,
) -> Vec<PatchForm> {
    let forms = PatchType::ALL.map(|patch_type| PatchForm { patch_type, rules: PatchRules::Overlay });
    let was_attempted = |form: &PatchForm| {
        form.patch_type == patch_type && (patch_type != PatchType::Strategic || form.rules == options.rules)
    };
    let is_possible =
        |form: &PatchForm| create_verified(sides, form.patch_type, kind, &options.rules(form.rules)).is_ok();
    forms.into_iter().filter(|form| !was_attempted(form) && is_possible(form)).collect()
}

/// The inputs of the verification of a patch.
struct Verification<'t> {
    inputs: &'t PatchInputs<'t>,
    expected: &'t Node,
    form: PatchForm,
    kind: Cursor<'t>,
    /// The rules for creating strategic merge patches.
    creation: CreationRules,
}

impl Verification<'_> {
    /// Returns the patch of `kubectl apply` if it yields the expected object, otherwise the patch of the differences.
    ///
    /// # Errors
    /// There is a conflict, or neither patch yields the expected object.
    fn verify_kubectl_patch(&self, current: &Node, options: ThreeWayOptions) -> Result<WithWarnings<Node>> {
        let Self { inputs: sides, kind, .. } = *self;
        let overwriting = options.overwrite(true);
        let made = create_three_way_by(sides, kind, overwriting, self.creation);
        let made = made.map_err(|error| self.creation_error(error))?;
        if let Some(patch) = made.as_map().filter(|_| !options.overwrite) {
            // Null in the current object is treated as absent.
            let theirs = NullFields::Typed.removed_from(current, kind);
            check_conflicts(patch, sides.original, &theirs, kind)?;
        }
        let kubectl_patch = self.verify(made);
        // A deletion in kubectl's patch would be stored as null if another owner has already removed the entry.
        if kubectl_patch.as_ref().is_ok_and(|patch| !self.leaves_nulls(&patch.value)) {
            return kubectl_patch;
        }
        self.verify_differences().or(kubectl_patch)
    }

    /// Returns the patch of the differences between the input and the expected object. kubectl's patch also contains
    /// other data, such as the order of unsorted scalars. If two entries have the same merge key, this data could
    /// change the first one by mistake.
    fn verify_differences(&self) -> Result<WithWarnings<Node>> {
        let options = ServerPatchOptions { part: PatchPart::Differences, rules: self.creation };
        let patch = diff(self.inputs.input(), self.expected, self.kind, options)?;
        self.verify(Node::map(patch))
    }

    /// Returns true if the patch leaves nulls that are not expected.
    fn leaves_nulls(&self, patch: &Node) -> bool {
        if nulls(patch) == 0 {
            return false;
        }
        let got = self.applied(patch).ok().and_then(|merged| merged.node);
        got.is_some_and(|got| nulls(&got) > nulls(self.expected))
    }

    fn applied(&self, patch: &Node) -> Result<Merged> {
        let options = ApplyOptions::default().rules(self.form.rules).kind(self.kind);
        apply(self.inputs.input().clone(), patch, self.form.patch_type, &options)
    }

    /// Replaces an error about a directive in the created patch, since the user did not write the directive.
    fn creation_error(&self, error: Diagnostic) -> Diagnostic {
        if error.code() != Code::Directive {
            return error;
        }
        let said = unsupported(self.form).at(self.expected.span().at_start());
        let said = said.note("the created patch is invalid under these rules");
        error.field_path().into_iter().fold(said, Diagnostic::field)
    }

    /// Returns the patch if it yields the expected object.
    ///
    /// # Errors
    /// The patch does not yield the expected object.
    fn verify(&self, patch: Node) -> Result<WithWarnings<Node>> {
        let merged = self.applied(&patch).map_err(|error| self.creation_error(error))?;
        let got = merged.node.unwrap_or_else(|| Node::map(Map::new()));
        match self.sameness().difference(&got, self.expected, self.kind) {
            None => Ok(WithWarnings { value: patch, warnings: merged.warnings }),
            Some(difference) => Err(unsupported_difference(&difference, self.form)),
        }
    }

    fn sameness(&self) -> PatchedEquality {
        let policy = self.form.policy();
        match self.form.patch_type {
            PatchType::Json => PatchedEquality::Exact,
            // For kubectl's patches, the server inserts entries of other owners between those of the patch.
            PatchType::Strategic if policy == ListPolicy::Apiserver && self.inputs.current.is_some() => {
                PatchedEquality::Unordered(policy)
            }
            PatchType::Strategic | PatchType::Merge => PatchedEquality::Decoded(policy),
        }
    }
}

/// Counts the nulls in a value.
fn nulls(node: &Node) -> usize {
    node.nodes().filter(|node| node.is_null()).count()
}

/// Returns the expected object.
fn expected_object(
    sides: &PatchInputs<'_>,
    form: PatchForm,
    kind: Cursor<'_>,
    options: ThreeWayOptions,
) -> Result<Node> {
    let Some(current) = sides.current else {
        if options.same_identity {
            check_identity(sides.original, sides.modified)?;
        }
        return Ok(sides.modified.clone());
    };
    let policy = form.policy();
    // For the API server, kubectl's own conflict check is used.
    let others = if options.overwrite || policy == ListPolicy::Apiserver {
        OthersChanges::Overwritten
    } else {
        OthersChanges::Rejected
    };
    let is_strategic = form.patch_type == PatchType::Strategic;
    let whole_maps = if is_strategic { AtomicMaps::BySchema } else { AtomicMaps::None };
    let expected = ExpectedResultRules { policy, atomic_maps: whole_maps, others };
    let expected = expected.object(sides.original, sides.modified, current, kind)?;
    if options.same_identity {
        check_identity(current, &expected)?;
    }
    Ok(expected)
}

fn unsupported(form: PatchForm) -> Diagnostic {
    let what = match form.patch_type {
        PatchType::Strategic if form.policy() == ListPolicy::Apiserver => {
            "no strategic merge patch for the API server can make this change"
        }
        PatchType::Strategic => "no strategic merge patch under these rules can make this change",
        PatchType::Merge => "no JSON merge patch can make this change",
        PatchType::Json => "no JSON patch can make this change",
    };
    Diagnostic::error(Code::Unsupported, what)
}

fn unsupported_difference(difference: &Difference, form: PatchForm) -> Diagnostic {
    let error = unsupported(form)
        .at(difference.span)
        .field(difference.path.clone())
        .note("the closest patch gives a different value here");
    if difference.equal_keys {
        error.note("entries of this list have the same merge key, so the patch cannot distinguish them")
    } else {
        error
    }
}
