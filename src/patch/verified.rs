//! Patches that were tried before they are given out.

use super::create::create;
use super::json_merge::{apply_json_merge, create_json_merge};
use super::json_patch::{create_json_patch, parse_json_patch};
use super::kind::{PatchKind, PatchSides};
use super::sameness::{Difference, Sameness};
use super::three_way::{ThreeWayOptions, create_three_way, keeps_identity};
use super::wanted::{OthersChanges, Wanted, WantedNull};
use crate::diagnostic::{Code, Diagnostic, Result, Warned};
use crate::merge::association::ListPolicy;
use crate::merge::{Merged, Rules, apply};
use crate::schema::{Cursor, Schema};
use crate::yaml::{Map, Node};

/// Makes a patch of any kind, two-way or, with a current object, three-way, and tries it: what comes back makes
/// of the input what was wanted.
///
/// Two-way, that is the modified version. Three-way, it is the current object with all that the modified version
/// says and without what only the original has; what others added stays. Lists merge by the schema, by its
/// patch strategies for the API server and by all that it says otherwise; where nothing is known of the kind, for
/// overlays, JSON merge patches and JSON patches, they are one value. For the API server the patch is that of
/// `kubectl apply`. A null in the modified version means that there is no such field, and in a JSON patch null.
///
/// A warning tells of each list that an overlay's patch replaces for want of a schema.
///
/// ```
/// use kubectl_smp::patch::{PatchKind, PatchSides, ThreeWayOptions, create_verified};
/// use kubectl_smp::schema::Cursor;
/// use kubectl_smp::yaml::Node;
/// use serde_json::json;
///
/// let applied = Node::from(&json!({"spec": {"size": 1, "color": "red"}}));
/// let wanted = Node::from(&json!({"spec": {"size": 2}}));
/// let live = Node::from(&json!({"metadata": {"uid": "1", "finalizers": ["others"]}, "spec": {"size": 1, "color": "red"}}));
///
/// let sides = PatchSides { original: &applied, modified: &wanted, current: Some(&live) };
/// let patch = create_verified(&sides, PatchKind::Merge, Cursor::unknown(), &ThreeWayOptions::default())?;
/// assert_eq!(patch.value.to_json_value(), json!({"spec": {"size": 2, "color": null}}));
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// As [`create`] and [`create_three_way`]; [`Code::Unsupported`] where no patch of this kind gets to what is
/// wanted, such as a change of one of two entries with the same merge key, with the way out.
pub fn create_verified(
    sides: &PatchSides<'_>,
    patch_kind: PatchKind,
    kind: Cursor<'_>,
    options: &ThreeWayOptions,
) -> Result<Warned<Node>> {
    let wanted = wanted(sides, patch_kind, kind, *options)?;
    let trial = Trial { sides, wanted: &wanted, patch_kind, kind };
    let input = sides.input();
    match (patch_kind, sides.current) {
        (PatchKind::Strategic(Rules::Apiserver), Some(current)) => {
            let kubectls = create_three_way(sides.original, sides.modified, current, kind, options)?;
            // What it tells of deletions comes to stand in entries that others took away, as data.
            let otherwise = || trial.run(create(current, &wanted, kind, Rules::Apiserver)?);
            trial.run(kubectls).or_else(|error| otherwise().map_err(|_| error))
        }
        (PatchKind::Strategic(rules), _) => trial.run(create(input, &wanted, kind, rules)?),
        (PatchKind::Merge, _) => trial.run(create_json_merge(input, &wanted)),
        (PatchKind::Json, _) => trial.run(create_json_patch(input, &wanted)),
    }
}

/// What a patch is tried with.
struct Trial<'t> {
    sides: &'t PatchSides<'t>,
    wanted: &'t Node,
    patch_kind: PatchKind,
    kind: Cursor<'t>,
}

