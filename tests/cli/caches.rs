//! Caches and lock files from the command line: cache entries match what was fetched despite changes and
//! concurrent programs, and pinned references do not change.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

mod locks;
#[path = "../../crates/overlay/src/overlay/remote/tests/server.rs"]
mod server;

/// A temporary directory with repositories, overlays and a cache.
struct Home(tempfile::TempDir);

/// Output of the program and whether it succeeded.
struct Ran {
    success: bool,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn from_output(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let success = output.status.success();
        Self { success, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    fn printed(self) -> String {
        assert!(self.success, "{}", self.stderr);
        assert_eq!(self.stderr, "");
        self.stdout
    }

    #[track_caller]
    fn failed(self, expected: &str) -> String {
        assert!(!self.success && self.stdout.is_empty(), "{}", self.stdout);
        assert!(self.stderr.contains(expected), "{expected} is not in:\n{}", self.stderr);
        self.stderr
    }
}

fn map(name: &str, value: &str) -> String {
    format!(
        "\
apiVersion: v1
data:
  a: {value}
kind: ConfigMap
metadata:
  name: {name}
"
    )
}

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect(path)
    }

    fn git(&self, repository: &str, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.path(repository))
            .output()
            .expect("git");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    /// Creates a repository if necessary, writes files into it and commits them.
    fn commit(&self, repository: &str, files: &[(&str, &str)]) -> String {
        if !self.path(repository).exists() {
            fs::create_dir_all(self.path(repository)).expect("made");
            self.git(repository, &["init", "--quiet", "--initial-branch=main"]);
            self.git(repository, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        }
        for (path, text) in files {
            self.write(&format!("{repository}/{path}"), text);
        }
        self.git(repository, &["add", "."]);
        self.git(repository, &["commit", "--quiet", "--message=x"]);
        self.git(repository, &["rev-parse", "HEAD"])
    }

    /// Creates a repository with a kustomization `base` of one ConfigMap.
    fn base(&self, repository: &str, value: &str) -> String {
        let files = [
            ("base/kustomization.yaml", "resources: [map.yaml]\n"),
            ("base/map.yaml", &map(repository, value)),
        ];
        self.commit(repository, &files)
    }

    fn url(&self, repository: &str) -> String {
        format!("file://{}", self.path(repository).display())
    }

    /// Creates an overlay of remote bases.
    fn overlay(&self, directory: &str, resources: &[String]) {
        let list = resources.join("\n- ");
        self.write(
            &format!("{directory}/kustomization.yaml"),
            &format!(
                "\
resources:
- {list}
"
            ),
        );
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).env("NO_COLOR", "1");
        command.env("KUBECONFIG", "none").env("HOME", self.0.path()).env_remove("XDG_CACHE_HOME");
        command.env("KUBECTL_SMP_CACHE_DIR", self.path("cache"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from_output(self.command(arguments).output().expect("the program"))
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program")
    }

    /// Runs eight builds concurrently and returns their common output.
    #[track_caller]
    fn eight_builds(&self, arguments: &[&str]) -> String {
        let running: Vec<_> = (0..8).map(|_| self.start(arguments)).collect();
        let ran =
            running.into_iter().map(|child| Ran::from_output(child.wait_with_output().expect("an end")));
        let printed: Vec<_> = ran.map(Ran::printed).collect();
        assert!(printed.iter().all(|text| *text == printed[0]), "{printed:?}");
        printed[0].clone()
    }

    /// Path of the cache entry of a commit.
    fn entry(&self, commit: &str) -> PathBuf {
        let repositories = fs::read_dir(self.path("cache/remote/repositories")).expect("the cache");
        let entries = repositories.map(|entry| entry.expect("an entry").path().join(commit));
        entries.filter(|entry| entry.exists()).collect::<Vec<_>>().pop().expect("the entry of the commit")
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).expect(directory);
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    /// Makes the origin unreachable until the result is dropped.
    fn hide(&self, repository: &str) -> Hidden {
        let (from, to) = (self.path(repository), self.path(&format!("{repository}-hidden")));
        fs::rename(&from, &to).expect("moved");
        Hidden { from, to }
    }
}

struct Hidden {
    from: PathBuf,
    to: PathBuf,
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // The directory may already be removed.
        let _ = fs::rename(&self.to, &self.from);
    }
}

#[test]
fn concurrent_builds_share_an_empty_cache() {
    let home = Home::new();
    let served = server::Server::start(home.0.path());
    let commit = home.base("a", "1");
    home.write("file.yaml", &map("file", "2"));
    for (name, reference) in [("branch", "main"), ("fixed", commit.as_str())] {
        let bases = [format!("{}//base?ref={reference}", home.url("a")), served.url("file.yaml")];
        home.overlay(name, &bases);
        let printed = home.eight_builds(&["build", name, "--cache-dir", &format!("cache-{name}")]);
        assert_eq!(printed, format!("{}---\n{}", map("a", "\"1\"").replace("\"1\"", "1"), map("file", "2")));
        let remote = format!("cache-{name}/remote");
        assert_eq!(home.names(&remote), ["files", "repositories"], "nothing half is left");
        assert_eq!(home.names(&format!("{remote}/files")).len(), 1);
        let repositories = home.names(&format!("{remote}/repositories"));
        assert_eq!(repositories.len(), 1);
        let mut kept = home.names(&format!("{remote}/repositories/{}", repositories[0]));
        kept.retain(|name| !name.starts_with("ref-") && name != "lock");
        assert_eq!(kept, [commit.as_str()]);
        let offline = home.run(&["build", name, "--offline", "--cache-dir", &format!("cache-{name}")]);
        assert_eq!(offline.printed(), printed);
    }
}

#[test]
fn concurrent_builds_repair_a_damaged_cache() {
    let home = Home::new();
    let commit = home.base("a", "1");
    home.overlay("overlay", &[format!("{}//base?ref={commit}", home.url("a"))]);
    let want = home.run(&["build", "overlay"]).printed();
    for _ in 0..3 {
        fs::write(home.entry(&commit).join("tree/base/map.yaml"), map("evil", "9")).expect("written");
        assert_eq!(home.eight_builds(&["build", "overlay"]), want);
        assert_eq!(home.names("cache/remote"), ["repositories"]);
    }
}

#[test]
fn builds_survive_a_concurrent_cache_clear() {
    let home = Home::new();
    let commit = home.base("a", "1");
    home.overlay("overlay", &[format!("{}//base?ref={commit}", home.url("a"))]);
    let want = home.run(&["build", "overlay"]).printed();
    std::thread::scope(|scope| {
        let builds: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    (0..12).for_each(|_| assert_eq!(home.run(&["build", "overlay"]).printed(), want));
                })
            })
            .collect();
        let mut turn = 0;
        while builds.iter().any(|build| !build.is_finished()) {
            let command = ["clear", "prune", "list"][turn % 3];
            assert!(home.run(&["cache", command]).success, "{command}");
            turn += 1;
        }
    });
}

