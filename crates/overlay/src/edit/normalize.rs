//! The changes that `kustomize edit` makes to every file that it writes: the type of the file, and fields whose
//! successors take the same values.

use super::deprecated::{SAME_VALUES, keep_comments, move_entries, release_comments};
use super::fields::{
    entry_text, get, list, new_string, position, remove, set_text, text, update_list, update_map,
};
use smp_text::yaml::{Entry, Map, Node};

/// Adds `apiVersion` and `kind`, and replaces `bases`, `imageTags`, `env` of generators and
/// `helmChartInflationGenerator`. `text` is that of the file.
pub(super) fn normalize(fields: &mut Map, text: &str) {
    // A comment above the first field may belong to that field, which must then remain the first one.
    let has_comment = |entry: &Entry| entry.key.meta.comments.as_ref().is_some_and(|c| !c.head.is_empty());
    let keeps_first = fields.entries().first().is_some_and(has_comment);
    for successor in &SAME_VALUES {
        release_comments(fields, successor, text);
        move_entries(fields, successor);
    }
    for generators in ["configMapGenerator", "secretGenerator"] {
        if list(fields, generators).iter().any(|entry| !entry_text(entry, "env").is_empty()) {
            update_list(fields, generators, |entries| {
                entries.iter_mut().filter_map(Node::as_map_mut).for_each(move_env);
            });
        }
    }
    if !list(fields, OLD_CHARTS).is_empty() {
        move_charts(fields);
    }
    add_type(fields, keeps_first);
}

fn add_type(fields: &mut Map, keeps_first: bool) {
    let kind = match text(fields, "kind") {
        "" => "Kustomization",
        kind => kind,
    }
    .to_string();
    let version = match text(fields, "apiVersion") {
        "" if kind == "Component" => "kustomize.config.k8s.io/v1alpha1",
        "" => "kustomize.config.k8s.io/v1beta1",
        version => version,
    }
    .to_string();
    let mut at = if keeps_first { fields.len() } else { 0 };
    for (name, value) in [("apiVersion", version), ("kind", kind)] {
        if let Some(i) = position(fields, name) {
            if text(fields, name).is_empty() {
                set_text(fields, name, &value);
            }
            at = i + 1;
        } else {
            fields.entries_mut().insert(at, Entry { key: name.into(), value: new_string(&value) });
            at += 1;
        }
    }
}

/// Moves `env` to the end of `envs`. Without `envs`, the field is renamed in place, which keeps its comments.
fn move_env(generator: &mut Map) {
    let Some(i) = position(generator, "env").filter(|_| !text(generator, "env").is_empty()) else { return };
    let mut path = new_string(text(generator, "env"));
    if position(generator, "envs").is_none() {
        let Entry { key, value } = &mut generator.entries_mut()[i];
        key.text = "envs".into();
        *value = Node::list(vec![path]);
        return;
    }
    let Entry { key, value } = generator.entries_mut().remove(i);
    keep_comments(key, value.meta.comments.and_then(|comments| comments.line), &mut path);
    update_list(generator, "envs", |envs| envs.push(path));
}

const OLD_CHARTS: &str = "helmChartInflationGenerator";

/// The fields of a chart, in the old and the new list.
const CHART_FIELDS: [(&str, &str); 7] = [
    ("chartName", "name"),
    ("chartVersion", "version"),
    ("chartRepoUrl", "repo"),
    ("values", "valuesFile"),
    ("valuesLocal", "valuesInline"),
    ("valuesMerge", "valuesMerge"),
    ("releaseName", "releaseName"),
];

fn move_charts(fields: &mut Map) {
    let old: Vec<Node> = list(fields, OLD_CHARTS).to_vec();
    let last = |name: &str| old.iter().rev().map(|chart| entry_text(chart, name)).find(|t| !t.is_empty());
    let globals: Vec<(&str, String)> = [("chartHome", "chartHome"), ("helmHome", "configHome")]
        .into_iter()
        .filter_map(|(old, new)| Some((new, last(old)?.to_string())))
        .collect();
    if !globals.is_empty() && get(fields, "helmGlobals").is_none() {
        remove(fields, "helmGlobals");
        update_map(fields, "helmGlobals", |map| {
            for (name, text) in &globals {
                set_text(map, name, text);
            }
        });
    }
    update_list(fields, "helmCharts", |charts| charts.extend(old.into_iter().map(new_chart)));
    remove(fields, OLD_CHARTS);
}

/// Renames the fields of a chart. kustomize drops all others.
fn new_chart(mut chart: Node) -> Node {
    if let Some(map) = chart.as_map_mut() {
        map.entries_mut().retain_mut(|entry| {
            let known = CHART_FIELDS.iter().find(|(old, _)| entry.key.text.eq_ignore_ascii_case(old));
            if let Some((_, new)) = known {
                entry.key.text = (*new).into();
            }
            known.is_some()
        });
    }
    chart
}
