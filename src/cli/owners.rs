//! `kubectl smp owners`: the owners of the fields of live objects, and requests that change them.

use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::format::ReportFormat;
use super::objects::{read_dump, schema_without_cluster};
use super::report::{print, print_json};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_cluster::{Cluster, FIELD_MANAGER, read_object, send_steps};
use smp_inspect::explain::{MarginStyle, Removals, owners_to_yaml};
use smp_merge::managed_fields::{
    ManagedFields, Options, Owner, OwnershipStep, Path, drop_manager, find_path, give, take,
};
use smp_merge::schema::{Gvk, NamedKind, Schema, find_kind, version_priority};
use smp_overlay::overlay::ChainPurpose;
use smp_overlay::resource::{Resource, is_secret_kind, mask_secret, secret_values};
use smp_text::diagnostic::{Code, Diagnostic, counted, escaped, escaped_json};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, to_yaml};

/// Show and change the field managers of live objects.
///
/// --take, --give and --drop print the requests that change which field managers own a field. --yes
/// sends them. No value changes.
#[derive(Debug, Args)]
pub(super) struct OwnersArgs {
    /// Kind and name of a live object, such as deployment/web
    #[arg(value_name = "KIND/NAME", num_args = 1..=2, required_unless_present = "filename")]
    object: Vec<String>,

    /// File or directory with live objects, or -; repeatable
    ///
    /// The objects need their managed fields. No cluster is used.
    #[arg(short, long, value_name = "FILE", value_delimiter = ',', conflicts_with_all = ["object", "yes"])]
    filename: Vec<PathBuf>,

    /// Field that --field-manager takes ownership of, such as spec.replicas
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["give", "drop"])]
    take: Option<String>,

    /// Field whose ownership --field-manager hands to the manager in --to
    #[arg(long, value_name = "FIELD", requires = "to", conflicts_with = "drop")]
    give: Option<String>,

    /// Manager that receives the field of --give
    #[arg(long, value_name = "MANAGER", requires = "give")]
    to: Option<String>,

    /// Manager to remove from the managed fields
    #[arg(long, value_name = "MANAGER")]
    drop: Option<String>,

    /// Send the requests instead of printing them
    #[arg(long)]
    yes: bool,

    /// Name of the field manager that takes and gives fields
    #[arg(long, value_name = "NAME", default_value = FIELD_MANAGER)]
    field_manager: String,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    output: ReportFormat,

    #[command(flatten)]
    schema: SchemaArgs,
}

/// A live object, and the cluster from which it was read.
struct LiveObject {
    value: Value,
    source: Option<(Cluster, Resource)>,
}