#[test]
fn modified_cache_entries_are_not_used() {
    let home = Home::new();
    let commit = home.base("a", "1");
    home.overlay("overlay", &[format!("{}//base?ref={commit}", home.url("a"))]);
    let want = home.run(&["build", "overlay"]).printed();
    home.write("elsewhere/base/kustomization.yaml", "resources: [map.yaml]\n");
    home.write("elsewhere/base/map.yaml", &map("evil", "9"));
    let tree = home.entry(&commit).join("tree");
    let changes: [(&str, &dyn Fn()); 3] = [
        ("edited", &|| fs::write(tree.join("base/map.yaml"), map("evil", "9")).expect("written")),
        ("emptied", &|| {
            fs::remove_dir_all(&tree).expect("removed");
            fs::create_dir(&tree).expect("made");
        }),
        ("replaced by a link", &|| {
            fs::remove_dir_all(&tree).expect("removed");
            symlink(home.path("elsewhere"), &tree).expect("linked");
        }),
    ];
    for (what, change) in changes {
        change();
        let error = home
            .run(&["build", "overlay", "--offline"])
            .failed("1 remote reference is not in the cache and cannot be fetched offline");
        assert!(error.contains(&format!("damaged: {}", home.url("a"))), "{what}: {error}");
        assert_eq!(home.run(&["build", "overlay"]).printed(), want, "{what}");
        assert!(!tree.is_symlink(), "{what}");
        assert_eq!(home.run(&["build", "overlay", "--offline"]).printed(), want, "{what}");
    }
    let _hidden = home.hide("a");
    fs::write(tree.join("base/map.yaml"), map("evil", "9")).expect("written");
    home.run(&["build", "overlay"]).failed("git fetch");
}

#[test]
fn response_that_decompresses_beyond_the_limit_is_rejected() {
    let home = Home::new();
    let served = server::Server::start(home.0.path());
    fs::write(home.path("bomb.gz"), server::endless_zeros(3 << 30)).expect("written");
    home.overlay("overlay", &[served.url("bomb.gz")]);
    let mut limited = Command::new("sh");
    // In KiB, and less than the 3 GiB of zeros: buffers grow by doubling, and the allocator reserves 1 GiB.
    limited.args(["-c", "ulimit -v 2600000; exec \"$0\" build overlay", env!("CARGO_BIN_EXE_kubectl-smp")]);
    limited
        .current_dir(home.0.path())
        .env("KUBECTL_SMP_CACHE_DIR", home.path("cache"))
        .env("RAYON_NUM_THREADS", "1");
    let ran = Ran::from_output(limited.stdin(Stdio::null()).output().expect("the program"));
    ran.failed("larger than 268435456 bytes");
    assert!(!home.path("cache/remote/files").exists(), "nothing of it is kept");
}

