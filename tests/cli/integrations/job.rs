//! A job of a CI system: the shop as a git repository, the program and stubs on the PATH, and shell commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubectl_smp_testing::program::path;
use tempfile::TempDir;

pub struct Job {
    home: TempDir,
    pub variables: BTreeMap<String, String>,
}

impl Job {
    /// A repository whose branch `main` has the shop, and `HEAD` a commit with further changes.
    pub fn with_change(sed: &str, file: &str) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        fs::create_dir(home.path().join("bin")).expect("a directory");
        std::os::unix::fs::symlink(path(), home.path().join("bin/kubectl-smp")).expect("a link");
        let mut job = Self { home, variables: BTreeMap::new() };
        let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shop");
        job.variables.insert("SHOP".into(), shop.display().to_string());
        job.setup("cp -r \"$SHOP/.\" .");
        job.setup("git init -q -b main && git add . && git commit -qm shop && git checkout -qb change");
        job.setup(&format!("sed -i '{sed}' {file} && git commit -qam change"));
        job
    }

    /// The directory of the commands, once it exists.
    pub fn repository(&self) -> PathBuf {
        self.home.path().join("repository")
    }

    /// A path outside of the repository.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Sets a variable to the path of an empty file outside of the repository.
    pub fn variable_file(&mut self, variable: &str) -> PathBuf {
        let file = self.file(variable);
        fs::write(&file, "").expect("written");
        self.variables.insert(variable.into(), file.display().to_string());
        file
    }

    /// Adds a program to the PATH.
    pub fn stub(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let file = self.file("bin").join(name);
        fs::write(&file, script).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn setup(&self, script: &str) {
        let output = self.run(script);
        assert!(output.status.success(), "{script}: {output:?}");
    }

    /// Runs commands like a step of a job: each must succeed.
    pub fn run(&self, script: &str) -> Output {
        let home = self.home.path();
        let _ = fs::create_dir_all(self.repository());
        let search = format!("{}:{}", self.file("bin").display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]);
        command.current_dir(self.repository()).env("PATH", search).env("HOME", home);
        command.env("KUBECONFIG", "/dev/null").env("KUBECTL_SMP_CACHE_DIR", home.join("cache"));
        command.env_remove("FORCE_COLOR").envs(crate::book::GIT_IDENTITY).envs(&self.variables);
        command.output().expect("bash")
    }
}
