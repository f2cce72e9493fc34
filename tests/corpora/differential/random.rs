//! Random cases. CONTRIBUTING.md lists the inputs that are not generated, and the reasons.

use std::collections::HashSet;

use kubectl_smp_testing::generate::{Dice, EntryUniqueness, Generator, Options};
use smp_merge::merge::PatchRules;
use smp_merge::patch::create;
use smp_merge::schema::Cursor;
use smp_text::yaml::{Meta, Node, Style, Tag, Value, to_json};

use super::case::{Case, Operation, Schemas};

/// The case of a seed.
pub fn case(seed: u64, schemas: &Schemas) -> Case {
    let mut dice = Dice::new(seed);
    let operation = dice.pick(&Operation::ALL);
    let distinct = dice.pick(&[
        EntryUniqueness::MergeKey,
        EntryUniqueness::MergeKey,
        EntryUniqueness::AllKeys,
        EntryUniqueness::Any,
    ]);
    let options = Options { distinct, wrong_values: !dice.one_in(3) };
    let overwrite = !dice.one_in(4);
    let prepend = dice.one_in(2);
    let infer = inferred_keys(&mut dice);
    let mut generator = Generator::new(dice, &schemas.kubernetes, options);
    let (api_version, kind) = generator.kind;
    let mut case = Case {
        operation,
        kind: String::new(),
        sides: Vec::new(),
        overwrite: operation == Operation::ThreeWay && overwrite,
        infer: Vec::new(),
        prepend: operation == Operation::Merge2 && prepend,
    };
    if matches!(operation, Operation::Merge2 | Operation::Merge3) {
        case.infer = infer.iter().map(ToString::to_string).collect();
        case.sides = merge_sides(operation, &mut generator);
    } else {
        case.kind = format!("{api_version} {kind}");
        case.sides = patch_sides(operation, &mut generator);
        if operation == Operation::Apply {
            avoid_written_entries(&mut case.sides[1], generator.root, distinct);
        }
        if operation == Operation::ThreeWay && !case.overwrite {
            case.sides.iter_mut().for_each(sort_scalars);
        }
    }
    case
}

fn inferred_keys(dice: &mut Dice) -> &'static [&'static str] {
    match dice.below(4) {
        0 => &["name"],
        1 => &["mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"],
        _ => &[],
    }
}

fn patch_sides(operation: Operation, generator: &mut Generator<'_>) -> Vec<Node> {
    let original = generator.object();
    let modified = generator.changed(&original);
    match operation {
        Operation::TwoWay => vec![original, modified],
        Operation::ThreeWay => {
            let current = generator.changed(&original);
            vec![original, modified, current]
        }
        _ => {
            let (live, patch) = patch_of(original, modified, generator);
            vec![live, patch]
        }
    }
}

/// Removes parts of a patch that make the reference read entries that it should not see.
///
/// The second of two entries with one key is merged into the first as written, with the directives of its own
/// lists. An empty list of scalars is joined with the live one without a copy, so that removing duplicates, if
/// they are allowed, also changes the live order.
fn avoid_written_entries(node: &mut Node, at: Cursor<'_>, distinct: EntryUniqueness) {
    let doubles = distinct == EntryUniqueness::Any;
    match &mut node.value {
        Value::Map(map) => {
            map.entries_mut().retain(|field| {
                let list = at.field(&field.key.text);
                let is_empty = field.value.as_list().is_some_and(Vec::is_empty);
                !(doubles && is_empty && list.patch_strategy().merge && list.patch_merge_key().is_none())
            });
            map.iter_mut().for_each(|(name, value)| avoid_written_entries(value, at.field(name), distinct));
        }
        Value::List(list) => {
            if let Some(key) = at.patch_merge_key()
                && list.iter().any(has_directives_below)
            {
                let mut seen = HashSet::new();
                list.retain(|entry| entry.get(key).is_none_or(|key| seen.insert(to_json(key).ok())));
            }
            for entry in list {
                avoid_written_entries(entry, at.element(), distinct);
            }
        }
        Value::Scalar(_) => {}
    }
}

fn has_directives_below(node: &Node) -> bool {
    let fields = node.as_map().into_iter().flat_map(|map| map.iter().map(|(_, value)| value));
    let mut below = fields.chain(node.as_list().into_iter().flatten());
    below.any(|node| node.get("$patch").is_some() || has_directives_below(node))
}

/// The conflict check of the reference sorts lists of scalars in the patch itself.
fn sort_scalars(node: &mut Node) {
    match &mut node.value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| sort_scalars(value)),
        Value::List(list) => {
            if list.iter().all(|entry| entry.scalar_text().is_some()) {
                list.sort_by(|a, b| a.scalar_text().cmp(&b.scalar_text()));
            }
            list.iter_mut().for_each(sort_scalars);
        }
        Value::Scalar(_) => {}
    }
}

/// A live object and a patch for it: created by a program, or written by hand.
fn patch_of(original: Node, modified: Node, generator: &mut Generator<'_>) -> (Node, Node) {
    if generator.dice.one_in(3)
        && let Ok(patch) = create(&original, &modified, generator.root, PatchRules::Apiserver)
    {
        let live = if generator.dice.one_in(2) { original } else { generator.changed(&original) };
        return (live, patch);
    }
    let mut patch = if generator.dice.one_in(3) { generator.object() } else { modified };
    generator.add_patch_directives(&mut patch);
    (original, patch)
}

fn merge_sides(operation: Operation, generator: &mut Generator<'_>) -> Vec<Node> {
    let first = generator.object();
    let mut sides = vec![first.clone()];
    for _ in 1..operation.sides().len() {
        let other = if generator.dice.one_in(4) { generator.object() } else { generator.changed(&first) };
        sides.push(other);
    }
    if operation == Operation::Merge2 && generator.dice.one_in(2) {
        generator.add_patch_directives(&mut sides[1]);
    }
    let unknown = generator.dice.one_in(4);
    let nulls: &[&str] = if sides.iter().any(has_brackets) { &["null", "~"] } else { &["null", "~", ""] };
    for side in &mut sides {
        if let Some(map) = side.as_map_mut().filter(|_| unknown) {
            map.insert("kind", Node::string("Thing"));
        }
        spell(side, nulls, &mut generator.dice);
    }
    sides
}

/// Returns true if a map or list is written `{}` or `[]`.
fn has_brackets(node: &Node) -> bool {
    match &node.value {
        Value::Map(map) => map.is_empty() || map.iter().any(|(_, value)| has_brackets(value)),
        Value::List(list) => list.is_empty() || list.iter().any(has_brackets),
        Value::Scalar(_) => false,
    }
}

/// Changes the spelling of some scalars. Plain scalars may change their type.
fn spell(node: &mut Node, nulls: &[&'static str], dice: &mut Dice) {
    if node.is_null() {
        *node = Node::plain(dice.pick(nulls));
        return;
    }
    match &mut node.value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| spell(value, nulls, dice)),
        Value::List(list) => list.iter_mut().for_each(|entry| spell(entry, nulls, dice)),
        Value::Scalar(text) => match dice.below(8) {
            0 if is_plain(text) => node.meta = Meta::default(),
            1 => node.meta = quoted(Style::SingleQuoted),
            2 => node.meta = quoted(Style::DoubleQuoted),
            _ => {}
        },
    }
}

fn quoted(style: Style) -> Meta {
    Meta { style, tag: Tag::None, ..Meta::default() }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"~-./".contains(&byte))
}
