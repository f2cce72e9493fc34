//! `configMapGenerator` and `secretGenerator`.

use rustc_hash::FxHashSet;

use super::draft::{Draft, EditOptions};
use super::expand::expand_local;
use super::fields::{
    entry_of, entry_text, get, list, new_string, remove_if_empty, set_string, set_text, string_of, text,
    update_list, update_map,
};
use crate::overlay::Root;
use crate::transform::{GeneratorArgs, config_map, secret};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{List, Map, Node, Value, did_you_mean, from_node_with};

/// A list of generators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratorList {
    /// `configMapGenerator`
    ConfigMaps,
    /// `secretGenerator`
    Secrets,
}

impl GeneratorList {
    /// Returns the name of the field.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::ConfigMaps => "configMapGenerator",
            Self::Secrets => "secretGenerator",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::ConfigMaps => "ConfigMap",
            Self::Secrets => "Secret",
        }
    }
}

/// Sources that are added to a generator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeneratorEntry {
    /// The name.
    pub name: String,
    /// The namespace; empty for the default one.
    pub namespace: String,
    /// Files of the form `path` or `key=path`. Paths may be patterns.
    pub files: Vec<String>,
    /// Literals of the form `key=value`.
    pub literals: Vec<String>,
    /// A file with `key=value` lines, or empty.
    pub env_file: String,
    /// Generates a name without a hash.
    pub disable_name_suffix_hash: bool,
    /// `create`, `merge`, `replace` or empty.
    pub behavior: String,
    /// The type of a new Secret.
    pub secret_type: String,
}

/// A change of an existing generator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeneratorChange {
    /// The name.
    pub name: String,
    /// The namespace; empty for the default one.
    pub namespace: String,
    /// New values of existing literals.
    pub literals: Vec<String>,
    /// The new namespace, or empty.
    pub new_namespace: String,
}

impl GeneratorEntry {
    /// Expands the patterns of files, and checks that there are sources.
    pub(super) fn expanded(&self, root: &Root, notes: &mut Vec<String>) -> Result<Self> {
        let mut files = Vec::new();
        for source in &self.files {
            let parts: Vec<&str> = source.split('=').collect();
            let (key, pattern) = if let [key, pattern] = parts[..] { (key, pattern) } else { ("", parts[0]) };
            let found = expand_local(root, &[pattern.to_string()], notes)?;
            match (&found[..], key) {
                (_, "") => files.extend(found),
                ([one], _) => files.push(format!("{key}={one}")),
                _ => {
                    let message = format!("`{pattern}` matches {} files, but the key names one", found.len());
                    return Err(Diagnostic::error(Code::InvalidValue, message));
                }
            }
        }
        let entry = Self { files, ..self.clone() };
        entry.check()?;
        Ok(entry)
    }

    fn check(&self) -> Result<()> {
        let has_values = !(self.files.is_empty() && self.literals.is_empty());
        let invalid = |message: &str| Diagnostic::error(Code::InvalidValue, message);
        if self.env_file.is_empty() && !has_values {
            return Err(invalid("no source of data is given")
                .help("use --from-file, --from-literal or --from-env-file"));
        }
        if !self.env_file.is_empty() && has_values {
            return Err(invalid("--from-env-file cannot be combined with --from-file or --from-literal"));
        }
        let known = ["create", "merge", "replace"];
        if !self.behavior.is_empty() && !known.contains(&self.behavior.as_str()) {
            let help = did_you_mean(&self.behavior, &known);
            return Err(invalid(&format!("unknown behavior `{}`", self.behavior))
                .help(help.unwrap_or_else(|| "use create, merge or replace".into())));
        }
        Ok(())
    }
}

/// Returns true if two namespaces are the same. The empty one is the default namespace.
fn same_namespace(a: &str, b: &str) -> bool {
    let or_default = |namespace| if str::is_empty(namespace) { "default" } else { namespace };
    or_default(a) == or_default(b)
}