/// Prints or changes the owners of fields.
pub(super) fn run(args: &OwnersArgs, sources: &SourceMap) -> Outcome {
    let (objects, schema) = args.objects(sources)?;
    if args.take.is_none() && args.give.is_none() && args.drop.is_none() {
        if args.yes {
            return Err(Failure::Usage("`--yes` requires --take, --give or --drop".into()));
        }
        show(args, &objects)?;
        return Ok(ExitCode::SUCCESS);
    }
    let [object] = objects.as_slice() else {
        let message = format!("owners can only be changed of one object, not of {}", objects.len());
        return Err(Diagnostic::error(Code::InvalidValue, message).into());
    };
    let steps = args.steps(&object.value, &schema).map_err(|problem| {
        let values = secret_values([&Node::from(&object.value)]);
        problem.map_text(|text| values.mask(text).into_owned())
    })?;
    match object.source.as_ref().filter(|_| args.yes) {
        Some((cluster, resource)) => {
            send_steps(cluster, resource, (&args.field_manager, &object.value), &steps)?;
            render::print_note(&format!("{} sent", counted(steps.len(), "request")));
        }
        None => print_steps(&object.value, &steps, args.output)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl OwnersArgs {
    /// Returns the objects, and the schema of their kinds.
    fn objects(&self, sources: &SourceMap) -> Result<(Vec<LiveObject>, Schema), Failure> {
        if !self.filename.is_empty() {
            let values = read_dump(&self.filename, self.schema.offline, sources)?;
            let objects = values.into_iter().map(|value| LiveObject { value, source: None }).collect();
            return Ok((objects, schema_without_cluster(&self.schema, sources)?));
        }
        let words: Vec<&str> = self.object.iter().flat_map(|word| word.split('/')).collect();
        let [kind, name] = words.as_slice() else {
            return Err(Failure::Usage("name an object as KIND/NAME or KIND NAME".into()));
        };
        let (gvk, schema) = self.kind(kind, sources)?;
        let manifest = json!({"apiVersion": gvk.api_version().as_str(), "kind": gvk.kind.as_str(), "metadata": {"name": name}});
        let resource = Resource::new(Node::from(&manifest), &Schema::embedded())?;
        let cluster = Cluster::connect(&self.schema.connect.options(sources))?;
        let value = read_object(&cluster, &resource)?;
        Ok((vec![LiveObject { value, source: Some((cluster, resource)) }], schema))
    }

    /// Finds a kind by its name, and its schema. Kinds that are in no local source are read from
    /// the cluster.
    fn kind(&self, text: &str, sources: &SourceMap) -> Result<(Gvk, Schema), Failure> {
        let mut chain = self.schema.chain(sources, ChainPurpose::Manifests)?;
        let words: Vec<&str> = text.split('.').collect();
        let local = find_kind(&chain.resolve([])?, &words, None);
        let gvk = match local {
            Ok((gvk, used)) if used == words.len() => gvk,
            other => {
                let served = chain.kinds()?.into_iter().map(|(_, kind)| kind);
                let named = served.filter(|kind| is_named(kind, &words)).map(|kind| kind.gvk);
                let best =
                    named.max_by_key(|gvk| (version_priority(&gvk.version), Reverse(gvk.group.clone())));
                let warnings = chain.take_warnings();
                render::print_or_reject(&warnings, sources)?;
                match (best, other) {
                    (Some(gvk), _) => gvk,
                    (None, Err(unknown)) => return Err(unknown.into()),
                    (None, Ok(_)) => return Err(unknown_kind(format!("unknown kind `{text}`")).into()),
                }
            }
        };
        let schema = chain.resolve([&gvk])?;
        render::print_or_reject(&chain.take_warnings(), sources)?;
        Ok((gvk, schema))
    }

    fn steps(&self, live: &Value, schema: &Schema) -> Result<Vec<OwnershipStep>, Diagnostic> {
        if let Some(manager) = &self.drop {
            return Ok(vec![drop_manager(live, manager)?]);
        }
        check_kind(live, schema)?;
        let options = Options::new(schema);
        let ours = self.field_manager.as_str();
        if let Some(field) = &self.take {
            return Ok(vec![take(live, &find_path(live, field, &options)?, ours, &options)?]);
        }
        let field = find_path(live, self.give.as_deref().unwrap_or_default(), &options)?;
        give(live, &field, [ours, self.to.as_deref().unwrap_or_default()], &options)
    }
}

/// Fails if the schema does not have the kind of an object. The types of its lists are unknown, so
/// a manager would also apply the entries of other managers.
fn check_kind(live: &Value, schema: &Schema) -> Result<(), Diagnostic> {
    match Gvk::from_object(live) {
        Some(gvk) if schema.kind(&gvk).is_none() => Err(unknown_kind(format!("unknown kind {gvk}"))),
        _ => Ok(()),
    }
}

fn unknown_kind(message: String) -> Diagnostic {
    Diagnostic::error(Code::NoMatch, message).help("add its CRD with --schema FILE")
}

/// Returns true if the words are a name of a kind, optionally followed by its group, or by its
/// version and group.
fn is_named(kind: &NamedKind, words: &[&str]) -> bool {
    let [word, rest @ ..] = words else { return false };
    let (group, rest) = (kind.gvk.group.as_str(), rest.join("."));
    kind.has_name(word)
        && (rest.is_empty() || rest == group || rest == format!("{}.{group}", kind.gvk.version))
}

fn show(args: &OwnersArgs, objects: &[LiveObject]) -> Result<(), Failure> {
    let managed =
        objects.iter().map(|object| managed_fields(&object.value)).collect::<Result<Vec<_>, _>>()?;
    if args.output == ReportFormat::Json {
        let found = objects.iter().zip(&managed).map(|(object, managed)| owners_json(&object.value, managed));
        return print_json(&json!({"objects": found.collect::<Vec<_>>()}));
    }
    let style = MarginStyle { coloring: render::coloring(&io::stdout()), removals: Removals::Hidden };
    let texts = objects.iter().map(|object| owners_to_yaml(&Node::from(&object.value), style));
    print(&texts.collect::<Result<Vec<_>, _>>()?.join("---\n"))
}

/// Reads the managed fields of an object. Errors contain the object's name.
fn managed_fields(object: &Value) -> Result<ManagedFields, Diagnostic> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    ManagedFields::from_object(object).map_err(|error| {
        error.note(format!("in the live object {} {}", text("/kind"), text("/metadata/name")))
    })
}

fn owners_json(object: &Value, managed: &ManagedFields) -> Value {
    let owner = |owner: &Owner<'_>| {
        let fields: Vec<String> = owner.fields.paths().iter().map(Path::to_string).collect();
        json!({
            "manager": owner.manager.name.as_str(), "operation": owner.manager.operation.name(),
            "subresource": owner.manager.subresource.as_str(), "apiVersion": owner.api_version, "time": owner.time,
            "fields": fields,
        })
    };
    let metadata = &object["metadata"];
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "namespace": metadata["namespace"],
        "name": metadata["name"], "owners": managed.sorted().iter().map(owner).collect::<Vec<_>>(),
    })
}

