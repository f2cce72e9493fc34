//! `preview --tui` in a terminal: tmux draws its screen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubectl_smp_testing::program::{path, run, stderr, temp_dir_from_text, write};

/// The longest time to wait for a text on the screen.
const LONGEST: Duration = Duration::from_secs(30);

/// The time between two looks at the screen.
const PAUSE: Duration = Duration::from_millis(20);

const SHOP: &str = "\
-- base/kustomization.yaml --
resources: [web.yaml]
-- base/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  replicas: one
-- overlays/dev/kustomization.yaml --
resources: [../../base]
-- overlays/prod/kustomization.yaml --
resources: [../../base]
patches: [{path: patch.yaml}]
-- overlays/prod/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  replicas: three
";

/// The patch of `SHOP` with another name and value.
fn patch(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  replicas: {value}\n")
}

/// A terminal with a shell, which ends when it is dropped.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Starts a shell in a directory.
    fn start(home: &Path) -> Self {
        let tmux = Self { socket: home.join("tmux") };
        let shell = format!(
            "env -u NO_COLOR -u VISUAL PS1='shell> ' EDITOR=vi HOME=\"{}\" KUBECONFIG=/dev/null sh",
            home.display()
        );
        let here = home.to_str().expect("UTF-8");
        tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "-c", here, &shell]);
        tmux.wait_for("shell>");
        tmux
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(args).stdin(Stdio::null());
        let output = command.output().expect("tmux runs");
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Starts the preview of all overlays.
    fn preview(&self) {
        self.line(&format!("{} preview --tui -R overlays", path().display()));
        self.wait_for("2 targets");
    }

    /// Types a text.
    fn keys(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    /// Presses a key.
    fn key(&self, name: &str) {
        self.run(&["send-keys", name]);
    }

    /// Types a line.
    fn line(&self, text: &str) {
        self.keys(text);
        self.key("Enter");
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen has a text, and returns the screen.
    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    fn wait_until(&self, what: &str, is_met: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + LONGEST;
        loop {
            let screen = self.screen();
            if is_met(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "no `{what}` on the screen:\n{screen}");
            thread::sleep(PAUSE);
        }
    }

    /// Waits for the shell, whose terminal is as it was: it shows what is typed, and has the main screen.
    fn wait_for_shell(&self) {
        let has_prompt = |screen: &str| screen.trim_end().ends_with("\nshell>");
        self.wait_until("the shell", |screen| has_prompt(screen) && !screen.contains("preview of overlays"));
        self.line("stty -a | grep -o ' [-]*icanon' && echo cooked=$?");
        let screen = self.wait_for("cooked=0");
        assert!(screen.contains(" icanon") && !screen.contains("-icanon"), "{screen}");
        assert!(screen.contains("shell> stty"), "the terminal does not show what is typed:\n{screen}");
        assert_eq!(self.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim(), "0 1");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let command = command.arg("-S").arg(&self.socket).arg("kill-server");
        // It may have ended already.
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

#[test]
#[ignore = "needs tmux"]
fn overlays_are_previewed_while_they_are_edited() {
    let home = temp_dir_from_text(SHOP);
    let tmux = Tmux::start(home.path());
    tmux.preview();
    tmux.keys("]");
    tmux.wait_for("Output overlays/prod");
    tmux.keys("/replicas");
    tmux.key("Enter");
    tmux.wait_for("Search replicas: 2 matches");
    tmux.keys("G");
    tmux.wait_for(">  replicas: three");
    tmux.key("Enter");
    tmux.wait_for("Output overlays/prod");
    tmux.key("Enter");
    let screen = tmux.wait_for("=> three  by patches[0] (in effect)");
    assert!(screen.contains("overlays/prod/patch.yaml:6:13"), "{screen}");
    assert!(screen.contains(">   6 |   replicas: three"), "{screen}");

    let file = home.path().join("overlays/prod/patch.yaml");
    write(&file, &patch("web", "five"));
    let screen = tmux.wait_for(">  replicas: five");
    assert!(screen.contains("=> five  by patches[0] (in effect)"), "{screen}");
    assert!(
        screen.contains("Built 1 target in") && screen.contains(": overlays/prod/patch.yaml"),
        "{screen}"
    );

    write(&file, &patch("webb", "five"));
    let screen = tmux.wait_for("✗ error:");
    assert!(screen.contains(">  replicas: five"), "{screen}");
    assert!(screen.contains("The output is that of the last successful build:"), "{screen}");
    write(&file, &patch("web", "seven"));
    let screen = tmux.wait_for(">  replicas: seven");
    assert!(!screen.contains("✗"), "{screen}");

    tmux.keys("q");
    tmux.wait_for_shell();
}

#[test]
#[ignore = "needs tmux"]
fn editor_gets_the_terminal_and_the_line() {
    let home = temp_dir_from_text(SHOP);
    let editor = home.path().join("vim");
    // Reads from the terminal as an editor does, then saves.
    write(
        &editor,
        "#!/bin/sh\nstty -a | grep -o ' [-]*icanon'\necho \"editing $1 in $2\"\nread answer\n\
         sed -i \"s/replicas: .*/replicas: $answer/\" \"$2\"\n",
    );
    let tmux = Tmux::start(home.path());
    tmux.line("chmod +x vim; EDITOR=$PWD/vim");
    tmux.preview();
    tmux.keys("]");
    tmux.wait_for("Output overlays/prod");
    tmux.keys("jjj");
    tmux.wait_for(">  replicas: three");
    tmux.keys("o");
    let screen = tmux.wait_for("editing +6 in");
    assert!(!screen.contains("-icanon"), "{screen}");
    tmux.line("nine");
    tmux.wait_for(">  replicas: nine");
    tmux.key("C-c");
    tmux.wait_for_shell();
}

#[test]
#[ignore = "needs tmux"]
fn terminal_is_restored_after_a_signal() {
    let home = temp_dir_from_text(SHOP);
    let tmux = Tmux::start(home.path());
    for signal in ["TERM", "HUP", "INT"] {
        // The program is the child of the shell.
        tmux.preview();
        let pid = tmux.run(&["display-message", "-p", "#{pane_pid}"]);
        let child =
            Command::new("pgrep").args(["-P", pid.trim(), "kubectl-smp"]).output().expect("pgrep runs");
        let child = String::from_utf8(child.stdout).expect("UTF-8");
        let killed = Command::new("kill").args(["-s", signal, child.trim()]).status().expect("kill runs");
        assert!(killed.success(), "{signal}");
        tmux.wait_for_shell();
        tmux.line("clear");
        tmux.wait_until("an empty screen", |screen| !screen.contains("cooked"));
    }
}

#[test]
#[ignore = "needs tmux"]
fn size_of_the_terminal_may_change() {
    let home = temp_dir_from_text(SHOP);
    let tmux = Tmux::start(home.path());
    tmux.preview();
    tmux.run(&["resize-window", "-x", "40", "-y", "10"]);
    tmux.wait_for("The terminal is too small");
    tmux.run(&["resize-window", "-x", "160", "-y", "50"]);
    tmux.wait_until("two panes side by side", |screen| {
        screen.lines().any(|line| line.contains("Output overlays/dev") && line.contains("Findings"))
    });
    tmux.keys("q");
    tmux.wait_for_shell();
}

#[test]
fn tui_needs_a_terminal() {
    let home = temp_dir_from_text(SHOP);
    let output = run(home.path(), &["preview", "--tui", "overlays/prod"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "error[usage]: `--tui` needs a terminal, but standard input is not one\n");
    assert!(output.stdout.is_empty());
    let output = run(home.path(), &["preview", "--tui", "--json"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
