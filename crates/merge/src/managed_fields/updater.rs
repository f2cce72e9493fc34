//! The core of server-side apply: computes the fields that each manager owns after a change of an object.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use smol_str::SmolStr;

use super::comparison::Comparison;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::json_value::equal;
use super::managers::{Manager, Ownership};
use super::merging::merged;
use super::owned::{owned_fields, reconciled, with_declared_fields};
use super::removal::without_fields;
use super::reset::ResetFields;
use super::types::Type;
use super::versions::{Versions, check_entries, failed};
use smp_text::diagnostic::Result;

/// The fields that each manager owns.
pub(super) type Owned = BTreeMap<Manager, Ownership>;

/// The result of an apply.
#[derive(Debug)]
pub(super) enum ApplyOutcome {
    /// The merged object (`None` if it equals the live one), and the fields that each manager owns.
    Done(Option<Value>, Owned),
    /// The fields that other managers own.
    Conflicts(Conflicts),
}

/// The result of a change.
enum ChangeOutcome {
    /// The fields that each manager owns, and the differences in the version of the request.
    Done(Owned, Comparison),
    /// The fields that other managers own.
    Conflicts(Conflicts),
}

/// The differences between two objects in one version.
struct VersionChanges {
    comparison: Comparison,
    /// The fields that were modified or added, if another manager needs them.
    changed: OnceCell<FieldSet>,
}

impl VersionChanges {
    fn new(comparison: Comparison) -> Self {
        Self { comparison, changed: OnceCell::new() }
    }

    fn changed(&self) -> &FieldSet {
        self.changed.get_or_init(|| self.comparison.modified.union(&self.comparison.added))
    }
}

/// Applies changes in one API version.
pub(super) struct Updater<'u, 's> {
    pub(super) versions: &'u Versions<'u, 's>,
    pub(super) api_version: SmolStr,
    /// The fields that the server resets in the version of the request. No manager owns them.
    pub(super) reset_fields: &'u ResetFields,
    /// The fields that the server resets in other versions, by version. Changes of these fields do not conflict with
    /// managers of that version.
    pub(super) reset_fields_in: &'u BTreeMap<SmolStr, FieldSet>,
}

