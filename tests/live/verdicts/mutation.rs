//! Random changes of objects: typical mistakes.

use std::fmt;

use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};
use smp_merge::schema::{Cursor, Gvk, ListType, Schema, TypeKind};

/// The change, and its location.
#[derive(Debug, Clone)]
pub struct Mutation {
    pub name: &'static str,
    place: String,
    to: String,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ({})", self.name, self.place, self.to)
    }
}

/// A value of the object, and its schema.
struct Site<'s> {
    pointer: String,
    field: String,
    here: Cursor<'s>,
    /// The type of the object that has the field. Unknown for list entries.
    parent: Cursor<'s>,
}

/// Makes a mistake of one kind somewhere in an object.
type Mistake = fn(&mut Value, &[Site<'_>], &mut Dice) -> Option<Mutation>;

const MISTAKES: [Mistake; 10] = [
    unknown_field,
    wrong_type,
    missing_required,
    wrong_enum,
    wrong_name,
    wrong_label,
    wrong_port,
    wrong_quantity,
    duplicate_key,
    wrong_constraint,
];

/// Changes one value of an object. None if the object has no value for the selected kind of mistake.
pub fn mutate(object: &mut Value, schema: &Schema, dice: &mut Dice) -> Option<Mutation> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
    let root = schema.kind(&gvk)?;
    let mut sites = Vec::new();
    collect(object, root, Cursor::unknown(), (String::new(), ""), &mut sites);
    dice.pick(&MISTAKES)(object, &sites, dice)
}

fn collect<'s>(
    value: &Value,
    here: Cursor<'s>,
    parent: Cursor<'s>,
    at: (String, &str),
    out: &mut Vec<Site<'s>>,
) {
    let (pointer, field) = at;
    // Fields that a server sets are not in manifests.
    let is_own = ["/apiVersion", "/kind", "/status", "/metadata/managedFields"].contains(&pointer.as_str());
    if !here.is_known() || is_own {
        return;
    }
    let step = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                collect(value, here.field(name), here, (step(name), name), out);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                collect(value, here.element(), Cursor::unknown(), (format!("{pointer}/{i}"), field), out);
            }
        }
        _ => {}
    }
    out.push(Site { pointer, field: field.into(), here, parent });
}

fn changed(name: &'static str, place: &str, to: impl fmt::Display) -> Mutation {
    Mutation { name, place: place.into(), to: to.to_string().chars().take(60).collect() }
}

fn pick<'a, 's>(
    sites: &'a [Site<'s>],
    dice: &mut Dice,
    fits: impl Fn(&Site<'s>) -> bool,
) -> Option<&'a Site<'s>> {
    let fitting: Vec<&Site<'s>> = sites.iter().filter(|site| fits(site)).collect();
    (!fitting.is_empty()).then(|| dice.pick(&fitting))
}

fn set(object: &mut Value, site: &Site<'_>, name: &'static str, to: Value) -> Option<Mutation> {
    let place = object.pointer_mut(&site.pointer)?;
    if *place == to {
        return None;
    }
    let mutation = changed(name, &site.pointer, &to);
    *place = to;
    Some(mutation)
}

fn unknown_field(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let has_fields = |site: &Site<'_>| site.here.fields().next().is_some();
    let site = pick(sites, dice, has_fields)?;
    let map = object.pointer_mut(&site.pointer)?.as_object_mut()?;
    if dice.one_in(2) || map.is_empty() {
        map.insert("bogus".into(), json!("x"));
        return Some(changed("unknown-field", &site.pointer, "bogus"));
    }
    let names: Vec<String> = map.keys().cloned().collect();
    let name = &names[dice.below(names.len())];
    if site.pointer.is_empty() && matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
        return None;
    }
    let value = map.remove(name)?;
    let mut wrong = name.clone();
    wrong.push('s');
    map.insert(wrong, value);
    Some(changed("unknown-field", &site.pointer, format!("{name}s")))
}

fn wrong_type(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let site = pick(sites, dice, |site| !site.pointer.is_empty() && site.pointer != "/metadata")?;
    let to = match site.here.type_kind() {
        TypeKind::String => dice.pick(&[0, 1, 2, 3]),
        TypeKind::Integer | TypeKind::Number => dice.pick(&[4, 5, 3, 6]),
        TypeKind::Boolean => dice.pick(&[7, 5, 0]),
        TypeKind::IntOrString => dice.pick(&[5, 3, 6]),
        TypeKind::Array => dice.pick(&[4, 8, 0]),
        TypeKind::Object => dice.pick(&[4, 9, 0]),
        TypeKind::Any => return None,
    };
    let values =
        [json!(8080), json!(true), json!(["x"]), json!({"x": 1}), json!("text"), json!(true), json!(1.5)];
    let more = [json!("true"), json!({}), json!([])];
    let to = values.iter().chain(&more).nth(to)?.clone();
    set(object, site, "wrong-type", to)
}

