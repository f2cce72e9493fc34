//! `merge3 --git-driver` as git runs it: merges, rebases and cherry-picks in real repositories.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const WEB: &str = "# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:1
        ports:
        - containerPort: 80
";

/// A repository configured to merge YAML with the driver.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new(files: &[(&str, &str)]) -> Self {
        let repository = Self(tempfile::tempdir().expect("a directory"));
        let program = env!("CARGO_BIN_EXE_kubectl-smp");
        let driver = format!("'{program}' merge3 --git-driver %O %A %B %P");
        repository.git(&["init", "-q", "-b", "main"]);
        for (name, value) in [
            ("user.name", "T"),
            ("user.email", "t@example.com"),
            ("commit.gpgsign", "false"),
            ("merge.smp.name", "merge manifests"),
            ("merge.smp.driver", &driver),
        ] {
            repository.git(&["config", name, value]);
        }
        repository.commit(
            &[
                &[(
                    ".gitattributes",
                    "\
*.yaml merge=smp
*.json merge=smp
",
                )],
                files,
            ]
            .concat(),
        );
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.current_dir(self.path()).args(args).env("KUBECONFIG", "none").env("NO_COLOR", "1");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_EDITOR", "true");
        git.output().expect("git runs")
    }

    fn git(&self, args: &[&str]) {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    fn commit(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(self.path().join(name), text).expect("written");
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "change"]);
    }

    /// Commits `ours` on main, and `theirs` on a branch from the same commit.
    fn diverge(&self, ours: &[(&str, &str)], theirs: &[(&str, &str)]) {
        self.git(&["checkout", "-q", "-b", "theirs"]);
        self.commit(theirs);
        self.git(&["checkout", "-q", "main"]);
        self.commit(ours);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("there")
    }
}

/// Adjacent changes, which git alone cannot merge.
fn sides() -> (String, String, String) {
    let ours = WEB.replace("replicas: 1", "replicas: 1\n  paused: true").replace(
        "- containerPort: 80\n",
        "\
- containerPort: 80
        - containerPort: 443
",
    );
    let theirs = WEB.replace("replicas: 1", "replicas: 1\n  minReadySeconds: 5").replace(
        "- containerPort: 80\n",
        "\
- containerPort: 80
        - containerPort: 8080
",
    );
    let both = WEB
        .replace(
            "replicas: 1",
            "\
replicas: 1
  paused: true
  minReadySeconds: 5",
        )
        .replace(
            "- containerPort: 80\n",
            "\
- containerPort: 80
        - containerPort: 443
        - containerPort: 8080
",
        );
    (ours, theirs, both)
}

/// Sorts the lines of a text, as the order of lines added on both sides is not tested here.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn merges_rebases_and_cherry_picks_combine_adjacent_changes() {
    let (ours, theirs, both) = sides();
    for command in [&["merge", "theirs", "-m", "m"][..], &["rebase", "theirs"], &["cherry-pick", "theirs"]] {
        let repository = Repository::new(&[("web.yaml", WEB)]);
        repository.diverge(&[("web.yaml", &ours)], &[("web.yaml", &theirs)]);
        repository.git(command);
        assert_eq!(sorted(&repository.read("web.yaml")), sorted(&both), "{command:?}");
        let status = repository.run(&["status", "--porcelain"]);
        assert!(status.stdout.is_empty(), "{status:?}");
    }
}

#[test]
fn git_without_the_driver_reports_a_conflict() {
    let (ours, theirs, _) = sides();
    let repository = Repository::new(&[("web.yaml", WEB), (".gitattributes", "")]);
    repository.diverge(&[("web.yaml", &ours)], &[("web.yaml", &theirs)]);
    assert_eq!(repository.run(&["merge", "theirs"]).status.code(), Some(1), "the test would show nothing");
}

