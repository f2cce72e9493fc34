//! The vars transformer: replaces `$(NAME)` in some fields with the value of a field of a resource.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use smol_str::SmolStr;

use super::field_spec::{Create, FieldSpecs};
use super::references::{UsedVars, VarValue, VarValues, replace_variables, value_at};
use crate::resource::{ResId, ResourceSet, Suggestions};
use smp_merge::schema::{Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Spanned};

/// An entry of a kustomization's `vars`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Var {
    /// The name between `$(` and `)`.
    pub name: Spanned<SmolStr>,
    /// The resource.
    #[serde(rename = "objref")]
    pub object: VarTarget,
    /// The field.
    #[serde(rename = "fieldref")]
    pub field: VarField,
}

/// The resource that a variable takes its value from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct VarTarget {
    /// The group and version; takes precedence over `group` and `version`.
    pub api_version: SmolStr,
    /// The API group.
    pub group: SmolStr,
    /// The version.
    pub version: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// The current or a former name.
    pub name: Spanned<SmolStr>,
    /// The current or a former namespace; empty for any.
    pub namespace: SmolStr,
}

/// The field that a variable takes its value from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct VarField {
    /// Field names separated by `.`, with list positions as in `name[0]`; `metadata.name` if empty.
    pub field_path: SmolStr,
}

impl VarTarget {
    fn id(&self) -> ResId {
        let (group, version) = match self.api_version.split('/').collect::<Vec<_>>().as_slice() {
            [""] => (self.group.as_str(), self.version.as_str()),
            [version] => (self.group.as_str(), *version),
            [group, version] => (*group, *version),
            _ => (self.group.as_str(), self.version.as_str()),
        };
        let gvk = Gvk { group: group.into(), version: version.into(), kind: self.kind.clone() };
        ResId { gvk, name: self.name.value.clone(), namespace: self.namespace.clone(), cluster_scoped: false }
    }
}

/// Variables by name.
#[derive(Debug, Clone, Default)]
pub struct VarSet(BTreeMap<SmolStr, Var>);

impl VarSet {
    /// Returns true if there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds variables.
    ///
    /// # Errors
    /// A variable with the same name exists.
    pub fn extend(&mut self, vars: impl IntoIterator<Item = Var>) -> Result<()> {
        vars.into_iter().try_for_each(|var| {
            if let Some(first) = self.0.get(&*var.name) {
                let message = format!("duplicate variable `{}`", var.name);
                let error = Diagnostic::error(Code::InvalidValue, message)
                    .label(var.name.span, "second variable")
                    .label(first.name.span, "first variable");
                return Err(error
                    .field("vars")
                    .help("rename one of them; variables of bases are also defined in their overlays"));
            }
            self.0.insert(var.name.value.clone(), var);
            Ok(())
        })
    }

    /// Adds the variables of another set.
    ///
    /// # Errors
    /// A variable with the same name exists.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.extend(other.0.into_values())
    }
}

/// Finds the source resources of variables while their names are still unique, and records the variables in
/// them.
///
/// # Errors
/// Several resources match a variable. A variable without a match is reported when variables are resolved.
pub fn bind_vars(set: &mut ResourceSet, vars: &[Var]) -> Result<()> {
    for var in vars {
        let target = var.object.id();
        let fits = |id: &ResId| {
            id.same_gvk_and_name(&target) && (target.namespace.is_empty() || id.same_namespace(&target))
        };
        let found = set.find(Some(&target.name), None, |resource| resource.ids().any(fits));
        match found.as_slice() {
            [] => {}
            [one] => drop(set.update(*one, |resource| resource.vars.push(var.name.value.clone()))),
            several => return Err(ambiguous(var, &target, several, set)),
        }
    }
    Ok(())
}

fn ambiguous(var: &Var, target: &ResId, found: &[usize], set: &ResourceSet) -> Diagnostic {
    let message = format!("variable `{}` matches {} resources: {target}", var.name, found.len());
    let mut error = Diagnostic::error(Code::Ambiguous, message).at(var.name.span).field("vars");
    for resource in found.iter().filter_map(|&i| set.as_slice().get(i)) {
        error = error.label(resource.node().span().at_start(), format!("matches {}", resource.id()));
    }
    error.help("set `objref.namespace` to select one of them")
}

