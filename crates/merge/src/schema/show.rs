//! Describes one field of the schema: `kubectl smp schema show deploy.spec.replicas`.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use smol_str::SmolStr;

use super::{Cursor, Gvk, ListType, MapType, Schema, Scope, find_kind};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::did_you_mean;

/// A list key, and its default for entries without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyDescription {
    /// The name of the field.
    pub name: String,
    /// The JSON text of its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// The schema data of one field, or of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The requested path without the kind; empty for the kind itself.
    pub path: String,
    /// The API version of the kind.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// `Namespaced` or `Cluster`, if known.
    pub scope: Option<&'static str>,
    /// The source of the type: `embedded`, `cache`, `cluster`, or the name of a file.
    pub source: String,
    /// The type: `object`, `array of string`, `map of string` and so on.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The name of the type's definition. For a list, that of the entries' definition.
    pub definition: Option<String>,
    /// True if the field is required.
    pub required: bool,
    /// The JSON text of the default.
    pub default: Option<String>,
    /// The format of the value, such as `int32`.
    pub format: Option<String>,
    /// The allowed values; empty if any value is allowed.
    pub values: Vec<String>,
    /// The regular expression that a string must match.
    pub pattern: Option<String>,
    /// The CEL validation rules.
    pub rules: Vec<String>,
    /// `atomic`, `set` or `map`.
    pub list_type: Option<&'static str>,
    /// The keys of a list of type map.
    pub list_map_keys: Vec<KeyDescription>,
    /// `merge`, `replace`, `retainKeys`, or several separated by commas.
    pub patch_strategy: Option<String>,
    /// The merge key of strategic merge patches.
    pub patch_merge_key: Option<String>,
    /// The keys that `$patchMergeKey` may use.
    pub recommended_patch_merge_key: Option<String>,
    /// `granular` or `atomic`.
    pub map_type: Option<&'static str>,
    /// True if fields that are not in the schema are preserved.
    pub preserves_unknown_fields: bool,
    /// The declared fields. For a list, those of its entries.
    pub fields: Vec<String>,
}

/// Describes the field at a path such as `deployment.spec.template.spec.containers.ports`.
///
/// The path starts with a kind as accepted by [`find_kind`]. Lists are traversed implicitly: `containers.ports`,
/// `containers[].ports` and `containers[name=web].ports` are the same path. Map keys with dots are written in brackets:
/// `metadata.labels[app.kubernetes.io/name]`.
pub fn describe(schema: &Schema, path: &str, api_version: Option<&str>) -> Result<Description> {
    let segments = segments(path)?;
    let words: Vec<&str> = segments.iter().map_while(|segment| segment.name()).collect();
    let (gvk, used) = find_kind(schema, &words, api_version)?;
    let (source, root) = schema.kind_with_source(&gvk).ok_or_else(|| no_schema(&gvk))?;
    let mut field = FieldPosition { parent: Cursor::unknown(), name: "", here: root };
    let mut walked = String::new();
    for segment in &segments[used..] {
        field = step_into(field, *segment, &walked, &gvk)?;
        segment.append_to(&mut walked);
    }
    Ok(description(schema, gvk, source, walked, field))
}

/// A segment of the path: a field name, or text in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathSegment<'p> {
    Field(&'p str),
    Bracket(&'p str),
}

impl<'p> PathSegment<'p> {
    fn name(self) -> Option<&'p str> {
        if let Self::Field(name) = self { Some(name) } else { None }
    }

    fn append_to(self, path: &mut String) {
        match self {
            Self::Field(name) if path.is_empty() => path.push_str(name),
            Self::Field(name) => path.extend([".", name]),
            Self::Bracket(text) => path.extend(["[", text, "]"]),
        }
    }
}

fn segments(path: &str) -> Result<Vec<PathSegment<'_>>> {
    let wrong = |why: &str| {
        Diagnostic::error(Code::InvalidValue, format!("invalid path `{path}`: {why}"))
            .help("example: `deployment.spec.template.spec.containers`")
    };
    let mut segments = Vec::new();
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (text, after) = inside.split_once(']').ok_or_else(|| wrong("unclosed bracket"))?;
            segments.push(PathSegment::Bracket(text));
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return Err(wrong("empty field name"));
            }
            segments.push(PathSegment::Field(name));
            rest = after;
        }
        rest = match rest.strip_prefix('.') {
            Some("") => return Err(wrong("missing field name at the end")),
            Some(after) => after,
            None => rest,
        };
    }
    Ok(segments)
}

/// A field and the type that declares it.
#[derive(Clone, Copy)]
struct FieldPosition<'s, 'p> {
    parent: Cursor<'s>,
    name: &'p str,
    here: Cursor<'s>,
}