#[test]
fn cache_entries_are_listed_and_cleared() {
    let home = Home::new();
    let served = server::Server::start(home.0.path());
    let commit = home.base("a", "1");
    home.write("file.yaml", &map("file", "2"));
    let url = served.url("file.yaml").replace("http://", "http://me:secret@");
    home.overlay("overlay", &[format!("{}//base?ref=main", home.url("a")), url]);
    assert_eq!(home.run(&["cache", "path"]).printed(), format!("{}\n", home.path("cache").display()));
    assert_eq!(home.run(&["cache", "clear"]).printed(), "0 removed, 0 B\n");
    assert!(!home.path("cache").exists(), "looking makes nothing");
    home.run(&["build", "overlay"]).printed();

    let list = home.run(&["cache", "list"]).printed();
    assert!(list.contains(&format!("{} {commit}\n", home.url("a"))), "{list}");
    assert!(list.contains(&served.url("file.yaml")) && !list.contains("secret"), "{list}");
    let json = home.run(&["cache", "list", "-o", "json"]).printed();
    let entries: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&entries[0]["kind"], &entries[0]["version"]),
        (&"repository".into(), &commit.as_str().into())
    );
    assert_eq!(
        (&entries[1]["kind"], &entries[1]["source"]),
        (&"file".into(), &served.url("file.yaml").into())
    );
    assert!(entries[0]["size"].as_u64().is_some_and(|size| size > 50) && !json.contains("secret"), "{json}");

    assert_eq!(home.run(&["cache", "prune"]).printed(), "0 removed, 0 B\n");
    fs::write(home.entry(&commit).join("tree/base/map.yaml"), "edited").expect("written");
    let pruned = home.run(&["cache", "prune"]).printed();
    assert!(
        pruned.starts_with(&format!("removed repository {} {commit}\n1 removed, ", home.url("a"))),
        "{pruned}"
    );
    let month = std::time::Duration::from_secs(31 * 86_400);
    let file = home.path("cache/remote/files").join(&home.names("cache/remote/files")[0]);
    fs::File::open(file)
        .and_then(|file| file.set_modified(std::time::SystemTime::now() - month))
        .expect("older");
    assert!(home.run(&["cache", "prune"]).printed().contains("1 removed"));
    assert!(!home.path("cache/remote").exists(), "an empty cache is none");
}

#[test]
fn cache_clear_keeps_foreign_files() {
    let home = Home::new();
    home.base("a", "1");
    home.overlay("overlay", &[format!("{}//base?ref=main", home.url("a"))]);
    let foreign = [
        "mine",
        "remote/mine",
        "remote/files/mine.yaml",
        "remote/repositories/mine/x",
        "schema/documents/mine",
    ];
    for path in foreign {
        home.write(&format!("cache/{path}"), "mine");
    }
    home.write("outside/file", "mine");
    symlink(home.path("outside"), home.path("cache/remote/repositories/0123456789abcdef0123456789abcdef"))
        .expect("linked");
    home.run(&["build", "overlay"]).printed();
    assert!(home.run(&["cache", "clear"]).printed().contains("1 removed"));
    for path in foreign {
        assert_eq!(home.read(&format!("cache/{path}")), "mine");
    }
    assert_eq!(home.names("cache/remote/repositories"), ["mine"]);
    assert_eq!(home.read("outside/file"), "mine");
}

#[test]
fn corrupt_compiled_schema_is_rejected_by_name() {
    let home = Home::new();
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {group: a.b, names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}
";
    home.write("crd.yaml", crd);
    home.write("base/map.yaml", &map("a", "1"));
    home.write("plain/map.yaml", &map("a", "1"));
    home.run(&["schema", "compile", "-o", "compiled", "crd.yaml"]).printed();
    home.run(&["build", "plain", "--schema", "compiled"]).printed();
    let good = fs::read(home.path("compiled")).expect("there");
    for position in [7, 20, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[position] ^= 4;
        fs::write(home.path("compiled"), bad).expect("written");
        let error = home.run(&["build", "plain", "--schema", "compiled"]).failed("invalid compiled schema");
        assert!(error.contains("in the schema file compiled"), "{error}");
    }
}

#[test]
fn cache_directory_comes_from_flag_variable_or_default() {
    let home = Home::new();
    let path = |command: &mut Command| {
        Ran::from_output(command.output().expect("the program")).printed().trim().to_string()
    };
    let at = |path: PathBuf| path.display().to_string();
    assert_eq!(path(&mut home.command(&["cache", "path"])), at(home.path("cache")));
    let mut given = home.command(&["cache", "path", "--cache-dir", "given"]);
    assert_eq!(Path::new(&path(&mut given)).file_name(), Some("given".as_ref()));
    let mut empty = home.command(&["cache", "path"]);
    let default = path(empty.env("KUBECTL_SMP_CACHE_DIR", ""));
    assert!(default.ends_with("kubectl-smp") && Path::new(&default).starts_with(home.0.path()), "{default}");
}
