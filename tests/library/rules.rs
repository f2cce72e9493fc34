//! The rules of `check`: examples produce their findings, and rule pages match the registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use smp_files::MemoryTree;
use smp_inspect::check::{
    Baselines, CheckConfig, CheckedTarget, Conclusion, ExampleFiles, Finder, LocalFiles, RULES, Rule,
    RuleDefault, RuleGroup, RuleSelection, SuppressionTrust, check_target,
};
use smp_inspect::review::{BuiltSide, CompareOptions, compare_builds};
use smp_overlay::overlay::{BuildOptions, Builder, Histories};
use smp_text::diagnostic::{Code, MessageFormat, MessageRenderer};
use smp_validate::ValidateOptions;

/// The codes of the findings in an example, with all rules enabled.
fn codes_of(example: ExampleFiles) -> Vec<&'static str> {
    let files = example.into_iter().map(|(path, text)| (format!("app/{path}"), text.into_bytes()));
    let tree = Arc::new(MemoryTree::new(files).expect("files"));
    let mut options = BuildOptions::default().tree(tree.clone());
    options.histories = Histories::Enabled;
    let builder = Builder::new(options).expect("a builder");
    let target = Path::new("app");
    let built = match builder.build(target) {
        Ok(built) => built,
        Err(problem) => return vec![problem.code().name()],
    };
    let schema = builder.schema_for(target, &built.resources).expect("types").value;
    let (sources, config) = (builder.sources(), Arc::new(CheckConfig::default()));
    let checked = CheckedTarget::new(target, &built, &schema, sources, &config.external);
    let selection = RuleSelection::new(["all"], []).expect("a selection");
    let findings = check_target(&checked, &selection, &ValidateOptions::default(), Arc::clone(&config));
    let renderer = MessageRenderer::new(sources, MessageFormat::Short);
    let files = LocalFiles { tree: &*tree, fetched: None };
    let suppressions = SuppressionTrust::All;
    let (selection, renderer, texts) = (&selection, &renderer, &*sources.top_level_texts());
    let conclusion = Conclusion { sources, selection, renderer, files, suppressions, texts };
    let report = conclusion.report(vec![findings], Baselines::default());
    let mut codes: Vec<&str> = report.findings.iter().map(|finding| finding.code().name()).collect();
    // `vars` are deprecated; every example about them has that finding.
    codes.retain(|code| *code != Code::DeprecatedField.name());
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The codes of the dangers of an example, and the lines that they name.
fn dangers_of(example: ExampleFiles) -> Vec<(&'static str, Option<usize>)> {
    let tree =
        MemoryTree::new(example.into_iter().map(|(path, text)| (path, text.into_bytes()))).expect("files");
    let mut options = BuildOptions::default().tree(Arc::new(tree));
    options.histories = Histories::Enabled;
    let builder = Builder::new(options).expect("a builder");
    let build = |path: &str| {
        let built = builder.manifests(Path::new(path)).expect("built").expect("manifests");
        let schema = builder.schema_for(Path::new(path), &built.resources).expect("types").value;
        (built, schema)
    };
    let (old, new) = (build("before.yaml"), build("after.yaml"));
    let [old, new] = [&old, &new].map(|(built, schema)| Some(BuiltSide { built, schema }));
    let changes = compare_builds(old, new, &CompareOptions::default());
    let renderer = MessageRenderer::new(builder.sources(), MessageFormat::Short);
    let found = changes.objects.iter().flat_map(|object| &object.dangers).map(|danger| {
        let at = danger.finding.labels().first().and_then(|label| renderer.location(label.span));
        (danger.finding.code().name(), at.map(|at| at.line))
    });
    found.collect()
}

#[test]
fn danger_examples_are_found_with_their_line() {
    let mut wrong = Vec::new();
    for rule in RULES.iter().filter(|rule| matches!(rule.finder, Finder::Change(_))) {
        let (bad, good) = (dangers_of(rule.bad_example()), dangers_of(rule.good_example()));
        let is_found = matches!(bad.as_slice(), [(code, Some(_))] if *code == rule.code.name());
        if !is_found || !good.is_empty() {
            wrong.push((rule.code.name(), bad, good));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rule_examples_produce_their_findings() {
    let is_checked = |rule: &&&Rule| !rule.is_about_changes();
    let rules = RULES.iter().filter(is_checked);
    for rule in rules.filter(|rule| cfg!(feature = "cel") || rule.code.name() != "cel") {
        assert_eq!(codes_of(rule.bad_example()), [rule.code.name()], "the wrong example of {}", rule.code);
        assert_eq!(codes_of(rule.good_example()), [""; 0], "the right example of {}", rule.code);
    }
}

#[test]
fn rule_codes_are_unique() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.code.name()).collect();
    let others = Code::ALL.iter().filter(|code| RULES.iter().all(|rule| rule.code != **code));
    names.extend(others.map(|code| code.name()));
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn validation_rule_pages_share_no_sentences() {
    let mut sentences = BTreeMap::new();
    for rule in RULES.iter().filter(|rule| rule.group == RuleGroup::RejectedByServer) {
        let page = rule.page();
        let texts = page.lines().filter(|line| line.contains(". ") || line.ends_with('.'));
        for sentence in
            texts.flat_map(|line| line.split_inclusive(". ")).filter(|s| !s.starts_with("See the "))
        {
            let other = sentences.insert(sentence.trim().to_string(), rule.code.name());
            assert!(
                other.is_none_or(|other| other == rule.code.name()),
                "{sentence} {other:?} {}",
                rule.code
            );
        }
    }
}

fn contents() -> String {
    let mut page = "\
# Rules

The rules of `kubectl smp check`, and those of `kubectl smp diff` about dangerous changes. `kubectl smp check --explain CODE` shows
these pages.
"
    .to_string();
    for group in RuleGroup::ALL {
        page.extend(["\n## ", group.title(), "\n\n"]);
        if group == RuleGroup::RejectedByServer {
            page.push_str(
                "The API server rejects these objects, some only with strict field validation. `deprecated-api` only \
                 warns: a later release may remove the API version. A finding in a base is reported only if all targets that use the base have it.\n\n",
            );
        }
        page.push_str("| code | severity | |\n|---|---|---|\n");
        for rule in RULES.iter().filter(|rule| rule.group == group) {
            page.push_str(&line(rule));
        }
    }
    page
}

fn line(rule: &Rule) -> String {
    let code = rule.code.name();
    let default = match rule.default {
        RuleDefault::Enabled => "",
        RuleDefault::Disabled => " (disabled by default)",
    };
    format!("| [{code}](rules/{code}.md) | {} | {}{default} |\n", rule.severity.name(), rule.title())
}

#[test]
fn rule_pages_match_the_registry() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("book");
    let mut pages = vec![(book.join("rules.md"), contents())];
    pages.extend(RULES.iter().map(|rule| (book.join(format!("rules/{}.md", rule.code)), rule.page())));
    if std::env::var_os("SMP_WRITE_PAGES").is_some() {
        // Removes pages of deleted rules.
        let _ = fs::remove_dir_all(book.join("rules"));
        fs::create_dir_all(book.join("rules")).expect("made");
        for (path, page) in &pages {
            fs::write(path, page).expect("written");
        }
    }
    for (path, page) in &pages {
        let written = fs::read_to_string(path).unwrap_or_default();
        assert!(written == *page, "write the pages anew: SMP_WRITE_PAGES=1 cargo test --test library rules");
    }
    let written = fs::read_dir(book.join("rules")).expect("pages").count();
    assert_eq!(written, RULES.len(), "a page for each rule");
}
