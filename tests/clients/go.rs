//! client-go: an informer that survives a compaction.

use std::env;

use super::rig::Rig;

#[test]
#[ignore = "needs Go and kubectl, see .ci/tools"]
fn informers_see_all_changes() {
    let rig = Rig::new(&["--history", "50"]);
    let mut command = rig.command("go");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live"));
    command.env("GOWORK", "off").env("HOME", env::var("HOME").expect("HOME"));
    let output = command.args(["run", "./informer"]).arg(rig.kubeconfig()).output().expect("go");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).ends_with("all objects seen\n"), "{}", text(&output.stdout));
}