fn missing_required(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let site = pick(sites, dice, |site| site.parent.is_required(&site.field) && site.pointer != "/metadata")?;
    let (above, _) = site.pointer.rsplit_once('/')?;
    object.pointer_mut(above)?.as_object_mut()?.remove(&site.field)?;
    Some(changed("missing-required", &site.pointer, ""))
}

fn wrong_enum(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let site = pick(sites, dice, |site| !site.here.constraints().enumeration.is_empty())?;
    let to = if dice.one_in(2) { "" } else { "Bogus" };
    set(object, site, "enum", json!(to))
}

fn wrong_name(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let is_name = |site: &Site<'_>| {
        site.pointer == "/metadata/name"
            || (site.field == "name"
                && site.here.type_kind() == TypeKind::String
                && site.pointer.starts_with("/spec"))
    };
    let site = pick(sites, dice, is_name)?;
    let names = ["Bad_Name!", "-web", "we b", "web.", "", "a/b"];
    let long = "x".repeat(300);
    let name = if dice.one_in(8) { long.as_str() } else { dice.pick(&names) };
    set(object, site, "name", json!(name))
}

fn wrong_label(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let is_labels = |site: &Site<'_>| {
        matches!(site.field.as_str(), "labels" | "matchLabels" | "nodeSelector" | "annotations" | "selector")
            && site.here.additional().is_known()
    };
    let site = pick(sites, dice, is_labels)?;
    let map = object.pointer_mut(&site.pointer)?.as_object_mut()?;
    let (key, value) = dice.pick(&[
        ("app", "bad value!"),
        ("bad key", "x"),
        ("a/b/c", "x"),
        ("/x", "x"),
        ("app", "-x"),
        ("Example.com/x", "y"),
        ("tier", "x_y.z-1"),
    ]);
    map.insert(key.into(), json!(value));
    Some(changed("label", &site.pointer, format!("{key}: {value}")))
}

fn wrong_port(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let is_port = |site: &Site<'_>| {
        site.field.to_ascii_lowercase().ends_with("port")
            && matches!(site.here.type_kind(), TypeKind::Integer | TypeKind::IntOrString)
    };
    let site = pick(sites, dice, is_port)?;
    let to = dice.pick(&[0, -1, 65535, 65536, 70000, 4_294_967_296_i64]);
    set(object, site, "port", json!(to))
}

fn wrong_quantity(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let is_quantity =
        |site: &Site<'_>| site.here.type_name().is_some_and(|name| name.ends_with("resource.Quantity"));
    let site = pick(sites, dice, is_quantity)?;
    let to = dice.pick(&["12 potatoes", "1gi", "-1", "1.5Gi", "", "0", "100000Ti", "0.0001"]);
    set(object, site, "quantity", json!(to))
}

fn duplicate_key(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let is_keyed = |site: &Site<'_>| matches!(site.here.list_type(), Some(ListType::Map | ListType::Set));
    let site = pick(sites, dice, is_keyed)?;
    let list = object.pointer_mut(&site.pointer)?.as_array_mut()?;
    let entry = list.first()?.clone();
    list.push(entry);
    Some(changed("duplicate-key", &site.pointer, ""))
}

/// For custom resources: patterns, limits, and values that validation rules check.
fn wrong_constraint(object: &mut Value, sites: &[Site<'_>], dice: &mut Dice) -> Option<Mutation> {
    let is_bound = |site: &Site<'_>| {
        let demands = site.here.constraints();
        let of_parent = !site.parent.constraints().rules.is_empty();
        let own = [demands.min_length, demands.max_length, demands.min_items, demands.max_items];
        let own = own.into_iter().any(|bound| bound.is_some())
            || demands.minimum.is_some()
            || demands.maximum.is_some()
            || demands.pattern.is_some();
        own || of_parent
            || !demands.rules.is_empty()
            || !demands.any_of.is_empty()
            || !demands.one_of.is_empty()
    };
    let site = pick(sites, dice, is_bound)?;
    let value = object.pointer(&site.pointer)?;
    let to = match value {
        Value::String(_) => dice.pick(&[0, 1, 2, 3]),
        Value::Number(_) => dice.pick(&[4, 5, 6]),
        Value::Array(_) => 7,
        Value::Object(_) => 8,
        _ => 9,
    };
    let to = match to {
        0 => json!(""),
        1 => json!("!!"),
        2 => json!("x".repeat(5000)),
        3 => json!("other"),
        4 => json!(-1),
        5 => json!(0),
        6 => json!(1_000_000),
        7 => json!([]),
        8 => json!({}),
        _ => {
            let (above, _) = site.pointer.rsplit_once('/')?;
            object.pointer_mut(above)?.as_object_mut()?.remove(&site.field)?;
            return Some(changed("constraint", &site.pointer, "removed"));
        }
    };
    set(object, site, "constraint", to)
}