fn step_into<'s, 'p>(
    field: FieldPosition<'s, 'p>,
    segment: PathSegment<'p>,
    walked: &str,
    gvk: &Gvk,
) -> Result<FieldPosition<'s, 'p>> {
    let element = field.here.element();
    let name = match segment {
        PathSegment::Bracket(_) if element.is_known() => {
            return Ok(FieldPosition { parent: Cursor::unknown(), name: "", here: element });
        }
        PathSegment::Bracket(text) => text.trim_matches(['"', '\'']),
        PathSegment::Field(name) => name,
    };
    let parent = if element.is_known() { element } else { field.here };
    let here = parent.field(name);
    if !here.is_known() && !parent.has_field(name) {
        return Err(no_field(parent, name, walked, gvk));
    }
    Ok(FieldPosition { parent, name, here })
}

fn no_schema(gvk: &Gvk) -> Diagnostic {
    Diagnostic::error(Code::NoSchema, format!("no schema found for {gvk}"))
}

fn no_field(parent: Cursor<'_>, name: &str, walked: &str, gvk: &Gvk) -> Diagnostic {
    let message = if parent.preserves_unknown_fields() {
        format!("field `{name}` is not in the schema, but unknown fields are preserved here")
    } else {
        format!("unknown field `{name}`")
    };
    let error = Diagnostic::error(Code::UnknownField, message).resource(gvk);
    let error = if walked.is_empty() { error } else { error.field(walked) };
    let names: Vec<&str> = parent.fields().map(|(name, _)| name).collect();
    let help = did_you_mean(name, &names)
        .or_else(|| (!names.is_empty()).then(|| format!("known fields: {}", names.join(", "))));
    help.into_iter().fold(error, Diagnostic::help)
}

fn description(
    schema: &Schema,
    gvk: Gvk,
    source: &str,
    path: String,
    field: FieldPosition<'_, '_>,
) -> Description {
    let here = field.here;
    let element = here.element();
    let inner = if element.is_known() { element } else { here };
    let key = |name: &str| KeyDescription {
        name: name.into(),
        default: element.key_default(name).map(str::to_string),
    };
    let constraints = here.constraints();
    Description {
        path,
        api_version: gvk.api_version().into(),
        scope: schema.scope(&gvk).map(scope_name),
        kind: gvk.kind.into(),
        source: source.into(),
        type_name: type_name(here),
        definition: here.type_name().or(inner.type_name()).map(str::to_string),
        required: field.parent.is_required(field.name),
        default: here.default().map(str::to_string),
        format: constraints.format.map(String::from),
        values: constraints.enumeration.iter().map(plain_text).collect(),
        pattern: constraints.pattern.map(String::from),
        rules: constraints.rules.into_iter().map(|rule| rule.rule).collect(),
        list_type: here.list_type().map(|list_type| match list_type {
            ListType::Atomic => "atomic",
            ListType::Set => "set",
            ListType::Map => "map",
        }),
        list_map_keys: here.list_map_keys().map(key).collect(),
        patch_strategy: (!here.patch_strategy().is_none()).then(|| here.patch_strategy().to_string()),
        patch_merge_key: here.patch_merge_key().map(str::to_string),
        recommended_patch_merge_key: Some(here.identifying_keys().join(",")).filter(|keys| !keys.is_empty()),
        map_type: here.map_type().map(|map_type| match map_type {
            MapType::Granular => "granular",
            MapType::Atomic => "atomic",
        }),
        preserves_unknown_fields: here.preserves_unknown_fields(),
        fields: inner.fields().map(|(name, _)| name.to_string()).collect(),
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    }
}

/// Returns the text of a string, or any other value as JSON.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Returns the type's name: `array of object`, `map of string`, `integer`.
fn type_name(cursor: Cursor<'_>) -> String {
    let (element, values) = (cursor.element(), cursor.additional());
    if element.is_known() {
        return format!("array of {}", type_name_once(element));
    }
    if values.is_known() && cursor.fields().next().is_none() {
        return format!("map of {}", type_name_once(values));
    }
    cursor.kind_name().to_string()
}

/// Returns the type's name with one more level at most, since schemas may be recursive.
fn type_name_once(cursor: Cursor<'_>) -> SmolStr {
    let values = cursor.additional();
    if values.is_known() && cursor.fields().next().is_none() {
        return smol_str::format_smolstr!("map of {}", values.kind_name());
    }
    cursor.kind_name().into()
}