#[test]
fn only_conflicting_fields_get_conflict_markers() {
    let ours = WEB.replace("replicas: 1", "replicas: 5").replace("web:1", "web:2");
    let theirs = WEB.replace("replicas: 1", "replicas: 3");
    let marked = WEB.replace("web:1", "web:2").replace(
        "  replicas: 1\n",
        "\
<<<<<<< ours
  replicas: 5
||||||| base
  replicas: 1
=======
  replicas: 3
>>>>>>> theirs
",
    );
    for command in ["merge", "cherry-pick"] {
        let repository = Repository::new(&[("web.yaml", WEB)]);
        repository.diverge(&[("web.yaml", &ours)], &[("web.yaml", &theirs)]);
        let output = repository.run(&[command, "theirs"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(repository.read("web.yaml"), marked, "{command}");
        let unmerged = repository.run(&["diff", "--name-only", "--diff-filter=U"]);
        assert_eq!(unmerged.stdout, b"web.yaml\n");
        repository.git(&[command, "--abort"]);
        assert_eq!(repository.read("web.yaml"), ours);
    }
    // A rebase swaps the sides.
    let repository = Repository::new(&[("web.yaml", WEB)]);
    repository.diverge(&[("web.yaml", &ours)], &[("web.yaml", &theirs)]);
    assert_eq!(repository.run(&["rebase", "theirs"]).status.code(), Some(1));
    let text = repository.read("web.yaml");
    insta::assert_snapshot!(text, @r"
    # the shop
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
    <<<<<<< ours
      replicas: 3
    ||||||| base
      replicas: 1
    =======
      replicas: 5
    >>>>>>> theirs
      template:
        spec:
          containers:
          - name: web
            image: web:2
            ports:
            - containerPort: 80
    ");
    fs::write(repository.path().join("web.yaml"), &ours).expect("written");
    repository.git(&["add", "web.yaml"]);
    repository.git(&["rebase", "--continue"]);
}

#[test]
fn files_that_are_not_manifests_are_merged_by_lines() {
    let template = "\
kind: Pod
name: {{ .Values.name }}
a: 1
b: 2
c: 3
d: 4
";
    let values = "\
a: 1
b: 2
c: 3
d: 4
";
    let doubles = format!("{WEB}---\n{WEB}");
    for (name, text) in [("t.yaml", template), ("values.yaml", values), ("twice.yaml", &doubles)] {
        let (first, last) = if name == "twice.yaml" { ("# the shop", "80\n---") } else { ("a: 1", "d: 4") };
        let repository = Repository::new(&[(name, text)]);
        let (ours, theirs) = (text.replacen(first, "# changed", 1), text.replacen(last, "90\n---", 1));
        repository.diverge(&[(name, &ours)], &[(name, &theirs)]);
        repository.git(&["merge", "theirs", "-m", "m"]);
        assert_eq!(repository.read(name), ours.replacen(last, "90\n---", 1), "{name}");
    }
    let repository = Repository::new(&[("t.yaml", template)]);
    repository.diverge(
        &[("t.yaml", &template.replace("b: 2", "b: 3"))],
        &[("t.yaml", &template.replace("b: 2", "b: 4"))],
    );
    assert_eq!(repository.run(&["merge", "theirs"]).status.code(), Some(1));
    let marked = "\
<<<<<<< ours
b: 3
||||||| base
b: 2
=======
b: 4
>>>>>>> theirs
";
    assert_eq!(repository.read("t.yaml"), template.replace("b: 2\n", marked));
}

#[test]
fn files_added_on_both_sides_are_merged_with_an_empty_base() {
    let repository = Repository::new(&[("x.yaml", "a: 1\n")]);
    let theirs = WEB.replace("web:1", "web:2");
    repository.diverge(&[("web.yaml", WEB)], &[("web.yaml", &theirs)]);
    assert_eq!(repository.run(&["merge", "theirs"]).status.code(), Some(1));
    let text = repository.read("web.yaml");
    insta::assert_snapshot!(text, @r"
    # the shop
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      replicas: 1
      template:
        spec:
          containers:
          - name: web
    <<<<<<< ours
            image: web:1
    ||||||| base
    =======
            image: web:2
    >>>>>>> theirs
            ports:
            - containerPort: 80
    ");
}

/// Runs the driver without git and returns the exit status and the merged file.
fn driver(files: [&[u8]; 3], path: &str) -> (Option<i32>, Vec<u8>) {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, content) in ["o", "a", "b"].iter().zip(files) {
        fs::write(directory.path().join(name), content).expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"))
        .current_dir(directory.path())
        .args(["merge3", "--git-driver", "o", "a", "b", path])
        .env("KUBECONFIG", "none")
        .output()
        .expect("run");
    (output.status.code(), fs::read(directory.path().join("a")).expect("there"))
}

#[test]
fn file_extension_selects_the_merge_and_status_reports_conflicts() {
    let ours = WEB.replace("replicas: 1", "replicas: 1\n  paused: true");
    let theirs = WEB.replace("replicas: 1", "replicas: 1\n  minReadySeconds: 5");
    let sides = [WEB.as_bytes(), ours.as_bytes(), theirs.as_bytes()];
    assert_eq!(driver(sides, "dir/web.yaml").0, Some(0));
    let (status, text) = driver(sides, "web.txt");
    assert_eq!(status, Some(1));
    insta::assert_snapshot!(String::from_utf8(text).expect("text"), @r"
    # the shop
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      replicas: 1
    <<<<<<< ours
      paused: true
    ||||||| base
    =======
      minReadySeconds: 5
    >>>>>>> theirs
      template:
        spec:
          containers:
          - name: web
            image: web:1
            ports:
            - containerPort: 80
    ");
    let binary: [&[u8]; 3] = [b"\0a", b"\0b", b"\0c"];
    assert_eq!(driver(binary, "web.yaml"), (Some(1), b"\0b".to_vec()), "ours stays");
    assert_eq!(driver([b"\0a", b"\0a", b"\0c"], "x"), (Some(0), b"\0c".to_vec()));
}

/// `/proc` is not writable, not even by root.
#[cfg(target_os = "linux")]
#[test]
fn write_errors_are_reported_to_git() {
    let directory = tempfile::tempdir().expect("a directory");
    let (o, b) = (directory.path().join("o"), directory.path().join("b"));
    fs::write(&o, "a\n").and_then(|()| fs::write(&b, "b\n")).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
    command.args(["merge3", "--git-driver"]).args([o.as_path(), Path::new("/proc/version"), &b]).arg("x.txt");
    let output = command.output().expect("run");
    assert_eq!(output.status.code(), Some(129), "{output:?}");
}

#[test]
fn secrets_are_not_printed_in_conflicts() {
    let secret = |value: &str| {
        format!(
            "\
apiVersion: v1
kind: Secret
metadata: {{name: s}}
stringData:
  p: {value}
"
        )
    };
    let repository = Repository::new(&[("s.yaml", &secret("hunter1"))]);
    repository.diverge(&[("s.yaml", &secret("hunter2"))], &[("s.yaml", &secret("hunter3"))]);
    let output = repository.run(&["merge", "theirs"]);
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    assert!(reported.contains("stringData.p") && !reported.contains("hunter"), "{reported}");
}

#[test]
fn unreadable_versions_are_no_conflict() {
    let directory = tempfile::tempdir().expect("a directory");
    let [o, a, b] = ["o", "a", "b"].map(|name| directory.path().join(name));
    fs::write(&a, "a\n").expect("written");
    let run = |names: &[&Path]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
        command.args(["merge3", "--git-driver"]).args(names);
        command.output().expect("run").status.code()
    };
    let path = Path::new("x.yaml");
    assert_eq!(run(&[&o, &a, &b, path]), Some(129), "the original is missing");
    fs::write(&o, "o\n").expect("written");
    assert_eq!(run(&[&o, &a, &b, path]), Some(129), "the other version is missing");
    assert_eq!(run(&[&o, &a, path]), Some(129), "three values");
    assert_eq!(fs::read_to_string(&a).expect("readable"), "a\n");
}
