//! Properties of lossless merges of two and three versions, for any versions.
//!
//! 5,000 random cases for each property, or `SMP_TEST_LAWS` (with `SMP_TEST_LAWS_SEED` as first seed). If
//! `SMP_TEST_REALWORLD` names a directory, its real manifests are tested, too, with `SMP_TEST_PAIRS` (100) random
//! triples of each kind.

#![allow(clippy::print_stderr, reason = "tests say which seeds they used, and what they left out")]

mod check;
mod real;

use check::{Verdict, check_laws, read};
use kubectl_smp_testing::generate::{Dice, EntryUniqueness, Generator, Options};
use kubectl_smp_testing::seeds;
use rayon::prelude::*;
use smp_merge::schema::Schema;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, write_documents_in_source_style};

/// Tests three versions of an object for many seeds.
fn check(options: Options) {
    let schema = Schema::embedded();
    let broken = seeds::seeds("SMP_TEST_LAWS", 5_000).into_par_iter().find_map_any(|seed| {
        let mut generator = Generator::new(Dice::new(seed), &schema, options);
        versions(&mut generator, &schema).err().map(|error| format!("seed {seed}: {error}"))
    });
    if let Some(broken) = broken {
        panic!("{broken}");
    }
}

fn versions(generator: &mut Generator<'_>, schema: &Schema) -> Verdict {
    let original = generator.object();
    let (mut updated, dest) = (generator.changed(&original), generator.changed(&original));
    if generator.dice.one_in(8) {
        // Directives of patches are fields like any other. A value that is no longer an object of a kind has no
        // schema.
        generator.add_patch_directives(&mut updated);
        for name in ["apiVersion", "kind"] {
            if let (Some(map), Some(value)) = (updated.as_map_mut(), dest.get(name)) {
                map.insert(name, value.clone());
            }
        }
    }
    let original = if generator.dice.one_in(8) { generator.object() } else { original };
    // The versions are parsed from texts, so that their values have locations.
    let sources = SourceMap::default();
    let written = |node: &Node| read(&sources, &write_documents_in_source_style(std::slice::from_ref(node)));
    check_laws([&written(&original)?, &written(&updated)?, &written(&dest)?], schema)
}

#[test]
fn random_versions_satisfy_the_laws() {
    check(Options { distinct: EntryUniqueness::AllKeys, wrong_values: false });
}

#[test]
fn random_versions_with_few_equal_entries_satisfy_the_laws() {
    check(Options { distinct: EntryUniqueness::MergeKey, wrong_values: false });
}

#[test]
fn random_versions_with_equal_keys_and_wrong_types_satisfy_the_laws() {
    check(Options { distinct: EntryUniqueness::Any, wrong_values: true });
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn real_manifests_merged_with_themselves_keep_their_bytes() {
    let files = real::files();
    let counts = real::merged_with_themselves(&files);
    eprintln!("{counts:?}");
    assert!(counts.broken.is_empty(), "{} of {}: {:#?}", counts.broken.len(), files.len(), counts.broken);
    assert!(counts.same > 10 * counts.unread.len(), "too many: {:#?}", counts.unread);
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn real_manifests_of_a_kind_satisfy_the_laws_as_versions() {
    let schema = Schema::embedded();
    let kinds = real::manifests_by_kind(&real::files());
    let seeds = seeds::seeds("SMP_TEST_PAIRS", 100);
    let broken = kinds.par_iter().find_map_any(|(kind, manifests)| {
        seeds.iter().find_map(|seed| {
            let mut dice = Dice::new(*seed);
            let versions = [(); 3].map(|()| &manifests[dice.below(manifests.len())]);
            let broken = check_laws(versions, &schema).err();
            broken.map(|error| format!("{kind:?}, seed {seed}: {error}"))
        })
    });
    assert_eq!(broken, None);
    assert!(kinds.len() > 50, "only {} kinds", kinds.len());
}