fn find(draft: &Draft<'_>, list: GeneratorList, name: &str, namespace: &str) -> Option<usize> {
    let is_named = |entry: &Node| {
        entry_text(entry, "name") == name && same_namespace(entry_text(entry, "namespace"), namespace)
    };
    self::list(&draft.fields, list.field()).iter().position(is_named)
}

/// Changes the fields of an entry, and checks that the generator works.
fn change_entry(
    draft: &mut Draft<'_>,
    list: GeneratorList,
    i: usize,
    change: impl FnOnce(&mut Map) -> Result<()>,
) -> Result<()> {
    let (root, options) = (draft.root, draft.options);
    let global = get(&draft.fields, "generatorOptions").and_then(Node::as_map).cloned();
    update_list(&mut draft.fields, list.field(), |entries| {
        let Some(fields) = entries[i].as_map_mut() else { return Ok(()) };
        change(fields)?;
        let mut complete = fields.clone();
        if let Some(global) = &global {
            merge_options(&mut complete, global);
        }
        validate(&complete, list, root, options)?;
        if options.as_kustomize {
            // kustomize checks the entry with the options of all generators, and writes these options to the entry.
            *fields = complete;
        }
        Ok(())
    })
}

/// Adds sources to a generator.
pub(super) fn add(draft: &mut Draft<'_>, list: GeneratorList, new: &GeneratorEntry) -> Result<()> {
    let i = find(draft, list, &new.name, &new.namespace).unwrap_or_else(|| {
        let kind = if list == GeneratorList::Secrets { new.secret_type.as_str() } else { "" };
        let fields = [("name", new.name.as_str()), ("namespace", &new.namespace), ("type", kind)];
        update_list(&mut draft.fields, list.field(), |entries| {
            entries.push(entry_of(&fields));
            entries.len() - 1
        })
    });
    change_entry(draft, list, i, |fields| {
        let env_files: Vec<String> =
            std::iter::once(&new.env_file).filter(|path| !path.is_empty()).cloned().collect();
        for (name, sources) in [("literals", &new.literals), ("files", &new.files), ("envs", &env_files)] {
            if !sources.is_empty() {
                update_list(fields, name, |list| list.extend(sources.iter().map(|text| new_string(text))));
            }
        }
        if new.disable_name_suffix_hash {
            // As in kustomize, this replaces all options of the entry.
            super::fields::remove(fields, "options");
            update_map(fields, "options", |options| {
                options.push("disableNameSuffixHash", Node::from(true));
            });
        }
        if !new.behavior.is_empty() {
            set_text(fields, "behavior", &new.behavior);
        }
        Ok(())
    })
}

/// Changes literals or the namespace of a generator.
pub(super) fn set(draft: &mut Draft<'_>, list: GeneratorList, change: &GeneratorChange) -> Result<()> {
    if change.literals.is_empty() && change.new_namespace.is_empty() {
        return Err(Diagnostic::error(Code::InvalidValue, "nothing to set is given")
            .help("use --from-literal or --new-namespace"));
    }
    let Some(i) = find(draft, list, &change.name, &change.namespace) else {
        let message = format!("no {} generator `{}` exists", list.kind(), change.name);
        let known: Vec<&str> =
            self::list(&draft.fields, list.field()).iter().map(|entry| entry_text(entry, "name")).collect();
        let error = Diagnostic::error(Code::NoMatch, message);
        return Err(match did_you_mean(&change.name, &known) {
            Some(help) => error.help(help),
            None => error,
        });
    };
    change_entry(draft, list, i, |fields| {
        if !change.literals.is_empty() {
            set_literals(fields, &change.literals)?;
        }
        set_namespace(fields, &change.new_namespace);
        Ok(())
    })
}

fn set_namespace(fields: &mut Map, namespace: &str) {
    if !namespace.is_empty() {
        set_text(fields, "namespace", namespace);
    }
}

