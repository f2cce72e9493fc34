//! Directories replaced by symlinks while a build reads them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use smp_overlay::overlay::{BuildOptions, Builder, ChainPurpose, LockSource, Targets};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::diagnostic::Diagnostic;
use smp_text::source::SourceMap;
use smp_text::yaml;

use super::{SECRET, Workspace, map};

/// Kustomizations that read a file through the exchanged directory, one for each way to read a file.
const FORMS: [(&str, &str); 4] = [
    ("resource", "resources: [d/secret.yaml]\n"),
    (
        "patch",
        "\
resources: [a.yaml]
patches: [{path: d/secret.yaml, target: {kind: ConfigMap}}]
",
    ),
    ("generator", "configMapGenerator: [{name: a, files: [d/secret.yaml]}]\n"),
    ("plain", ""),
];

fn builder(sources: &SourceMap) -> Builder {
    let mut options = BuildOptions::default();
    (options.lock, options.offline) = (LockSource::Ignore, true);
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Embedded,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    Builder::with_chain(sources.clone(), options, Box::new(chain), Targets::One).expect("a builder")
}

/// Returns the output of a build, or its complete error including excerpts.
fn outcome(builder: &Builder, target: &Path, sources: &SourceMap) -> Result<String, String> {
    let diagnostics = |problem: Diagnostic| {
        let texts = problem.labels().iter().filter_map(|label| sources.get(label.span.source));
        texts.fold(format!("{problem:?}"), |diagnostics, source| diagnostics + "\n" + source.text())
    };
    let built = builder.build(target).map_err(diagnostics)?;
    yaml::to_documents(built.resources.iter().map(Resource::node)).map_err(|problem| problem.to_string())
}

/// Number of builds, from `SMP_TEST_RACES`.
fn races() -> usize {
    std::env::var("SMP_TEST_RACES").ok().and_then(|count| count.parse().ok()).unwrap_or(800)
}

/// Exchanges two paths until stopped.
fn exchange(one: &Path, other: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("exchanged");
        // Long enough for a build to open the directory, short enough to exchange it during the next build.
        std::hint::spin_loop();
        std::thread::yield_now();
    }
}

#[test]
fn exchanging_directories_during_a_build_leaks_nothing() {
    let (mut built, mut rejected, mut leaked) = (0, 0, 0);
    for (form, kustomization) in FORMS {
        let workspace = Workspace::new(&[
            ("app/d/secret.yaml", &map("inside")),
            ("app/a.yaml", &map("a")),
            ("base/a.yaml", &map("a")),
        ]);
        workspace.link("app/.e", "../out");
        if !kustomization.is_empty() {
            workspace.write("app/kustomization.yaml", kustomization);
        }
        let (stop, sources) = (AtomicBool::new(false), SourceMap::default());
        let builder = builder(&sources);
        let (one, other) = (workspace.at("app/d"), workspace.at("app/.e"));
        let before = (built, rejected);
        std::thread::scope(|scope| {
            scope.spawn(|| exchange(&one, &other, &stop));
            for _ in 0..races() / FORMS.len() {
                match outcome(&builder, &workspace.at("app"), &sources) {
                    Ok(text) if text.contains(SECRET) => leaked += 1,
                    Ok(_) => built += 1,
                    Err(text) if text.contains(&format!("name: {SECRET}")) => leaked += 1,
                    Err(_) => rejected += 1,
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(built > before.0 && rejected > before.1, "{form}: nothing was exchanged in time");
    }
    assert_eq!(leaked, 0, "of {}; {rejected} were refused", built + rejected + leaked);
}