/// Replaces variables in all fields of `specs`. Returns a warning if some variables are unused. Values from Secrets
/// are hidden in reports.
///
/// `$$` becomes `$`, so that `$$(NAME)` is kept as `$(NAME)`. This only happens if there are variables.
///
/// # Errors
/// The resource or field of a variable does not exist, or a list entry is not a string.
pub fn resolve_vars(
    set: &mut ResourceSet,
    vars: &VarSet,
    specs: &FieldSpecs,
    schema: &Schema,
    sources: &SourceMap,
) -> Result<Option<Diagnostic>> {
    if vars.is_empty() {
        return Ok(None);
    }
    let contents = contents(set, vars, &Suggestions::new(schema))?;
    for value in contents.values() {
        value.hide_if_secret(sources);
    }
    let mut uses = UsedVars { copied: set.copied(), ..UsedVars::default() };
    for resource in set.resources_mut().iter_mut().filter(|r| !r.is_empty()) {
        specs.visit(resource, Create::Never, &mut |field| replace_variables(field, &contents, &mut uses))?;
        resource.sync(schema);
    }
    let unused: Vec<&Var> = vars.0.values().filter(|var| !uses.names.contains(&*var.name)).collect();
    Ok((!unused.is_empty()).then(|| {
        let names: Vec<&str> = unused.iter().map(|var| var.name.as_str()).collect();
        let message = format!("unused variables: {}", names.join(", "));
        let warning = Diagnostic::warning(Code::UnusedVariable, message);
        let warning = unused.iter().fold(warning, |warning, var| warning.at(var.name.span));
        warning.field("vars").help(
            "variables are only replaced in some fields; add others under `varReference` in a transformer configuration",
        )
    }))
}

/// Returns the location of the value and the location of the definition of each variable.
///
/// # Errors
/// The errors of [`resolve_vars`].
pub fn var_locations(set: &ResourceSet, vars: &VarSet, schema: &Schema) -> Result<Vec<(Span, Span)>> {
    let contents = contents(set, vars, &Suggestions::new(schema))?;
    let declared = vars.0.values().map(|var| var.name.span);
    Ok(contents.values().map(|value| value.location).zip(declared).collect())
}