/// Replaces the values of literals whose keys exist. Of several literals with the same key, the last one is used.
fn set_literals(fields: &mut Map, literals: &[String]) -> Result<()> {
    update_list(fields, "literals", |list| {
        keep_last(list)?;
        for literal in literals {
            let key = literal_key(literal)?;
            let found =
                list.iter_mut().find(|entry| literal_key(string_of(entry)).is_ok_and(|own| own == key));
            let Some(entry) = found else {
                return Err(Diagnostic::error(Code::NoMatch, format!("no literal has the key `{key}`")));
            };
            set_string(entry, literal);
        }
        Ok(())
    })
}

fn keep_last(list: &mut List) -> Result<()> {
    let mut seen = FxHashSet::default();
    let keys: Vec<String> =
        list.iter().map(|entry| literal_key(string_of(entry)).map(str::to_string)).collect::<Result<_>>()?;
    let mut is_last: Vec<bool> = keys.iter().rev().map(|key| seen.insert(key)).collect();
    list.retain(|_| is_last.pop().unwrap_or(true));
    Ok(())
}

/// Returns the key of a literal. The value must not contain a `=`.
fn literal_key(literal: &str) -> Result<&str> {
    let key = literal.split_once('=').filter(|(_, value)| !value.contains('='));
    key.map(|(key, _)| key).ok_or_else(|| {
        // The text may be a secret.
        Diagnostic::error(
            Code::InvalidValue,
            "a literal is not of the form `key=value`, or its value contains `=`",
        )
    })
}

/// Removes generators. At least one must exist.
pub(super) fn remove(
    draft: &mut Draft<'_>,
    list: GeneratorList,
    names: &[String],
    namespace: &str,
) -> Result<()> {
    let mut found = FxHashSet::default();
    let is_removed = |entry: &Node| {
        let name = entry_text(entry, "name");
        names.iter().any(|own| own == name) && same_namespace(entry_text(entry, "namespace"), namespace)
    };
    for entry in self::list(&draft.fields, list.field()).iter().filter(|entry| is_removed(entry)) {
        found.insert(entry_text(entry, "name").to_string());
    }
    if found.is_empty() {
        let message = format!("no {} generator has the name {}", list.kind(), names.join(" or "));
        return Err(Diagnostic::error(Code::NoMatch, message));
    }
    for name in names.iter().filter(|name| !found.contains(*name)) {
        draft.note(format!("no {} generator `{name}` exists", list.kind()));
    }
    update_list(&mut draft.fields, list.field(), |entries| entries.retain(|entry| !is_removed(entry)));
    remove_if_empty(&mut draft.fields, list.field());
    Ok(())
}

/// Adds the options of all generators to those of an entry.
fn merge_options(fields: &mut Map, global: &Map) {
    update_map(fields, "options", |own| {
        for name in ["labels", "annotations"] {
            let Some(Value::Map(theirs)) = get(global, name).map(|node| &node.value) else { continue };
            update_map(own, name, |mine| {
                for entry in theirs.entries() {
                    if !mine.contains_key(&entry.key.text) {
                        mine.push(entry.key.clone(), entry.value.clone());
                    }
                }
            });
        }
        for name in ["disableNameSuffixHash", "immutable"] {
            if super::fields::is_true(global, name) && !super::fields::is_true(own, name) {
                super::fields::remove(own, name);
                own.push(name, Node::from(true));
            }
        }
    });
    remove_if_empty(fields, "options");
}

/// Generates the object to find errors: a missing file, or a key that occurs twice.
fn validate(fields: &Map, list: GeneratorList, root: &Root, options: EditOptions) -> Result<()> {
    let decode = if options.as_kustomize {
        smp_text::yaml::DecodeOptions::default()
    } else {
        smp_text::yaml::DecodeOptions::lenient()
    };
    let args: GeneratorArgs = from_node_with(&Node::map(fields.clone()), decode)?;
    if text(fields, "name").is_empty() {
        return Err(Diagnostic::error(Code::MissingField, format!("a {} must have a name", list.kind())));
    }
    let schema = Schema::empty();
    match list {
        GeneratorList::ConfigMaps => config_map(&args, None, root, &schema).map(drop),
        GeneratorList::Secrets => secret(&args, None, root, &schema).map(drop),
    }
}
