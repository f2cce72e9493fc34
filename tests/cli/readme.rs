//! The first command of the README, and the limits and environment variables that the book lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use super::book::Clone;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("the page")
}

/// The rows of the table of a page, without its heading.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let lines = page.lines().filter(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[cfg(unix)]
#[test]
fn first_readme_command_builds_both_entries_of_port_53() {
    let text = page("README.md");
    let command = text.lines().find(|line| line.starts_with("cargo run ")).expect("the first command");
    let (cargo, arguments) = command.split_once(" -- ").expect("arguments after cargo's");
    assert!(cargo.contains("--no-default-features --features cli"), "it compiles quickly: {cargo}");
    let (succeeded, printed) = Clone::new(".").run(&format!("kubectl smp {arguments}"));
    assert!(succeeded && printed.matches("port: 53").count() == 2, "{printed}");
}

/// The source files of all crates, without tests, each as `CRATE/PATH`.
fn sources() -> BTreeMap<PathBuf, String> {
    fn walk(directory: &Path, files: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("benches") {
                walk(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("tests.rs")
            {
                let text = fs::read_to_string(&path).expect("text");
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_string();
                let below = path.strip_prefix(root()).expect("below").iter();
                files.insert(below.filter(|part| *part != "crates" && *part != "src").collect(), code);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&root().join("crates"), &mut files);
    walk(&root().join("src"), &mut files);
    files.retain(|path, _| !path.components().any(|part| part.as_os_str() == "tests"));
    files
}

/// Rows of the limits table, each with the file and name of the constant that defines it.
const LIMITS: &[(&str, &str, &str)] = &[
    (
        "nested directories (bases, components, and directories under `generators`, `transformers` and `validators`)",
        "overlay/overlay/load_tree.rs",
        "MAX_NESTING",
    ),
    (
        "directories of a build; a base that two overlays of the build use counts twice",
        "overlay/overlay/build/nesting.rs",
        "MAX_DIRECTORIES",
    ),
    (
        "manifests in directories that a build uses more than once, in total, counted per use",
        "overlay/overlay/build/nesting.rs",
        "MAX_REPEATED",
    ),
    ("nested maps and lists in a document", "text/yaml/events/mod.rs", "MAX_DEPTH"),
    ("levels created by patches and replacements", "text/yaml/print_error.rs", "MAX_DEPTH"),
    ("nested inline values of a chart", "overlay/overlay/helm/values.rs", "MAX_DEPTH"),
    ("segments of a field path", "overlay/transform/value_path/parts.rs", "MAX_PARTS"),
    (
        "segments of a `path` in a transformer configuration",
        "overlay/transform/field_spec/path.rs",
        "MAX_NAMES",
    ),
    ("memory for anchors and aliases of a document", "text/yaml/parse/builder.rs", "MAX_COPIED"),
    ("memory for anchors and aliases of a document", "text/yaml/parse/builder.rs", "MAX_COPIED_FOR_BYTE"),
    (
        "text that transformers, replacements and generators write into resources, per target (see below)",
        "overlay/resource/copied.rs",
        "MAX_COPIED",
    ),
    ("copies by a JSON patch", "merge/patch/json_patch/operation.rs", "MAX_COPIED"),
    ("an input file, or standard input", "files/tree.rs", "MAX_FILE_SIZE"),
    ("output of helm, a function or git", "overlay/overlay/process.rs", "MAX_OUTPUT"),
    ("a file fetched over HTTP", "overlay/overlay/remote/http.rs", "MAX_SIZE"),
    ("a response of an API server", "cluster/request.rs", "MAX_RESPONSE"),
    ("one object of an API server", "cluster/request.rs", "MAX_OBJECT"),
    ("output of a credential plugin", "cluster/exec.rs", "MAX_OUTPUT"),
    ("length of a readiness expression", "cluster/status/ready_expression.rs", "MAX_LENGTH"),
];

/// Constants that are not user-visible limits and need no row, with the reason.
const INTERNAL_LIMITS: &[(&str, &str)] = &[
    ("server/service.rs", "MAX_BODY"),                // that of kube-apiserver
    ("inspect/check/image_reference.rs", "MAX_PATH"), // that of container runtimes
    ("inspect/check/image_reference.rs", "MAX_TAG"),  // that of container runtimes
    ("server/service.rs", "MAX_LOG"),                 // a log for tests
    ("server/verbs/patch.rs", "MAX_OPERATIONS"),      // that of kube-apiserver
    ("cli/completion/values.rs", "MAX_DIRECTORIES"),  // then the shell completes directories
    ("cli/completion/values.rs", "MAX_TARGETS"),      // then the shell completes directories
    ("overlay/edit/vars.rs", "MAX_DEPTH"),            // detects cycles
    ("cli/live.rs", "MAX_LISTED"),                    // names in a message
    ("cli/plan.rs", "MAX_DIFFERENCES"),               // notes of a message
    ("cli/watch.rs", "MAX_NAMES"),                    // names in a message
    ("preview/terminal/app.rs", "MAX_BANNER"),        // lines of an error above the output
    ("preview/terminal/app.rs", "MAX_NAMES"),         // names in a message
    ("preview/terminal/details.rs", "MAX_VALUE"),     // length of a value in the details
    ("preview/views.rs", "MAX_MATCHES"),              // listed matches; the rest is counted
    ("preview/web/mod.rs", "MAX_CONNECTIONS"),        // others wait
    ("preview/web/mod.rs", "MAX_PENDING"),            // a slow page gets all targets again
    ("preview/web/routes.rs", "MAX_BODY"),            // requests of the page are shorter
    ("preview/web/routes.rs", "MAX_MESSAGE"),         // characters of the error of an invalid request
    ("validate/cel_worker.rs", "MAX_ABANDONED"),      // then expressions on workers exceed their time limit
    ("cli/progress.rs", "MAX_LINES"),                 // lines of progress; the rest is counted
    ("cluster/applyset/history/content.rs", "MAX_CONTENT"), // size of what this program wrote
    ("cluster/applyset/prune_limit.rs", "MAX_LISTED"), // names in a message
    ("cluster/contents.rs", "MAX_NAMED"),             // names in a message
    ("cluster/errors.rs", "MAX_CHAIN"),               // detects cycles
    ("cluster/errors.rs", "MAX_EXCERPT"),             // length of an excerpt
    ("cluster/listing.rs", "MAX_LISTED_RATIO"),       // selects the cheaper request
    ("cluster/plan.rs", "MAX_ANNOTATIONS"),           // limit of the API server
    ("cluster/watch/stream.rs", "MAX_DURATION"),      // watches are reopened
    ("cluster/ready/logs.rs", "MAX_LOGS"),            // notes of a message
    ("cluster/ready/logs.rs", "MAX_LOG_BYTES"),       // notes of a message
    ("cluster/ready/logs.rs", "MAX_LOG_LINES"),       // notes of a message
    ("merge/defaults/quantity.rs", "MAX_BINARY"),     // same limit as the API server
    ("merge/defaults/quantity.rs", "MAX_EXPONENT"),   // larger values do not fit
    ("files/git.rs", "MAX_LINKS"),                    // same limit as the system
    ("files/memory.rs", "MAX_LINKS"),                 // same limit as the system
    ("files/read_set.rs", "MAX_LINKS"),               // same limit as the system
    ("files/store/prune.rs", "MAX_TIME_TO_LOCK"),     // age of removed cache entries
    ("files/store/prune.rs", "MAX_UNLOCKED_AGE"),     // age of removed cache entries
    ("files/store/prune.rs", "MAX_UNUSED_AGE"),       // age of removed cache entries
    ("files/write/resolve.rs", "MAX_LINKS"),          // same limit as the system
    ("inspect/check/dangers/wider_role.rs", "MAX_LISTED"), // names in a message
    ("inspect/review/forms/lines.rs", "MAX_VALUE"),   // length of a value in a report
    ("inspect/review/forms/markdown.rs", "MAX_BLOCK"), // length of a block; another one follows
    ("inspect/review/forms/markdown.rs", "MAX_COMMENT"), // limit of GitHub
    ("merge/defaults/mod.rs", "MAX_DEPTH"),           // deeper values are rejected when they are read
    ("server/controllers.rs", "MAX_ROUNDS"),          // detects cycles
    ("server/metadata.rs", "MAX_PREFIX"),             // limit of the API server
    ("server/store.rs", "MAX_HISTORY"),               // older changes are compacted
    ("inspect/explain/tree_text.rs", "MAX_ALIGNED_WIDTH"), // layout
    ("inspect/review/forms/markdown.rs", "MAX_NAME"), // shown characters
    ("overlay/overlay/unaffected.rs", "MAX_PATH"),    // length of a text that may be a path
    ("server/controllers/mod.rs", "MAX_STEPS"),       // steps of stand-ins in a request of a test
    ("validate/walk.rs", "MAX_LISTED_FIELDS"),        // names in a help
    ("validate/walk.rs", "MAX_VIOLATIONS_WITH_LOCATION"), // findings with a location in their text
    ("validate/rules/definition_path.rs", "MAX_SELECTABLE_FIELDS"), // that of kube-apiserver
    ("inspect/check/quoting.rs", "MAX_SEARCHED_BYTES"), // length of a text that is searched
    ("merge/merge/kyaml/tuples.rs", "MAX_KEYS"),      // further keys are ignored
    ("merge/merge/unmatched_deletions.rs", "MAX_NAMES"), // names that are compared for a suggestion
    ("merge/schema/write.rs", "MAX_REFERENCES"),      // detects cycles
    ("overlay/overlay/build/nesting.rs", "MAX_SHALLOW_LEVELS"), // selects the thread
    ("merge/managed_fields/apply.rs", "MAX_UPDATE_MANAGERS"), // limit of the API server
    ("merge/managed_fields/last_applied.rs", "MAX_ANNOTATIONS_SIZE"), // limit of the API server
    ("overlay/overlay/function.rs", "MAX_VARIABLE"),  // limit of the system
    ("overlay/overlay/kustomization.rs", "MAX_PROBLEMS"), // errors in one message
    ("overlay/overlay/nearby.rs", "MAX_DEPTH"),       // search for a suggestion
    ("overlay/overlay/nearby.rs", "MAX_FILES"),       // search for a suggestion
    ("overlay/overlay/nearby.rs", "MAX_PARENTS"),     // search for a suggestion
    ("overlay/overlay/nearby.rs", "MAX_SHOWN"),       // names in a message
    ("overlay/overlay/remote/cache.rs", "MAX_FILE_BYTES"), // size of the cache, oldest files are removed
    ("overlay/package/manifest.rs", "MAX_COMPARED"),  // manifests compared by similarity
    ("overlay/package/selection.rs", "MAX_LISTED"),   // names in a message
    ("overlay/resource/similar.rs", "MAX_COMPARE_ALL"), // names compared for a suggestion
    ("overlay/transform/config/crds.rs", "MAX_DEPTH"), // detects cycles, reported as such
    ("testing/generate.rs", "MAX_DEPTH"),             // generates random objects
    ("text/gocompat/regexp.rs", "MAX_REPEAT"),        // limit of Go
    ("text/source/secret_values.rs", "MAX_SHOWN_LENGTH"), // length of values that are not masked
    ("text/yaml/emit/text.rs", "MAX_SIMPLE_KEY"),     // limit of YAML
    ("text/yaml/events/fast/block.rs", "MAX_LEVELS"), // others go to the parser
    ("text/yaml/events/fast/scalar.rs", "MAX_KEY"),   // others go to the parser
    ("text/yaml/events/mod.rs", "MAX_ATTEMPTS"),      // a different algorithm follows
    ("text/yaml/events/padding.rs", "MAX_WORK_FACTOR"), // a different algorithm follows
    ("text/yaml/node.rs", "MAX_LINEAR_SEARCH"),       // selects the algorithm
    ("text/yaml/positions.rs", "MAX_LINEAR_SEARCH"),  // selects the algorithm
];

/// Returns the `MAX_...` constants by file and name, with their values.
fn constants(files: &BTreeMap<PathBuf, String>) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for (path, text) in files {
        for line in text.lines() {
            let Some((_, behind)) = line.split_once("const MAX_") else { continue };
            let Some((name, value)) = behind.split_once(" = ") else { continue };
            let name = format!("MAX_{}", name.split(':').next().unwrap_or(name));
            found.insert((path.display().to_string(), name), value.trim_end_matches(';').to_string());
        }
    }
    found
}

/// Formats `256 << 20` as `256 MiB` and `2_500` as `2,500`.
fn in_words(value: &str) -> String {
    match value.split_once(" << ") {
        Some((number, "20")) => format!("{number} MiB"),
        Some((number, "30")) => format!("{number} GiB"),
        _ => value.replace('_', ","),
    }
}

#[test]
fn limits_page_matches_the_code() {
    let text = page("book/reference/limits.md");
    let rows = rows(&text);
    let constants = constants(&sources());
    for (what, file, name) in LIMITS {
        let value = constants.get(&((*file).to_string(), (*name).to_string()));
        let value = in_words(value.unwrap_or_else(|| panic!("there is no {name} in {file}")));
        let row = rows.iter().find(|row| row[0] == *what).unwrap_or_else(|| panic!("no row: {what}"));
        assert!(
            format!(" {} ", row[1].replace(", ", " ")).contains(&format!(" {value} ")),
            "{row:?}, not {value}"
        );
    }
    let named: BTreeSet<_> = LIMITS.iter().map(|(what, ..)| *what).collect();
    let listed: BTreeSet<_> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(listed, named);
    let known = LIMITS.iter().map(|(_, file, name)| (*file, *name)).chain(INTERNAL_LIMITS.iter().copied());
    let known: BTreeSet<_> = known.map(|(file, name)| (file.to_string(), name.to_string())).collect();
    let unknown: Vec<_> = constants.keys().filter(|constant| !known.contains(*constant)).collect();
    assert!(unknown.is_empty(), "limits that the book does not list: {unknown:?}");
}

#[test]
fn limit_constants_are_parsed_and_formatted() {
    assert_eq!([in_words("2_500"), in_words("1 << 30"), in_words("64")], ["2,500", "1 GiB", "64"]);
    let files = BTreeMap::from([(
        "a.rs".into(),
        "\
/// x
pub(super) const MAX_A: u64 = 3 << 20;
"
        .into(),
    )]);
    let want = BTreeMap::from([(("a.rs".to_string(), "MAX_A".to_string()), "3 << 20".to_string())]);
    assert_eq!(constants(&files), want);
}

/// The variables of the environment that the code asks for.
fn variables(text: &str) -> BTreeSet<&str> {
    const READ_CALLS: [&str; 11] = [
        "var(\"",
        "var_os(\"",
        "env = \"",
        "is_set(\"",
        "given(\"",
        "variable(\"",
        "variable_path(\"",
        "read(\"",
        "secure { \"",
        "windows) { \"",
        "else { \"",
    ];
    let is_name = |name: &&str| name.len() > 3 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let lists = text.split('"').skip(1).step_by(2).filter(|name| name.starts_with("SSL_CERT_"));
    let used = READ_CALLS
        .iter()
        .flat_map(|call| text.split(call).skip(1))
        .filter_map(|behind| behind.split('"').next());
    used.chain(lists).filter(is_name).collect()
}

#[test]
fn environment_page_matches_the_code() {
    let text = page("book/reference/environment.md");
    let rows = rows(&text);
    let listed: BTreeSet<_> = rows.iter().flat_map(|row| row[0].split('`').skip(1).step_by(2)).collect();
    let sources = sources();
    let used: BTreeSet<_> = sources.values().flat_map(|text| variables(text)).collect();
    assert!(used.contains("KUBECONFIG") && used.contains("NO_PROXY"), "{used:?}");
    let missing: Vec<_> = used.difference(&listed).collect();
    assert!(missing.is_empty(), "variables that the book does not list: {missing:?}");
    // Variables that only libraries read.
    let others = BTreeSet::from(["XDG_CACHE_HOME"]);
    let unused: Vec<_> =
        listed.iter().filter(|name| !used.contains(**name) && !others.contains(**name)).collect();
    assert!(unused.is_empty(), "variables that the code does not read: {unused:?}");
}
