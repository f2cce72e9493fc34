//! The Python client.

use std::env;

use kubectl_smp_testing::requirements::required_env;

use super::rig::Rig;

#[test]
#[ignore = "needs the Python client, see .ci/tools"]
fn python_client_works() {
    let rig = Rig::new(&["--controllers", "*"]);
    let mut command = rig.command("python3");
    command.env("PYTHONPATH", required_env("SMP_TEST_PYTHON_CLIENT", ".ci/tools python"));
    command.env("HOME", env::var("HOME").expect("HOME"));
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/client.py"));
    let output = command.output().expect("python3");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}
