//! The order in which objects are sent: by wave, then by phase.

use std::collections::BTreeMap;

use crate::plan::{ObjectPlan, ObjectTarget, Phase, fail_before_sending};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};

/// Objects that are sent in parallel, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApplyStep {
    pub(crate) wave: i32,
    pub(crate) phase: Phase,
    /// True if the objects are custom resources of CRDs in the same run. They are sent after the other objects of
    /// their phase, which the server handles while it establishes the CRDs.
    pub(crate) has_new_kinds: bool,
    pub(crate) objects: Vec<usize>,
}

/// Groups all objects by wave and phase. The wave is the value of the first of `annotations` that an object has.
///
/// # Errors
/// The value of an annotation is not an integer.
pub(crate) fn steps(plan: &ObjectPlan<'_>, annotations: &[String]) -> Result<Vec<ApplyStep>> {
    let mut problems = Problems::default();
    let waves = plan.targets.iter().map(|target| wave(target, annotations));
    let waves: Vec<i32> = waves.filter_map(|wave| problems.ok_or_add(wave)).collect();
    fail_before_sending(problems)?;
    let mut steps: BTreeMap<(i32, Phase, bool), Vec<usize>> = BTreeMap::new();
    for (index, (target, wave)) in plan.targets.iter().zip(waves).enumerate() {
        let gvk = &target.object.gvk;
        let key = (wave, Phase::from_gvk(gvk), plan.crd_kinds.contains_key(gvk));
        steps.entry(key).or_default().push(index);
    }
    let step = |((wave, phase, has_new_kinds), objects)| ApplyStep { wave, phase, has_new_kinds, objects };
    Ok(steps.into_iter().map(step).collect())
}

fn wave(target: &ObjectTarget<'_>, annotations: &[String]) -> Result<i32> {
    let node = target.resource.node();
    let found = annotations.iter().find_map(|name| {
        Some((name, node.get_path(&["metadata", "annotations", name])?)).filter(|(_, value)| !value.is_null())
    });
    let Some((name, value)) = found else { return Ok(0) };
    let number = value.scalar_text().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        let message = format!("annotation {name} must be an integer");
        Diagnostic::error(Code::InvalidValue, message)
            .resource(target.resource.id())
            .at(value.span())
            .help("for example \"-1\" or \"5\"; objects without the annotation are in wave 0")
    })
}
