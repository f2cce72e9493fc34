//! New patch files from fields and values.

use super::draft::{Applied, Draft, EditedText};
use super::patch_field::{PatchedField, typed_fields, with_fields};
use super::patched_object::PatchedObject;
use super::patches::{self, PatchEntry};
use smp_files::clean_path;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{ParseOptions, edit_text, parse_documents, write_documents_in_source_style};

/// Writes the fields to a patch file, and adds it to `patches`. Creates the file if it does not exist.
pub(super) fn add(
    draft: &mut Draft<'_>,
    object: &PatchedObject,
    fields: &[PatchedField],
    path: &str,
) -> Result<Applied> {
    let fields = &typed_fields(object, fields)?;
    let tree = draft.root.reader().tree();
    let at = draft.root.path().join(path);
    let shown = draft.root.reader().shown(&at);
    if !clean_path(&at).starts_with(draft.root.path()) {
        let message = format!("`{path}` is not in or below the directory of the kustomization");
        return Err(Diagnostic::error(Code::OutsideRoot, message).help("use another --path"));
    }
    let (before, after) = if tree.contains(&at) {
        let before =
            tree.read_text(&at).map_err(|error| smp_text::diagnostic::read_error(shown.display(), &error))?;
        let after = extended(&before, object, fields, path)?;
        (before, after)
    } else {
        (String::new(), write_documents_in_source_style(&[with_fields(object.node(), fields)?]))
    };
    draft.files.push(EditedText { path: shown, before, after });
    let entry = PatchEntry { path: path.to_string(), ..PatchEntry::default() };
    if patches::add(draft, &entry) == Applied::Nothing {
        draft.notes.pop();
    }
    Ok(Applied::Changed)
}

/// Adds fields to the text of an existing patch file. The file must be a patch of the same object.
fn extended(before: &str, object: &PatchedObject, fields: &[PatchedField], path: &str) -> Result<String> {
    let sources = SourceMap::default();
    let id = sources.add(std::path::PathBuf::from(path), before);
    let documents = parse_documents(&sources, id, ParseOptions::default().with_comments())?;
    let [document] = documents.as_slice() else { return Err(other_object(path)) };
    if !object.is_patched_by(document) {
        return Err(other_object(path));
    }
    let after = with_fields(document.clone(), fields)?;
    edit_text(before, Reading::Kustomize, &documents, &[Some(after)])
}

fn other_object(path: &str) -> Diagnostic {
    Diagnostic::error(Code::Ambiguous, format!("{path} exists, and is not a patch of this object alone"))
        .help("use --path for another file")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(arguments: &[&str]) -> Result<String> {
        let fields = arguments.iter().map(|text| PatchedField::parse(text)).collect::<Result<Vec<_>>>()?;
        let object = PatchedObject { kind: "A".into(), name: "a".into(), ..PatchedObject::default() };
        Ok(write_documents_in_source_style(&[with_fields(object.node(), &fields)?]))
    }

    #[test]
    fn fields_become_a_patch() {
        let got = text(&[
            "spec.replicas=3",
            "spec.containers[name=web].image=web:2",
            "spec.containers[name=web].ports[containerPort=80,protocol=TCP].name=http",
            "metadata.annotations[example.com/a.b]='1'",
            "metadata.annotations.example\\.com/c=x",
            "spec.list=[a, b]",
            "spec.gone=null",
        ]);
        let want = "kind: A\nmetadata:\n  name: a\n  annotations:\n    example.com/a.b: '1'\n    example.com/c: x\nspec:\n  replicas: 3\n  containers:\n  - name: web\n    image: web:2\n    ports:\n    - containerPort: 80\n      protocol: TCP\n      name: http\n  list: [a, b]\n  gone: null\n";
        assert_eq!(got.expect("valid"), want);
        for wrong in ["spec", "spec[0].a=1", "=1", "a..b=1", "a[b=1", "[a=b].c=1"] {
            assert!(PatchedField::parse(wrong).is_err(), "{wrong}");
        }
        assert!(text(&["a=1", "a.b=1"]).is_err());
    }

    #[test]
    fn fields_have_the_types_of_the_schema() {
        let typed = |kind: &str, argument: &str| {
            let api_version = if kind == "Deployment" { "apps/v1" } else { "v1" };
            let (kind, name) = (kind.to_string(), "a".to_string());
            let object =
                PatchedObject { api_version: api_version.into(), kind, name, ..PatchedObject::default() };
            let fields = typed_fields(&object, &[PatchedField::parse(argument)?])?;
            let text = write_documents_in_source_style(&[with_fields(object.node(), &fields)?]);
            Ok::<_, Diagnostic>(
                text.split_once("name: a\n").map(|(_, fields)| fields.to_string()).unwrap_or_default(),
            )
        };
        for (kind, argument, want) in [
            ("Deployment", "metadata.annotations.z=5", "  annotations:\n    z: \"5\"\n"),
            ("Custom", "metadata.labels={a: yes, b: 1.0}", "  labels: {a: \"yes\", b: \"1.0\"}\n"),
            ("Custom", "spec.any=5", "spec:\n  any: 5\n"),
            ("ConfigMap", "data.a=null", "data:\n  a: null\n"),
            ("Deployment", "spec.$patch=replace", "spec:\n  $patch: replace\n"),
            ("Deployment", "spec.replicas=3", "spec:\n  replicas: 3\n"),
        ] {
            assert_eq!(typed(kind, argument).expect(argument), want);
        }
        for (argument, want) in [
            ("spec.replicas=abc", Code::WrongType),
            ("spec.bogus=1", Code::UnknownField),
            ("spec.template.spec.containers[name=web].imgae=a", Code::UnknownField),
            ("metadata.name=b", Code::InvalidValue),
            ("metadata={namespace: b}", Code::InvalidValue),
            ("kind=Pod", Code::InvalidValue),
            ("apiVersion=v1", Code::InvalidValue),
        ] {
            assert_eq!(typed("Deployment", argument).expect_err(argument).code(), want);
        }
    }

    #[test]
    fn existing_patches_are_extended() {
        let object = PatchedObject { kind: "A".into(), name: "a".into(), ..PatchedObject::default() };
        let before = "# why\nkind: A\nmetadata: {name: a}\nspec:\n  x: 1 # one\n";
        let fields = [
            PatchedField::parse("spec.z=2").expect("valid"),
            PatchedField::parse("spec.x=3").expect("valid"),
        ];
        let got = extended(before, &object, &fields, "p.yaml").expect("extended");
        assert_eq!(got, "# why\nkind: A\nmetadata: {name: a}\nspec:\n  x: 3 # one\n  z: 2\n");
        assert!(extended("kind: B\nmetadata: {name: a}\n", &object, &fields, "p.yaml").is_err());
    }
}
