//! The fields that a CEL rule of a CRD selects, compared with those that the schema declares. The API server rejects a
//! CRD whose rules select other fields.

use std::sync::LazyLock;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use smp_text::yaml::{Map, Node};

use super::cel::{escaped, is_reserved};
use super::rule::{is_true, text_of};
use super::timed_cel;

/// The schema of the metadata in expressions, which has no other fields.
static METADATA: LazyLock<Node> = LazyLock::new(|| {
    let text = "{type: object, properties: {name: {type: string}, generateName: {type: string}}}";
    text.parse().unwrap_or_else(|_| Node::null())
});

/// Returns the first field that an expression selects although its schema does not declare it. Accepts what it cannot
/// parse, and the fields of values whose type it does not know.
///
/// `is_root` is true for the schema of a whole object, whose names and type are always declared.
pub(super) fn undeclared_field(text: &str, schema: &Node, is_root: bool) -> Option<String> {
    let root = timed_cel::parse(text).ok()?;
    let this = Some(Type { schema, is_root: is_root || is_embedded(schema) });
    let mut types = Types { variables: vec![("self", this), ("oldSelf", this)], undeclared: None };
    types.of(&root);
    types.undeclared
}

/// The type of a value in an expression.
#[derive(Clone, Copy)]
struct Type<'n> {
    schema: &'n Node,
    is_root: bool,
}

fn is_embedded(schema: &Node) -> bool {
    is_true(schema.get("x-kubernetes-embedded-resource"))
}

impl<'n> Type<'n> {
    fn new(schema: &'n Node) -> Self {
        Self { schema, is_root: is_embedded(schema) }
    }

    /// Returns true if expressions can use values of this type. They cannot use those without a type.
    fn is_usable(self) -> bool {
        let schema = self.schema;
        if is_true(schema.get("x-kubernetes-int-or-string")) {
            return true;
        }
        match text_of(schema, "type") {
            "array" => self.entries().is_some_and(Self::is_usable),
            "object" => self.values().is_none_or(Self::is_usable),
            name => !name.is_empty(),
        }
    }

    /// Returns the type of the entries of a list.
    fn entries(self) -> Option<Self> {
        let items = self.schema.get("items").filter(|items| items.as_map().is_some());
        items.filter(|_| text_of(self.schema, "type") == "array").map(Self::new)
    }

    /// Returns the type of the values of a map with arbitrary keys.
    fn values(self) -> Option<Self> {
        let all = self.schema.get("additionalProperties").filter(|all| all.as_map().is_some());
        all.filter(|_| text_of(self.schema, "type") == "object").map(Self::new)
    }

    /// Returns the type of a field, given as expressions write it. `Err` if the field is not declared, and `Ok(None)` if
    /// its type is not known.
    fn field(self, name: &str) -> Result<Option<Self>, ()> {
        let schema = self.schema;
        if is_true(schema.get("x-kubernetes-int-or-string")) || text_of(schema, "type") != "object" {
            return Ok(None);
        }
        match name {
            "apiVersion" | "kind" if self.is_root => return Ok(None),
            "metadata" if self.is_root && !self.declares_names() => return Ok(Some(Self::new(&METADATA))),
            _ => {}
        }
        if let Some(values) = self.values() {
            return Ok(Some(values));
        }
        let mut fields = schema.get("properties").and_then(Node::as_map).into_iter().flat_map(Map::iter);
        let is_named = |field: &str| field == name && is_reserved(field) || escaped(field) == name;
        let field = fields.find(|(field, _)| is_named(field)).map(|(_, field)| Self::new(field));
        field.filter(|field| field.is_usable()).map(Some).ok_or(())
    }
}

impl Type<'_> {
    /// Returns true if the schema of a whole object declares its type and both names. Only then do expressions have the
    /// metadata of the schema.
    fn declares_names(self) -> bool {
        let type_at = |path: &[&str]| {
            let field =
                path.iter().try_fold(self.schema, |schema, name| schema.get_path(&["properties", name]));
            field.map_or("", |field| text_of(field, "type"))
        };
        type_at(&["metadata"]) == "object"
            && [&["kind"][..], &["apiVersion"], &["metadata", "name"], &["metadata", "generateName"]]
                .into_iter()
                .all(|path| type_at(path) == "string")
    }
}

/// The traversal of an expression.
struct Types<'n, 'e> {
    /// The variables, the innermost last; `None` if the type is not known.
    variables: Vec<(&'e str, Option<Type<'n>>)>,
    undeclared: Option<String>,
}

