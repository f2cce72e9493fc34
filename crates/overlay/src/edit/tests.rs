//! Tables of edits: the kustomization before and after, without `apiVersion` and `kind`.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::overlay::{Reader, Remotes};
use smp_files::MemoryTree;
use smp_text::diagnostic::Result;
use smp_text::source::SourceMap;

const HEAD: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

/// Returns the text of a kustomization after an edit, or the error.
fn edited(files: &[(&str, &str)], edit: &Edit, as_kustomize: bool) -> Result<String> {
    let all = files.iter().map(|(path, text)| (format!("/w/{path}"), text.as_bytes()));
    let tree = MemoryTree::new(all)?.with_working_directory("/w");
    let reader = Reader::new(Arc::new(tree), SourceMap::default(), true, Remotes::new(None, true))?;
    let root = reader.open(Path::new("."))?;
    edit_kustomization(&root, edit, EditOptions { as_kustomize }).map(|edited| edited.after)
}

/// Returns the text of `kustomization.yaml` after an edit as in kustomize.
fn after(text: &str, edit: &Edit) -> String {
    edited(&[("kustomization.yaml", text)], edit, true).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// Applies an edit to a kustomization, with other files in its directory. Returns the text after `apiVersion` and
/// `kind`.
fn apply(text: &str, edit: &Edit, as_kustomize: bool) -> std::result::Result<String, String> {
    let text = format!("{HEAD}{text}");
    let files =
        [("kustomization.yaml", text.as_str()), ("a.env", "A=1\n"), ("x.txt", "x"), ("patch.yaml", "a: 1")];
    let after = edited(&files, edit, as_kustomize).map_err(|error| error.to_string())?;
    Ok(after.strip_prefix(HEAD).map_or(after.clone(), str::to_string))
}

/// Checks the results of edits as in kustomize. `None` stands for an error.
fn check(table: &[(&str, Edit, Option<&str>)]) {
    for (text, edit, want) in table {
        let got = apply(text, edit, true);
        assert_eq!(got.as_deref().ok(), *want, "{edit:?} of\n{text}{got:?}");
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn add(field: MetadataField, name: &str, value: &str, force: bool) -> Edit {
    Edit::AddMetadata { field, pairs: pairs(&[(name, value)]), force }
}

fn remove(field: MetadataField, key: &str, ignore_missing: bool) -> Edit {
    Edit::RemoveMetadata { field, keys: vec![key.into()], ignore_missing }
}

#[test]
fn labels_and_annotations() {
    use MetadataField::{Annotations, Labels};
    let labels = "commonLabels: # all\n  app: web # ours\n";
    let label = |include_templates| Label { pairs: pairs(&[("b", "1"), ("c", "on")]), include_templates };
    check(&[
        (labels, add(Labels, "app", "x", false), None),
        (labels, add(Labels, "app", "x", true), Some("commonLabels: # all\n  app: x # ours\n")),
        (labels, add(Labels, "b", "1", false), Some("commonLabels: # all\n  app: web # ours\n  b: \"1\"\n")),
        ("", add(Annotations, "b", "", false), Some("commonAnnotations:\n  b: \"\"\n")),
        (
            labels,
            Edit::SetMetadata(Labels, pairs(&[("app", "z")])),
            Some("commonLabels: # all\n  app: z # ours\n"),
        ),
        (labels, remove(Labels, "app", false), Some("")),
        (labels, remove(Labels, "b", false), None),
        (labels, remove(Labels, "b", true), Some(labels)),
        (labels, remove(Annotations, "b", false), None),
        (
            "labels:\n- pairs: {a: x}\n  includeSelectors: true\n",
            Edit::AddLabels { label: label(true), force: false },
            Some(
                "labels:\n- pairs: {a: x}\n  includeSelectors: true\n- includeTemplates: true\n  pairs:\n    b: \"1\"\n    c: \"on\"\n",
            ),
        ),
        (
            "labels:\n- pairs: {b: x}\n",
            Edit::AddLabels { label: label(false), force: true },
            Some("labels:\n- pairs: {b: \"1\", c: \"on\"}\n"),
        ),
        ("labels:\n- pairs: {b: x}\n", Edit::AddLabels { label: label(false), force: false }, None),
    ]);
}

#[test]
fn build_metadata() {
    let options = |text: &str| build_metadata_options(text).expect("known");
    let text = "buildMetadata:\n- originAnnotations # why\n";
    check(&[
        (text, Edit::AddBuildMetadata(options("originAnnotations")), None),
        (
            text,
            Edit::AddBuildMetadata(options("managedByLabel")),
            Some("buildMetadata:\n- originAnnotations # why\n- managedByLabel\n"),
        ),
        (
            text,
            Edit::SetBuildMetadata(options("managedByLabel")),
            Some("buildMetadata:\n- managedByLabel # why\n"),
        ),
        (text, Edit::RemoveBuildMetadata(options("originAnnotations")), Some("")),
        (text, Edit::RemoveBuildMetadata(options("managedByLabel")), Some(text)),
    ]);
    assert!(build_metadata_options("originAnnotations,x").is_err());
}

#[test]
fn patches_are_compared_with_all_their_fields() {
    let text = "patches:\n# web\n- path: patch.yaml\n  target: {kind: Deployment}\n";
    let entry =
        |path: &str, kind: &str| PatchEntry { path: path.into(), kind: kind.into(), ..PatchEntry::default() };
    let inline = PatchEntry { patch: "- op: add\n  path: /a\n".into(), ..PatchEntry::default() };
    check(&[
        (text, Edit::AddPatch(entry("patch.yaml", "Deployment")), Some(text)),
        (text, Edit::RemovePatch(entry("patch.yaml", "")), Some(text)),
        (text, Edit::RemovePatch(entry("patch.yaml", "Deployment")), Some("")),
        (
            "patches:\n- path: p\n  options: {allowNameChange: true}\n",
            Edit::RemovePatch(entry("p", "")),
            Some("patches:\n- path: p\n  options: {allowNameChange: true}\n"),
        ),
        ("", Edit::AddPatch(entry("p", "A")), Some("patches:\n- path: p\n  target:\n    kind: A\n")),
        ("", Edit::AddPatch(inline), Some("patches:\n- patch: |\n    - op: add\n      path: /a\n")),
    ]);
}

#[test]
fn generators() {
    use GeneratorList::{ConfigMaps, Secrets};
    let text = "configMapGenerator:\n- name: web # site\n  literals: [a=1, b=2]\n";
    let entry = |name: &str, literals: &[&str], env_file: &str| GeneratorEntry {
        name: name.into(),
        literals: literals.iter().map(ToString::to_string).collect(),
        env_file: env_file.into(),
        ..GeneratorEntry::default()
    };
    let change = |literal: &str, new_namespace: &str| GeneratorChange {
        name: "web".into(),
        literals: Some(literal.to_string()).filter(|text| !text.is_empty()).into_iter().collect(),
        new_namespace: new_namespace.into(),
        ..GeneratorChange::default()
    };
    let gone = |names: &[&str], namespace: &str| Edit::RemoveGenerators {
        list: ConfigMaps,
        names: names.iter().map(ToString::to_string).collect(),
        namespace: namespace.into(),
    };
    check(&[
        (
            text,
            Edit::AddGenerator(ConfigMaps, entry("web", &["c=3"], "")),
            Some("configMapGenerator:\n- name: web # site\n  literals: [a=1, b=2, c=3]\n"),
        ),
        (text, Edit::AddGenerator(ConfigMaps, entry("web", &["a=3"], "")), None),
        (text, Edit::AddGenerator(ConfigMaps, entry("web", &[], "")), None),
        (
            "",
            Edit::AddGenerator(ConfigMaps, entry("web", &[], "a.env")),
            Some("configMapGenerator:\n- name: web\n  envs:\n  - a.env\n"),
        ),
        ("", Edit::AddGenerator(ConfigMaps, entry("web", &["a=1"], "a.env")), None),
        (
            "",
            Edit::AddGenerator(
                Secrets,
                GeneratorEntry {
                    secret_type: "Opaque".into(),
                    files: vec!["k=*.txt".into()],
                    ..entry("s", &[], "")
                },
            ),
            Some("secretGenerator:\n- name: s\n  type: Opaque\n  files:\n  - k=x.txt\n"),
        ),
        (
            text,
            Edit::SetGenerator(ConfigMaps, change("b=5", "")),
            Some("configMapGenerator:\n- name: web # site\n  literals: [a=1, b=5]\n"),
        ),
        (text, Edit::SetGenerator(ConfigMaps, change("c=5", "")), None),
        (text, Edit::SetGenerator(ConfigMaps, change("b=5=6", "")), None),
        (text, Edit::SetGenerator(Secrets, change("b=5", "")), None),
        (
            text,
            Edit::SetGenerator(ConfigMaps, change("", "shop")),
            Some(&format!("{text}  namespace: shop\n")),
        ),
        (text, gone(&["web", "x"], "default"), Some("")),
        (text, gone(&["web"], "shop"), None),
    ]);
    let global = format!("generatorOptions: {{immutable: true}}\n{text}");
    let edit = Edit::AddGenerator(ConfigMaps, entry("web", &["c=3"], ""));
    assert!(apply(&global, &edit, true).expect("edited").ends_with("  options:\n    immutable: true\n"));
    assert!(!apply(&global, &edit, false).expect("edited").contains("options:\n"));
}

#[test]
fn replicas_and_texts() {
    let replicas = |text: &str| Edit::SetReplicas(vec![ReplicaEdit::parse(text).expect("valid")]);
    check(&[
        (
            "replicas:\n- name: web # site\n  count: 1 # few\n",
            replicas("web=3"),
            Some("replicas:\n- name: web # site\n  count: 3 # few\n"),
        ),
        ("", replicas("web=+3"), Some("replicas:\n- name: web\n  count: 3\n")),
        (
            "namespace: 'a' # b\n",
            Edit::SetField(ScalarField::Namespace, "on".into()),
            Some("namespace: 'on' # b\n"),
        ),
        ("namespace: a # b\n", Edit::SetField(ScalarField::Namespace, String::new()), Some("")),
        ("", Edit::SetField(ScalarField::NameSuffix, "-v1".into()), Some("nameSuffix: -v1\n")),
    ]);
    for wrong in ["web", "web=x", "web=1=2", "web="] {
        assert!(ReplicaEdit::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn fix_replaces_deprecated_fields_in_the_order_of_kustomize() {
    let text = "patchesStrategicMerge:\n- patch.yaml # file\n- |-\n  kind: A\n  metadata: {name: a}\npatchesJson6902:\n- path: j.yaml\n\
                commonLabels:\n  a: b\n";
    let got = apply(text, &Edit::Fix { vars: false }, true).expect("fixed");
    let at = |part: &str| got.find(part).unwrap_or_else(|| panic!("no {part} in {got}"));
    assert!(
        at("path: j.yaml") < at("path: patch.yaml # file") && at("path: patch.yaml") < at("patch: |-"),
        "{got}"
    );
    assert!(got.contains("labels:\n- includeSelectors: true\n  pairs:\n    a: b\n"), "{got}");
    assert!(
        apply("commonLabels: {a: b}\nlabels: [{pairs: {a: c}}]\n", &Edit::Fix { vars: false }, true).is_err()
    );
}

#[test]
fn unknown_fields_are_kept_or_rejected() {
    let edit = Edit::SetField(ScalarField::Namespace, "a".into());
    assert_eq!(apply("own: 1 # x\n", &edit, false).as_deref(), Ok("own: 1 # x\nnamespace: a\n"));
    assert!(apply("own: 1\n", &edit, true).is_err());
    assert!(apply("namespace: 1\n", &edit, true).is_err());
    assert_eq!(apply("NAMESPACE: b\n", &edit, true).as_deref(), Ok("NAMESPACE: a\n"));
}

/// Sets images by arguments of the command line.
fn images(arguments: &[&str]) -> Edit {
    Edit::SetImages(arguments.iter().map(|text| ImageEdit::parse(text).expect("valid")).collect())
}

#[test]
fn entries_keep_comments_and_quotes() {
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
    let text = format!(
        "{head}# ours\nimages: # all\n- name: web # the site\n  # pinned\n  newTag: '1' # old\n- name: db\n"
    );
    assert_eq!(
        after(&text, &images(&["web:2"])),
        text.replace("newTag: '1' # old", "newTag: '2' # old")
            .replace("- name: db\n", "")
            .replace("images: # all\n", "images: # all\n- name: db\n")
    );
    let kept = edited(&[("kustomization.yaml", &text)], &images(&["web:2"]), false).expect("valid");
    assert_eq!(kept, text.replace("'1'", "'2'"));
}

#[test]
fn digests_take_the_comments_of_tags() {
    let text =
        "images:\n- name: web\n  # pinned\n  newTag: '1' # old\n- name: db\n  digest: sha256:1 # fixed\n";
    let want =
        "images:\n- name: web\n  # pinned\n  digest: 'sha256:2' # old\n- name: db\n  newTag: \"2\" # fixed\n";
    assert_eq!(apply(text, &images(&["web@sha256:2", "db:2"]), false).as_deref(), Ok(want));
    let marked = "images:\n- name: web\n  # pinned\n  newTag: '1' # {\"$imagepolicy\": \"a:b:tag\"}\n";
    let want = "images:\n- name: web\n  # pinned\n  digest: 'sha256:2'\n";
    assert_eq!(apply(marked, &images(&["web@sha256:2"]), true).as_deref(), Ok(want));
    let both = "images:\n- name: web\n  newTag: '1' # tag\n  digest: sha256:1 # digest\n";
    let want = "images:\n- name: web\n  digest: sha256:2 # digest\n";
    assert_eq!(apply(both, &images(&["web@sha256:2"]), false).as_deref(), Ok(want));
}

#[test]
fn stars_keep_values_and_new_images_are_added() {
    let text = "images:\n- {name: b, newName: c, newTag: '1', tagSuffix: x}\n- {name: b, newTag: '2'}\n";
    let got = after(text, &images(&["b=*:2", "a@sha256:1"]));
    assert!(got.contains("- {name: b, newName: c, newTag: '2'}\n"), "{got}");
    assert!(got.contains("digest: sha256:1"), "{got}");
    assert_eq!(got.matches("name: b").count(), 1, "{got}");
}

#[test]
fn deprecated_fields_are_replaced_with_every_edit() {
    let text = "# license\n\n# the bases\nbases: # two\n- ../a # a\nimageTags:\n- name: x\nconfigMapGenerator:\n- name: c\n  env: e.env\n\
                helmChartInflationGenerator:\n- chartName: web\n  chartHome: h\n  values: v.yaml\n";
    let want = "# license\n\n# the bases\nresources: # two\n- ../a # a\nimages:\n- name: x\nconfigMapGenerator:\n- name: c\n  envs:\n  - e.env\n\
                helmGlobals:\n  chartHome: h\nhelmCharts:\n- name: web\n  valuesFile: v.yaml\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: shop\n";
    assert_eq!(after(text, &Edit::SetField(ScalarField::Namespace, "shop".into())), want);
}

#[test]
fn comments_of_fields_that_get_another_form_stay() {
    let edit = Edit::SetField(ScalarField::Namespace, "shop".into());
    let env = "configMapGenerator:\n- name: c\n  # file\n  env: e.env # why\n";
    let want = "configMapGenerator:\n- name: c\n  # file\n  envs: # why\n  - e.env\nnamespace: shop\n";
    assert_eq!(apply(env, &edit, true).as_deref(), Ok(want));
    let both = "configMapGenerator:\n- name: c\n  env: e.env # why\n  envs:\n  - f.env\n";
    let want = "configMapGenerator:\n- name: c\n  envs:\n  - f.env\n  # why\n  - e.env\nnamespace: shop\n";
    assert_eq!(apply(both, &edit, true).as_deref(), Ok(want));

    let labels = "commonLabels: {\n  a: b, # one\n  # two\n  c: d\n}\n";
    let fixed = apply(labels, &Edit::Fix { vars: false }, true).expect("valid");
    assert!(fixed.contains("# one") && fixed.contains("# two"), "{fixed}");
    let line = "patchesStrategicMerge:\n- |-\n  {apiVersion: v1, kind: A}\n";
    let want = "patches:\n- patch: |-\n    {apiVersion: v1, kind: A}\n";
    assert_eq!(apply(line, &Edit::Fix { vars: false }, true).as_deref(), Ok(want));

    let above = after("# first\n---\n# second\n", &edit);
    assert_eq!(above, format!("# first\n---\n# second\n{HEAD}namespace: shop\n"));
}

#[test]
fn comments_move_with_the_entries_of_deprecated_fields() {
    let edit = Edit::SetField(ScalarField::NamePrefix, "a-".into());
    let table = [
        (
            "resources:\n- p.yaml\nbases:\n- ../b\n  # c\nnamespace: q\n",
            "resources:\n- p.yaml\n# c\n- ../b\nnamespace: q\nnamePrefix: a-\n",
        ),
        (
            "resources: [p.yaml]\nbases:\n- ../b # c\nnamespace: q\n",
            "resources:\n- p.yaml\n- ../b # c\nnamespace: q\nnamePrefix: a-\n",
        ),
    ];
    for (text, want) in table {
        assert_eq!(after(text, &edit), format!("{HEAD}{want}"));
    }
    let labels = "labels: [{pairs: {a: b}}]\n# c\ncommonLabels:\n  app: web\n";
    let want = "labels:\n- {pairs: {a: b}}\n# c\n- includeSelectors: true\n  pairs:\n    app: web\n";
    assert_eq!(after(labels, &Edit::Fix { vars: false }), format!("{HEAD}{want}"));
    let below = "commonLabels:\n  app: web\n  # c\nlabels:\n- pairs: {a: b}\n";
    let want = "labels:\n- pairs: {a: b}\n# c\n- includeSelectors: true\n  pairs:\n    app: web\n";
    assert_eq!(after(below, &Edit::Fix { vars: false }), format!("{HEAD}{want}"));
    // A list in brackets on several lines keeps its own comments.
    let several = after("resources: [\n  p.yaml, # keep\n  # other\n]\nbases:\n- ../b # c\n", &edit);
    assert!(several.contains("# keep") && several.contains("# other"), "{several}");
}

#[test]
fn components_get_their_own_version() {
    let edit = Edit::SetField(ScalarField::NamePrefix, "a-".into());
    assert_eq!(
        after("kind: Component\n", &edit),
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: a-\n"
    );
    assert_eq!(after("# x\n", &edit).lines().next(), Some("# x"));
    assert_eq!(
        after("resources: [a]\n", &edit),
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\nnamePrefix: a-\n"
    );
}

fn resources(patterns: &[&str]) -> Edit {
    let patterns = patterns.iter().map(ToString::to_string).collect();
    Edit::AddPaths { list: PathList::Resources, patterns, verify: true }
}

#[test]
fn patterns_are_expanded_and_known_paths_stay() {
    let text = format!("{HEAD}resources: # all\n- b.yaml # second\n");
    let files = [("kustomization.yaml", text.as_str()), ("a.yaml", ""), ("b.yaml", ""), (".c.yaml", "")];
    let got = edited(&files, &resources(&["*.yaml"]), true).expect("edited");
    assert_eq!(got, format!("{text}- a.yaml\n"));
    assert!(edited(&files, &resources(&["no.yaml"]), true).is_err());
    assert!(edited(&files, &resources(&["[a"]), true).is_err());
}

#[test]
fn the_last_entry_takes_its_field_along() {
    let patterns = vec!["*".to_string()];
    let edit = Edit::RemovePaths { list: PathList::Resources, patterns };
    assert_eq!(after("resources: [web.yaml]\n", &edit), HEAD);
    assert_eq!(after("resources: [a/web.yaml]\n", &edit), "resources: [a/web.yaml]\n", "nothing matches");
}

#[test]
fn comments_are_written_once_and_kept() {
    let set = Edit::SetField(ScalarField::Namespace, "q".into());
    let fix = Edit::Fix { vars: false };
    let gone = |name: &str| Edit::RemovePaths { list: PathList::Resources, patterns: vec![name.into()] };
    check(&[
        (
            "resources:\n- r.yaml\n# c1\n#- x\n\nbases:\n- base\n",
            set.clone(),
            Some("resources:\n- r.yaml\n- base\nnamespace: q\n# c1\n#- x\n"),
        ),
        (
            "bases:\n  - base\n  # - later\nresources:\n- r.yaml\n",
            set.clone(),
            Some("  # - later\nresources:\n- r.yaml\n- base\nnamespace: q\n"),
        ),
        (
            "commonLabels:\n  a: b\n  # tail\n\n# next\nnamespace: q\n",
            fix.clone(),
            Some("labels:\n- includeSelectors: true\n  pairs:\n    a: b\n  # tail\n\n# next\nnamespace: q\n"),
        ),
        (
            "bases: [base] # t\nresources: [r.yaml] # u\n",
            fix.clone(),
            Some("resources: # u\n- r.yaml\n# t\n- base\n"),
        ),
        (
            "bases: # about\n- base\nresources:\n- r.yaml\n",
            gone("r.yaml"),
            Some("resources:\n# about\n- base\n"),
        ),
        (
            "resources:\n    - r.yaml\n\n    # - later.yaml\nnamespace: q\n",
            gone("r.yaml"),
            Some("\n    # - later.yaml\nnamespace: q\n"),
        ),
        ("namespace: q\nbases: [] # none\n", fix, Some("namespace: q\n# none\n")),
    ]);
    assert_eq!(after("# top\n{} # c\n", &set), format!("# top\n# c\n{HEAD}namespace: q\n"));
    assert_eq!(
        after("# top\n--- # start\nresources:\n- r.yaml\n", &gone("r.yaml")),
        format!("# top\n--- # start\n{HEAD}")
    );
}