fn contents(set: &ResourceSet, vars: &VarSet, likely: &Suggestions<'_>) -> Result<VarValues> {
    let mut sources: FxHashMap<&str, &Node> = FxHashMap::default();
    for resource in set {
        for name in &resource.vars {
            sources.entry(name).or_insert(resource.node());
        }
    }
    let value = |var: &Var| -> Result<VarValue> {
        let source = sources.get(var.name.as_str()).ok_or_else(|| {
            let id = var.object.id();
            let message = format!("variable `{}` matches no resource: {id}", var.name);
            let at = if var.object.name.span.is_none() { var.name.span } else { var.object.name.span };
            let error = Diagnostic::error(Code::NoMatch, message).at(at).field("vars");
            match likely.suggestion(set, &id) {
                Some(likely) => error.help(likely),
                None => error.help(format!("correct `objref`, or add the {} to the build", id.gvk.kind)),
            }
        })?;
        let path = if var.field.field_path.is_empty() { "metadata.name" } else { &var.field.field_path };
        value_at(source, path).ok_or_else(|| {
            let message = format!("the field of variable `{}` does not exist: `{path}`", var.name);
            Diagnostic::error(Code::NoMatch, message)
                .at(var.name.span)
                .label(source.span().at_start(), "resource without the field")
                .field("vars")
        })
    };
    vars.0.iter().map(|(name, var)| Ok((name.clone(), value(var)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::TransformerConfig;
    use super::super::prefix_suffix::name_prefix;
    use super::super::testing::{at, nodes, set};
    use super::*;
    use smp_text::yaml::{DecodeOptions, from_node_with};

    const SOURCES: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: db, namespace: data}
spec: {ports: [{name: a, port: 5432}, {name: b, port: 0755}], ratio: 1.50, huge: 1e21, on: true, off: "no", date: 2020-01-01}
---
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: other}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {whole: $(PORT), part: "port $(PORT)!", map: $(ALL), dollar: "$$(PORT) $x $", n: 5}}
spec:
  containers:
  - args: ["--host=$(HOST)", "$(FLAG)", plain]
    command: [$(NONE)]
    env: [{name: E, value: "$(RATIO)$(HUGE)"}, {name: F, value: "$(RATIO)"}]
"#;

    fn vars(text: &str) -> Vec<Var> {
        let options = DecodeOptions::transformer_config();
        nodes(text).iter().map(|node| from_node_with(node, options).expect("a variable")).collect()
    }

    fn var(name: &str, field: &str) -> Var {
        let text = format!(
            "{{name: {name}, objref: {{kind: Service, apiVersion: v1, name: db, namespace: data}}, fieldref: {{fieldpath: '{field}'}}}}"
        );
        vars(&text).remove(0)
    }

    fn run(text: &str, vars: &[Var]) -> Result<(ResourceSet, Option<Diagnostic>)> {
        let (mut set, mut known) = (set(text), VarSet::default());
        let (config, schema) = (TransformerConfig::builtin(), Schema::kustomize());
        name_prefix(&mut set, "p-", &config.name_prefix, &schema)?;
        bind_vars(&mut set, vars)?;
        known.extend(vars.iter().cloned())?;
        let warning = resolve_vars(&mut set, &known, &config.var_reference, &schema, &SourceMap::default())?;
        Ok((set, warning))
    }

    #[test]
    fn values_keep_their_type_if_the_field_is_one_variable() {
        let vars = [
            var("PORT", "spec.ports[1].port"),
            var("HOST", ""),
            var("FLAG", "spec.on"),
            var("RATIO", "spec.ratio"),
            var("HUGE", "spec.huge"),
            var("ALL", "spec.ports"),
            var("UNUSED", "spec.off"),
        ];
        let (set, warning) = run(SOURCES, &vars).expect("resolves");
        let annotation = |name| at(&set, 2, &format!("metadata.annotations.{name}"));
        assert_eq!(annotation("whole"), "755");
        assert_eq!(annotation("part"), "port 755!");
        assert_eq!(annotation("map"), "$(ALL)");
        assert_eq!(annotation("dollar"), "$(PORT) $x $");
        assert_eq!(annotation("n"), "5");
        let container = |path| at(&set, 2, &format!("spec.containers.0.{path}"));
        assert_eq!(container("args"), "- --host=p-db\n- true\n- plain");
        assert_eq!(container("command"), "- $(NONE)");
        assert_eq!(container("env.0.value"), "\"1.51e+21\"");
        assert_eq!(container("env.1.value"), "1.5");
        let warning = warning.expect("two are unused");
        assert!(warning.message().ends_with(": ALL, UNUSED"), "{}", warning.message());
    }

    #[test]
    fn unresolvable_variables_are_rejected() {
        let code = |vars: &[Var]| run(SOURCES, vars).expect_err("fails").code();
        assert_eq!(code(&[var("A", "spec.none")]), Code::NoMatch);
        assert_eq!(
            code(&vars("{name: A, objref: {kind: Service, apiVersion: v1, name: nobody}}")),
            Code::NoMatch
        );
        assert_eq!(code(&vars("{name: A, objref: {kind: Service, version: v1, name: db}}")), Code::Ambiguous);
        assert_eq!(code(&[var("A", ""), var("A", "")]), Code::InvalidValue);
        let numbers = format!("{SOURCES}    - args: [1]\n").replace("    - args", "  - args");
        assert_eq!(run(&numbers, &[var("A", "")]).expect_err("fails").code(), Code::WrongType);
        assert!(run(&numbers, &[]).is_ok(), "without variables no field is checked");
    }
}