impl<'s> Updater<'_, 's> {
    fn own_type(&self) -> Type<'s> {
        self.versions.own_type()
    }

    /// Returns the fields that each manager owns after an update from `live` to `new`.
    pub(super) fn update(&self, live: &Value, new: &Value, owned: Owned, manager: &Manager) -> Result<Owned> {
        let owned = self.reconcile(live, owned)?;
        let ChangeOutcome::Done(mut owned, comparison) = self.change([live, new], owned, manager, true)?
        else {
            return Ok(Owned::new());
        };
        let mut fields = owned.remove(manager).map(|owned| owned.fields).unwrap_or_default();
        fields.remove_all(&comparison.removed);
        fields.add_all(comparison.modified);
        fields.add_all(comparison.added);
        let fields = self.reset_fields.filter(fields);
        if !fields.is_empty() {
            owned.insert(manager.clone(), Ownership { fields, api_version: self.api_version.clone() });
        }
        Ok(owned)
    }

    /// Merges `applied` into `live`, and removes the fields that only this manager owned and no longer applies.
    pub(super) fn apply(
        &self,
        [live, applied]: [&Value; 2],
        owned: Owned,
        manager: &Manager,
        is_forced: bool,
    ) -> Result<ApplyOutcome> {
        let mut owned = self.reconcile(live, owned)?;
        let ty = self.own_type();
        let merged = merged(live, applied, ty);
        let fields = self.reset_fields.filter(owned_fields(applied, ty));
        let last = owned.insert(manager.clone(), Ownership { fields, api_version: self.api_version.clone() });
        let new = match last {
            Some(last) if !last.fields.is_empty() => {
                let pruned = self.prune(merged, &owned, &last);
                let pruned = pruned.map_err(|error| failed("failed to prune fields", &error))?;
                check_entries(&pruned, ty)?;
                pruned
            }
            _ => merged,
        };
        Ok(match self.change([live, &new], owned, manager, is_forced)? {
            ChangeOutcome::Done(owned, _) => ApplyOutcome::Done((!equal(live, &new)).then_some(new), owned),
            ChangeOutcome::Conflicts(conflicts) => ApplyOutcome::Conflicts(conflicts),
        })
    }

    /// Removes the changed fields from their other owners. If this would take fields from an owner and the change is
    /// not forced, returns the conflicts instead.
    fn change(
        &self,
        [live, new]: [&Value; 2],
        mut owned: Owned,
        manager: &Manager,
        is_forced: bool,
    ) -> Result<ChangeOutcome> {
        let changes = self.changes(live, new, &owned, manager)?;
        owned.retain(|other, ownership| other == manager || changes.contains_key(&ownership.api_version));
        let mut taken: Vec<(Manager, FieldSet)> = Vec::new();
        for (other, ownership) in owned.iter_mut().filter(|(other, _)| *other != manager) {
            let Some(changes) = changes.get(&ownership.api_version) else { continue };
            let conflicts = ownership.fields.intersection(changes.changed());
            ownership.fields.remove_all(&conflicts);
            ownership.fields.remove_all(&changes.comparison.removed);
            if !conflicts.is_empty() {
                taken.push((other.clone(), conflicts));
            }
        }
        if !is_forced && !taken.is_empty() {
            return Ok(ChangeOutcome::Conflicts(Conflicts::new(taken)));
        }
        owned.retain(|_, ownership| !ownership.fields.is_empty());
        let own = changes.into_iter().find(|(version, _)| *version == self.api_version);
        Ok(ChangeOutcome::Done(owned, own.map(|(_, changes)| changes.comparison).unwrap_or_default()))
    }

    /// Compares two objects in the version of the request, and in the versions of the other managers if they still
    /// exist.
    fn changes(
        &self,
        live: &Value,
        new: &Value,
        owned: &Owned,
        manager: &Manager,
    ) -> Result<BTreeMap<SmolStr, VersionChanges>> {
        let own = Comparison::new(live, new, self.own_type()).without(self.reset_fields);
        let mut found = BTreeMap::from([(self.api_version.clone(), VersionChanges::new(own))]);
        let others = owned.iter().filter(|(other, _)| *other != manager);
        let versions: BTreeSet<&SmolStr> = others.map(|(_, ownership)| &ownership.api_version).collect();
        for version in versions {
            if found.contains_key(version) {
                continue;
            }
            let Some((live, ty)) =
                self.versions.convert_or_fail(live, version, "failed to convert old object")?
            else {
                continue;
            };
            if let Some((new, _)) =
                self.versions.convert_or_fail(new, version, "failed to convert new object")?
            {
                let mut comparison = Comparison::new(&live, &new, ty);
                if let Some(excluded) = self.reset_fields_in.get(version) {
                    comparison = comparison.without(&ResetFields { excluded: excluded.clone(), kept: None });
                }
                found.insert(version.clone(), VersionChanges::new(comparison));
            }
        }
        Ok(found)
    }

    /// Adapts the ownership of fields to changes of the schema since it was recorded. Managers of versions that no
    /// longer exist lose their fields.
    fn reconcile(&self, live: &Value, owned: Owned) -> Result<Owned> {
        let mut found = Owned::new();
        for (manager, mut ownership) in owned {
            if let Some((_, ty)) = self.versions.convert_for_manager(live, &ownership.api_version)? {
                if let Some(fields) = reconciled(&ownership.fields, ty) {
                    ownership.fields = fields;
                }
                found.insert(manager, ownership);
            }
        }
        Ok(found)
    }

    /// Removes from the merged object the fields that a manager applied last time but not this time, unless another
    /// manager owns them.
    fn prune(&self, merged: Value, owned: &Owned, last: &Ownership) -> Result<Value> {
        let Some((in_version, ty)) = self.versions.convert_or_fail(
            &merged,
            &last.api_version,
            "failed to convert merged object to last applied version",
        )?
        else {
            return Ok(merged);
        };
        let last_fields = with_declared_fields(&last.fields, ty);
        // Nothing is removed if every field is still owned, and every leaf is still a leaf. If a leaf has become a map,
        // it is removed together with the values of other managers in it.
        if last.api_version == self.api_version
            && self.own_all(owned, &last_fields)
            && last.fields.leaves().is_subset(&owned_fields(&in_version, ty).leaves())
        {
            return Ok(in_version.into_owned());
        }
        let pruned = without_fields(&in_version, &last_fields, ty);
        let pruned = self.with_owned_fields(&in_version, pruned, owned, &last.api_version)?;
        let pruned = self.with_fields_of_others(&in_version, &pruned, &last_fields, last)?;
        let converted = self.versions.convert_for_manager(&pruned, &self.api_version)?;
        Ok(converted.map(|(object, _)| object.into_owned()).unwrap_or(pruned))
    }

    /// Returns true if managers in the version of the request own all fields of a set.
    fn own_all(&self, owned: &Owned, fields: &FieldSet) -> bool {
        let in_version = owned.values().filter(|ownership| ownership.api_version == self.api_version);
        let all = in_version.fold(FieldSet::new(), |all, ownership| all.union(&ownership.fields));
        fields.is_subset(&with_declared_fields(&all, self.own_type()))
    }

    /// Adds back the fields that any manager owns: first those of managers in `api_version`, then those of managers in
    /// other versions.
    fn with_owned_fields(
        &self,
        merged: &Value,
        pruned: Value,
        owned: &Owned,
        api_version: &SmolStr,
    ) -> Result<Value> {
        let mut by_version: BTreeMap<&SmolStr, FieldSet> = BTreeMap::new();
        for ownership in owned.values() {
            let fields = by_version.entry(&ownership.api_version).or_default();
            *fields = fields.union(&ownership.fields);
        }
        let first = by_version.remove_entry(api_version);
        let (mut merged, mut pruned) = (Cow::Borrowed(merged), pruned);
        for (version, fields) in first.into_iter().chain(by_version) {
            let action = |object: &str| {
                format!("failed add back owned items: failed to convert {object} object at version {version}")
            };
            let converted = self.versions.convert_or_fail(&merged, version, &action("merged"))?;
            let Some((converted, ty)) = converted else { continue };
            let rest = self.versions.convert_or_fail(&pruned, version, &action("pruned"))?;
            if let Some((rest, _)) = rest {
                let all = with_declared_fields(&owned_fields(&converted, ty), ty);
                let kept = with_declared_fields(&owned_fields(&rest, ty), ty)
                    .union(&with_declared_fields(&fields, ty));
                pruned = without_fields(&converted, &all.difference(&kept), ty);
            }
            if let Cow::Owned(converted) = converted {
                merged = Cow::Owned(converted);
            }
        }
        Ok(pruned)
    }

    /// Adds back the fields that the manager had not applied before.
    fn with_fields_of_others(
        &self,
        merged: &Value,
        pruned: &Value,
        last_fields: &FieldSet,
        last: &Ownership,
    ) -> Result<Value> {
        let action =
            "failed add back dangling items: failed to convert pruned object to last applied version";
        let Some((pruned, ty)) = self.versions.convert_or_fail(pruned, &last.api_version, action)? else {
            return Ok(merged.clone());
        };
        let kept = with_declared_fields(&owned_fields(&pruned, ty), ty);
        let all = with_declared_fields(&owned_fields(merged, ty), ty);
        Ok(without_fields(merged, &all.difference(&kept).intersection(last_fields), ty))
    }
}