impl<'n, 'e> Types<'n, 'e> {
    /// Returns the type of an expression, if known.
    fn of(&mut self, expression: &'e IdedExpr) -> Option<Type<'n>> {
        match &expression.expr {
            Expr::Ident(name) => self.variables.iter().rev().find(|(known, _)| known == name)?.1,
            Expr::Select(select) => {
                let operand = self.of(&select.operand);
                self.select(operand?, &select.field)
            }
            Expr::Call(called) => self.call(called),
            Expr::Comprehension(all) => self.comprehension(all),
            Expr::List(list) => self.visit(&list.elements),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.visit([&entry.key, &entry.value]);
                    }
                }
                None
            }
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => None,
        }
    }

    fn visit(&mut self, all: impl IntoIterator<Item = &'e IdedExpr>) -> Option<Type<'n>> {
        for one in all {
            self.of(one);
        }
        None
    }

    fn select(&mut self, operand: Type<'n>, field: &str) -> Option<Type<'n>> {
        operand.field(field).unwrap_or_else(|()| {
            self.undeclared.get_or_insert_with(|| field.to_string());
            None
        })
    }

    fn call(&mut self, called: &'e CallExpr) -> Option<Type<'n>> {
        match (called.func_name.as_str(), called.args.as_slice()) {
            (operators::INDEX, [list, index]) => {
                self.of(index);
                let list = self.of(list)?;
                list.entries().or_else(|| list.values())
            }
            (operators::OPT_SELECT, [operand, field]) => {
                let operand = self.of(operand)?;
                if let Expr::Literal(LiteralValue::String(field)) = &field.expr {
                    self.select(operand, field.inner());
                }
                None
            }
            (_, args) => self.visit(called.target.as_deref().into_iter().chain(args)),
        }
    }

    /// Visits the expansion of a macro such as `all`. A single variable has the entries of a list, or the keys of a map.
    fn comprehension(&mut self, all: &'e ComprehensionExpr) -> Option<Type<'n>> {
        let range = self.of(&all.iter_range);
        self.of(&all.accu_init);
        let before = self.variables.len();
        let entries = range.and_then(Type::entries);
        match &all.iter_var2 {
            None => self.variables.push((&all.iter_var, entries)),
            Some(second) => {
                let values = entries.or_else(|| range.and_then(Type::values));
                self.variables.extend([(all.iter_var.as_str(), None), (second, values)]);
            }
        }
        self.variables.push((&all.accu_var, None));
        self.visit([&all.loop_cond, &all.loop_step, &all.result]);
        self.variables.truncate(before);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undeclared_fields_are_found_in_all_parts_of_an_expression() {
        let schema: Node = "
type: object
properties:
  a: {type: integer}
  b-c: {type: string}
  list: {type: array, items: {type: object, properties: {d: {type: string}}}}
  map: {type: object, additionalProperties: {type: object, properties: {e: {type: string}}}}
  either: {x-kubernetes-int-or-string: true}
  free: {x-kubernetes-preserve-unknown-fields: true}
  open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {f: {type: string}}}
  names: {type: object, properties: {namespace: {type: string}}}
  template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
"
        .parse()
        .expect("a schema");
        let undeclared = |text: &str| undeclared_field(text, &schema, true).unwrap_or_default();
        for text in [
            "self.a > 1 && self.b__dash__c == ''",
            "self.metadata.name == '' && self.kind == '' && oldSelf.a == 1",
            "self.list.all(one, one.d == '') && self.list[0].d == ''",
            "self.map.all(key, self.map[key].e == '') && self.map.x.e == ''",
            "self.list.map(one, one.d).exists(one, one.anything == '')",
            "self.either.anything == 1 && self.a.anything == 1",
            "has(self.open.f) && self.?a.orValue(1) == 1 && other.b == 1",
            "self.template.metadata.name == ''",
            "self.names.namespace == self.names.__namespace__",
            "self.a ==",
        ] {
            assert_eq!(undeclared(text), "", "{text}");
        }
        for (text, field) in [
            ("self.x > 1 || self.y > 1", "x"),
            ("self.a > 1 ? has(self.x) : true", "x"),
            ("self.list.all(one, one.x == '')", "x"),
            ("self.list[self.x].d == ''", "x"),
            ("self.map.all(key, self.map[key].x == '')", "x"),
            ("self.?x.orValue(1) == 1", "x"),
            ("self.metadata.labels.size() == 0", "labels"),
            ("self.free == 1", "free"),
            ("self.open.g == ''", "g"),
            ("[1, self.x].size() > 0 && {'a': self.y}.size() > 0", "x"),
            ("self.template.spec == ''", "spec"),
        ] {
            assert_eq!(undeclared(text), field, "{text}");
        }
        let object: Node = "
type: object
properties:
  kind: {type: string}
  apiVersion: {type: string}
  metadata: {type: object, properties: {name: {type: string}, generateName: {type: string}, labels: {type: object}}}
"
        .parse()
        .expect("a schema");
        assert_eq!(undeclared_field("has(self.metadata.labels)", &object, true), None);
        assert_eq!(undeclared_field("self.metadata.name == ''", &schema, false).as_deref(), Some("metadata"));
    }
}