impl fmt::Display for Description {
    /// Prints one property per line. Absent ones are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: &str| match value {
            "" => Ok(()),
            _ => writeln!(f, "{:<24}{value}", format!("{name}:")),
        };
        line("kind", &format!("{} {}", self.api_version, self.kind))?;
        line("scope", self.scope.unwrap_or_default())?;
        line("field", &self.path)?;
        let definition = self.definition.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        line("type", &(self.type_name.clone() + &definition))?;
        line("required", if self.required { "yes" } else { "" })?;
        line("default", self.default.as_deref().unwrap_or_default())?;
        line("format", self.format.as_deref().unwrap_or_default())?;
        line("allowed values", &self.values.join(", "))?;
        line("pattern", self.pattern.as_deref().unwrap_or_default())?;
        for rule in &self.rules {
            line("rule", rule.trim())?;
        }
        line("list type", self.list_type.unwrap_or_default())?;
        let keys: Vec<String> = self.list_map_keys.iter().map(ToString::to_string).collect();
        line("list map keys", &keys.join(", "))?;
        line("patch strategy", self.patch_strategy.as_deref().unwrap_or_default())?;
        line("patch merge key", self.patch_merge_key.as_deref().unwrap_or_default())?;
        line("recommended merge key", self.recommended_patch_merge_key.as_deref().unwrap_or_default())?;
        line("map type", self.map_type.unwrap_or_default())?;
        line("unknown fields", if self.preserves_unknown_fields { "preserved" } else { "" })?;
        line("fields", &self.fields.join(", "))?;
        line("source", &self.source)
    }
}

impl fmt::Display for KeyDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.default {
            Some(default) => write!(f, "{} (default {default})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(path: &str) -> Description {
        describe(&Schema::embedded(), path, None).expect(path)
    }

    #[test]
    fn ports_have_everything() {
        let text = show("deployment.spec.template.spec.containers.ports").to_string();
        let want = [
            "kind:                   apps/v1 Deployment",
            "scope:                  Namespaced",
            "field:                  spec.template.spec.containers.ports",
            "type:                   array of object (io.k8s.api.core.v1.ContainerPort)",
            "list type:              map",
            "list map keys:          containerPort, protocol (default \"TCP\")",
            "patch strategy:         merge",
            "patch merge key:        containerPort",
            "recommended merge key:  containerPort,protocol",
            "fields:                 containerPort, hostIP, hostPort, name, protocol",
            "source:                 embedded",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn lists_and_maps_are_traversed() {
        let plain = show("deploy.spec.template.spec.containers.ports");
        for path in ["containers[].ports", "containers[name=web].ports", "containers[0].ports"] {
            let other = show(&format!("deploy.spec.template.spec.{path}"));
            assert_eq!(other.type_name, plain.type_name, "{path}");
            assert_eq!(other.list_map_keys, plain.list_map_keys, "{path}");
        }
        assert_eq!(show("svc.metadata.labels").type_name, "map of string");
        assert_eq!(show("svc.metadata.labels[app.kubernetes.io/name]").type_name, "string");
        assert_eq!(show("svc.spec.ports[]").type_name, "object");
        assert_eq!(show("deploy.spec.strategy").patch_strategy.as_deref(), Some("retainKeys"));
        assert_eq!(show("pod.spec.volumes").patch_strategy.as_deref(), Some("merge,retainKeys"));
        assert_eq!(show("svc.spec.selector").map_type, Some("atomic"));
        assert_eq!(show("svc.spec.ports.targetPort").type_name, "int-or-string");
        assert!(show("svc.spec.ports.port").required);
        assert_eq!(show("svc.spec.ports.protocol").default.as_deref(), Some("\"TCP\""));
        assert_eq!(show("svc.spec.type").values, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
        let port = show("svc.spec.ports.port").to_string();
        assert!(port.contains("format:                 int32\n"), "{port}");
        assert!(show("pod").path.is_empty());
        assert!(show("crd.spec.versions.schema.openAPIV3Schema.items").type_name.len() > 2);
    }

    #[test]
    fn unknown_fields_and_bad_paths_are_rejected_with_a_suggestion() {
        let error = |path: &str| describe(&Schema::embedded(), path, None).expect_err(path);
        let typo = error("deploy.spec.template.spec.containres.ports");
        assert_eq!(typo.to_string(), "apps/v1 Deployment: spec.template.spec: unknown field `containres`");
        assert_eq!(typo.help_text(), Some("did you mean `containers`?"));
        let odd = error("svc.spec.ports.zzz");
        assert_eq!(
            odd.help_text(),
            Some("known fields: appProtocol, name, nodePort, port, protocol, targetPort")
        );
        for path in ["svc..spec", "svc.spec.", "svc.spec[", ""] {
            assert!(matches!(error(path).code(), Code::InvalidValue | Code::NoSchema), "{path}");
        }
    }

    #[test]
    fn descriptions_serialize_to_json() {
        let json = serde_json::to_value(show("svc.spec.ports")).expect("plain data");
        assert_eq!(json["type"], "array of object");
        assert_eq!(json["listMapKeys"][1]["default"], "\"TCP\"");
        assert_eq!(json["source"], "embedded");
    }
}