/// Prints the requests: applied objects as manifests, and patches as JSON, each with the command to
/// send it.
fn print_steps(live: &Value, steps: &[OwnershipStep], format: ReportFormat) -> Result<(), Failure> {
    let is_masked = |step: &OwnershipStep| matches!(step, OwnershipStep::Apply { object, .. } if masked(object) != *object);
    if steps.iter().any(is_masked) {
        render::print_note(
            "values of the Secret are masked: to send the requests, run `owners secret/NAME` with `--yes`",
        );
    }
    let steps = printable(live, steps);
    if format == ReportFormat::Json {
        let step = |step: &OwnershipStep| match step {
            OwnershipStep::Apply { manager, subresource, object } => {
                json!({"apply": object, "fieldManager": manager, "subresource": subresource})
            }
            OwnershipStep::Patch(patch) => json!({"patch": patch}),
        };
        return print_json(&json!({"requests": steps.iter().map(step).collect::<Vec<_>>()}));
    }
    for (i, step) in steps.iter().enumerate() {
        let after = if i == 0 { "" } else { "# send this only after the request above has succeeded\n" };
        match step {
            OwnershipStep::Apply { manager, subresource, object } => {
                let subresource = flag("subresource", subresource);
                let manager = flag("field-manager", manager);
                let command =
                    format!("---\n# kubectl apply --server-side{manager}{subresource} -f -\n{after}");
                print(&(command + &to_yaml(&Node::from(object))?))?;
            }
            OwnershipStep::Patch(patch) => {
                let text = |field: &str| live.pointer(field).and_then(Value::as_str).unwrap_or_default();
                let (kind, name) = (text("/kind").to_lowercase(), text("/metadata/name"));
                let namespace = flag("namespace", text("/metadata/namespace"));
                let patch = escaped_json(&patch.to_string());
                print(&format!(
                    "---\n# kubectl patch {kind}/{name}{namespace} --type=json --patch-file=/dev/stdin\n{patch}\n"
                ))?;
            }
        }
    }
    Ok(())
}

/// Returns the requests to print, without the values of a Secret. The first one contains the
/// resource version of the live object, so that it fails if the object has changed. The version for
/// the following requests is only known after the first one is sent.
fn printable(live: &Value, steps: &[OwnershipStep]) -> Vec<OwnershipStep> {
    let mut version = live.pointer("/metadata/resourceVersion");
    let printable = |step: &OwnershipStep| {
        let version = version.take();
        let OwnershipStep::Apply { manager, subresource, object } = step else { return step.clone() };
        let mut object = masked(object);
        if let Some(version) = version {
            object["metadata"]["resourceVersion"] = version.clone();
        }
        OwnershipStep::Apply { manager: manager.clone(), subresource: subresource.clone(), object }
    };
    steps.iter().map(printable).collect()
}

/// Returns an object to print. Values of a Secret are masked.
fn masked(object: &Value) -> Value {
    let mut node = Node::from(object);
    if is_secret_kind(object["kind"].as_str().unwrap_or_default()) {
        mask_secret(Some(&mut node), None, &|_, _| ["***", "***"].map(String::from));
    }
    node.to_json_value()
}

/// Returns a flag of kubectl, or an empty string if it has no value.
fn flag(name: &str, value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    match value {
        "" => String::new(),
        plain if plain.chars().all(is_plain) => format!(" --{name}={plain}"),
        other => format!(" --{name}='{}'", escaped(&other.replace('\'', r"'\''"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_quoted_for_a_shell() {
        assert_eq!(flag("namespace", ""), "");
        assert_eq!(flag("field-manager", "a.b/c@d"), " --field-manager=a.b/c@d");
        assert_eq!(flag("field-manager", "it's\nme"), r" --field-manager='it'\''s\nme'");
    }
}