impl Trial<'_> {
    /// The patch, if it makes of the input what is wanted.
    ///
    /// # Errors
    /// It does not.
    fn run(&self, patch: Node) -> Result<Warned<Node>> {
        let merged = self.apply(&patch).map_err(|error| error.help(way_out(self.patch_kind)))?;
        let got = merged.node.unwrap_or_else(|| Node::map(Map::new()));
        match self.sameness().difference(&got, self.wanted, self.kind) {
            None => Ok(Warned { value: patch, warnings: merged.warnings }),
            Some(difference) => Err(cannot_say(&difference, self.patch_kind)),
        }
    }

    fn apply(&self, patch: &Node) -> Result<Merged> {
        let mut node = self.sides.input().clone();
        match self.patch_kind {
            PatchKind::Strategic(rules) => return apply(node, patch, self.kind, &Schema::none(), rules),
            PatchKind::Merge => apply_json_merge(&mut node, patch),
            PatchKind::Json => parse_json_patch(patch)?.apply(&mut node)?,
        }
        Ok(Merged::of(Some(node)))
    }

    fn sameness(&self) -> Sameness {
        match self.patch_kind {
            PatchKind::Json => Sameness::Exact,
            // kubectl's patches let the server put entries of others between those of the patch.
            PatchKind::Strategic(Rules::Apiserver) if self.sides.current.is_some() => {
                Sameness::Unordered(ListPolicy::Apiserver)
            }
            _ => Sameness::Decoded(policy(self.patch_kind)),
        }
    }
}

/// What the object shall be.
fn wanted(
    sides: &PatchSides<'_>,
    patch_kind: PatchKind,
    kind: Cursor<'_>,
    options: ThreeWayOptions,
) -> Result<Node> {
    let Some(current) = sides.current else {
        if options.same_identity {
            keeps_identity(sides.original, sides.modified)?;
        }
        return Ok(sides.modified.clone());
    };
    // For the API server, kubectl's own check for conflicts counts.
    let others = if options.overwrite || policy(patch_kind) == ListPolicy::Apiserver {
        OthersChanges::Undone
    } else {
        OthersChanges::Refused
    };
    let null = if patch_kind == PatchKind::Json { WantedNull::Value } else { WantedNull::Removal };
    let wanted = Wanted { policy: policy(patch_kind), null, others };
    let wanted = wanted.object(sides.original, sides.modified, current, kind)?;
    if options.same_identity {
        keeps_identity(current, &wanted)?;
    }
    Ok(wanted)
}

fn policy(patch_kind: PatchKind) -> ListPolicy {
    match patch_kind {
        PatchKind::Strategic(Rules::Apiserver) => ListPolicy::Apiserver,
        _ => ListPolicy::Overlay,
    }
}

fn cannot_say(difference: &Difference, patch_kind: PatchKind) -> Diagnostic {
    let what = match patch_kind {
        PatchKind::Strategic(Rules::Apiserver) => {
            "no strategic merge patch for the API server makes this change"
        }
        PatchKind::Strategic(_) => "no strategic merge patch by these rules makes this change",
        PatchKind::Merge => "no JSON merge patch makes this change",
        PatchKind::Json => "no JSON patch makes this change",
    };
    let error = Diagnostic::error(Code::Unsupported, what)
        .at(difference.span)
        .field(difference.path.clone())
        .note("the patch was tried, and something else came out here");
    let error = if difference.equal_keys {
        error.note("entries of this list have the same merge key, which is all that such a patch tells them apart by")
    } else {
        error
    };
    error.help(way_out(patch_kind))
}

fn way_out(patch_kind: PatchKind) -> &'static str {
    match patch_kind {
        PatchKind::Strategic(Rules::Apiserver) => {
            "make a patch for overlays (`--dialect overlay`), or a JSON merge patch (`--type merge`)"
        }
        PatchKind::Strategic(_) => "make a JSON merge patch (`--type merge`)",
        PatchKind::Merge | PatchKind::Json => "make a JSON patch (`--type json`)",
    }
}
