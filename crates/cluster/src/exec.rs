//! Credential plugins of the kubeconfig (`exec`). As in client-go, a plugin runs once per process, and again when
//! its credentials have expired or the server rejects them.
//!
//! kube would run the plugin several times for one client, and without a timeout.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::errors::Endpoint;
use smp_text::diagnostic::{Code, Diagnostic, Result, mask_quoted};

/// The credentials of plugins that were run, by command and environment.
static CACHE: Mutex<BTreeMap<String, Credentials>> = Mutex::new(BTreeMap::new());

/// The output of a plugin.
#[derive(Debug, Clone, Deserialize)]
struct ExecCredential {
    status: Option<Credentials>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credentials {
    expiration_timestamp: Option<Time>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("expires", &self.expiration_timestamp).finish_non_exhaustive()
    }
}

impl Credentials {
    fn are_valid(&self) -> bool {
        self.expiration_timestamp.as_ref().is_none_or(|time| SystemTime::from(time.0) > SystemTime::now())
    }

    /// Returns the user with these credentials.
    fn apply_to(self, mut user: AuthInfo) -> AuthInfo {
        user.exec = None;
        user.token = self.token.map(Into::into).or(user.token);
        if let (Some(certificate), Some(key)) = (self.client_certificate_data, self.client_key_data) {
            user.client_certificate_data = Some(STANDARD.encode(certificate));
            user.client_key_data = Some(STANDARD.encode(key).into());
        }
        user
    }
}

/// Handling of cached credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialCache {
    /// Use cached credentials until they expire.
    Use,
    /// Ignore cached credentials, because the server rejects them.
    Refresh,
}

/// Returns the user with the credentials of its plugin. Users without a plugin are returned unchanged.
///
/// # Errors
/// The plugin cannot be run, fails, takes longer than `limit`, or does not print credentials.
pub(super) async fn user_with_credentials(
    user: AuthInfo,
    cache: CredentialCache,
    limit: Option<Duration>,
    endpoint: &Endpoint,
) -> Result<AuthInfo> {
    let Some(exec) = user.exec.clone() else { return Ok(user) };
    let failed = |why: String| {
        let message = format!("cannot get credentials for the cluster at {endpoint}: {why}");
        let error = Diagnostic::error(Code::Remote, message)
            .note(format!(
                "the credential plugin of the kubeconfig is `{}`",
                exec.command.as_deref().unwrap_or_default()
            ))
            .help("check the user in the kubeconfig, or use --user or --token");
        exec.install_hint.iter().fold(error, |error, hint| error.note(hint.trim()))
    };
    let info = exec_info(&exec).map_err(failed)?;
    let key = json!([exec.command, exec.args, exec.env, info]).to_string();
    let known = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache == CredentialCache::Use
        && let Some(credentials) = known().get(&key).filter(|credentials| credentials.are_valid())
    {
        return Ok(credentials.clone().apply_to(user));
    }
    let run = run(&exec, &info);
    let credentials = match limit {
        None => run.await,
        Some(limit) => tokio::time::timeout(limit, run)
            .await
            .unwrap_or_else(|_| Err(format!("the credential plugin did not finish within {limit:?}"))),
    };
    let credentials = credentials.map_err(failed)?;
    known().insert(key, credentials.clone());
    Ok(credentials.apply_to(user))
}

/// Returns true if the plugin may prompt the user: the plugin supports it, and standard input is a terminal.
fn is_interactive(exec: &ExecConfig) -> bool {
    exec.interactive_mode != Some(ExecInteractiveMode::Never) && std::io::stdin().is_terminal()
}

/// Returns the value of `KUBERNETES_EXEC_INFO`.
fn exec_info(exec: &ExecConfig) -> std::result::Result<String, String> {
    let interactive = is_interactive(exec);
    if exec.interactive_mode == Some(ExecInteractiveMode::Always) && !interactive {
        return Err("the credential plugin is interactive, but standard input is not a terminal".into());
    }
    let mut spec = json!({ "interactive": interactive });
    if let Some(cluster) = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info) {
        spec["cluster"] = serde_json::to_value(cluster).map_err(|error| error.to_string())?;
    }
    Ok(json!({"apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec}).to_string())
}

async fn run(exec: &ExecConfig, info: &str) -> std::result::Result<Credentials, String> {
    let command = exec.command.as_deref().filter(|command| !command.is_empty());
    let mut command = Command::new(command.ok_or("the credential plugin has no command")?);
    command.args(exec.args.iter().flatten()).env("KUBERNETES_EXEC_INFO", info).kill_on_drop(true);
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    if is_interactive(exec) {
        command.stdin(Stdio::inherit()).stderr(Stdio::inherit());
    } else {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
    }
    let spawned = command.stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("cannot run the credential plugin: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = futures::future::join(first_of(stdout), first_of(stderr)).await;
    let status = child.wait().await;
    let status = status.map_err(|error| format!("cannot wait for the credential plugin: {error}"))?;
    if !status.success() {
        let output = without_values(exec, &String::from_utf8_lossy(&stderr));
        let separator = if output.trim().is_empty() { "" } else { ": " };
        return Err(format!("the credential plugin failed with {status}{separator}{}", output.trim()));
    }
    // Some plugins print YAML, of which JSON is a subset. The parser's error may quote secret values.
    let credential: ExecCredential = serde_yaml::from_slice(&stdout).map_err(|error| {
        format!("invalid output of the credential plugin: {}", mask_quoted(&error.to_string()))
    })?;
    let is_some = |c: &Credentials| c.token.is_some() || c.client_certificate_data.is_some();
    credential.status.filter(is_some).ok_or_else(|| "the credential plugin returned no credentials".into())
}

/// Suffixes of flags and variables whose values are names and not secrets.
const PUBLIC_SUFFIXES: [&str; 12] = [
    "region",
    "cluster",
    "cluster-name",
    "cluster-id",
    "profile",
    "environment",
    "tenant-id",
    "project",
    "zone",
    "role-arn",
    "namespace",
    "output",
];

fn has_public_value(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase().replace('_', "-");
    PUBLIC_SUFFIXES
        .iter()
        .any(|known| name == *known || name.strip_suffix(known).is_some_and(|rest| rest.ends_with('-')))
}

/// Returns the command-line arguments that may be secrets: the values of flags whose names do not end with an entry of
/// `PUBLIC_SUFFIXES`, and positional arguments other than subcommands such as `get-token`.
fn secret_arguments(args: &[String]) -> Vec<String> {
    let is_word = |arg: &str| arg.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let (mut secret, mut flag): (Vec<String>, Option<&str>) = (Vec::new(), None);
    for (position, arg) in args.iter().enumerate() {
        let before = flag.take();
        if arg.starts_with('-') {
            match arg.split_once('=') {
                Some((name, value)) if !has_public_value(name) => secret.push(value.into()),
                Some(_) => {}
                None => flag = Some(arg),
            }
            continue;
        }
        // Subcommands come before all flags.
        let is_subcommand = is_word(arg) && !args[..position].iter().any(|arg| arg.starts_with('-'));
        if !is_subcommand && !before.is_some_and(has_public_value) {
            secret.push(arg.clone());
        }
    }
    secret
}

/// Masks arguments and variables that may be secret in the output of a plugin.
fn without_values(exec: &ExecConfig, output: &str) -> String {
    let args = secret_arguments(exec.args.as_deref().unwrap_or_default());
    let variables = exec.env.iter().flatten();
    let env = variables
        .filter(|variable| !variable.get("name").is_some_and(|name| has_public_value(name)))
        .filter_map(|variable| variable.get("value").cloned());
    let mut values: Vec<String> =
        args.into_iter().chain(env).filter(|value| value.len() > SHORTEST_SECRET).collect();
    // A value may be part of another one, so longer values are masked first.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.iter().fold(output.to_string(), |output, value| output.replace(value.as_str(), "***"))
}

/// Values up to this length are words such as `get`, which are not masked.
const SHORTEST_SECRET: usize = 3;

/// Maximum size of a plugin's output.
const MAX_OUTPUT: u64 = 1 << 20;

/// Reads the beginning of a stream.
async fn first_of(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // After a read error, the exit status of the plugin is more informative.
        let _ = stream.take(MAX_OUTPUT).read_to_end(&mut bytes).await;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint { server: "https://k8s.example".into(), context: None, proxy: None }
    }

    fn user(script: &str) -> AuthInfo {
        let exec = ExecConfig {
            api_version: Some("client.authentication.k8s.io/v1".into()),
            command: Some("sh".into()),
            args: Some(vec!["-c".into(), script.into()]),
            interactive_mode: Some(ExecInteractiveMode::Never),
            ..serde_json::from_value(json!({})).expect("all is optional")
        };
        AuthInfo { exec: Some(exec), ..AuthInfo::default() }
    }

    fn credentials(script: &str, cache: CredentialCache, limit: Option<Duration>) -> Result<AuthInfo> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(user_with_credentials(user(script), cache, limit, &endpoint()))
    }

    #[test]
    fn secret_arguments_are_masked() {
        let table: [(&[&str], &[&str]); 5] = [
            (&["eks", "get-token", "--cluster-name", "prod", "--region=eu-west-1"], &[]),
            (&["get-token", "--password", "hunter", "--api-key=key1"], &["hunter", "key1"]),
            (&["login", "S3cret", "--client-secret", "abcd"], &["S3cret", "abcd"]),
            (&["-c", "echo it", "word"], &["echo it", "word"]),
            (&["--x-region-key", "abcd", "--aws-profile", "dev1"], &["abcd"]),
        ];
        for (args, want) in table {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert_eq!(secret_arguments(&args), want, "{args:?}");
        }
        let mut exec = user("x").exec.expect("a command");
        exec.args = Some(["get-token", "--password", "hunter2"].map(String::from).into());
        let variable = |name: &str, value: &str| {
            [("name".to_string(), name.to_string()), ("value".into(), value.into())].into()
        };
        exec.env = Some(vec![variable("AWS_PROFILE", "production"), variable("KEY", "s3cr3t")]);
        let output = "get-token failed for hunter2 of production by s3cr3t";
        assert_eq!(without_values(&exec, output), "get-token failed for *** of production by ***");
    }

    #[test]
    fn plugin_runs_once_until_its_credentials_expire() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = folder.path().join("count").display().to_string();
        let script = format!("echo x >> {count}; echo '{{\"status\": {{\"token\": \"t\"}}}}'");
        for _ in 0..3 {
            let user = credentials(&script, CredentialCache::Use, None).expect("a token");
            assert!(user.token.is_some() && user.exec.is_none());
        }
        let runs = || std::fs::read_to_string(&count).expect("it ran").lines().count();
        assert_eq!(runs(), 1);
        credentials(&script, CredentialCache::Refresh, None).expect("a token");
        assert_eq!(runs(), 2);
        let old = format!(
            "echo x >> {count}; echo '{{\"status\": {{\"token\": \"t\", \"expirationTimestamp\": \"2020-01-01T00:00:00Z\"}}}}'"
        );
        for _ in 0..2 {
            credentials(&old, CredentialCache::Use, None).expect("a token");
        }
        assert_eq!(runs(), 4, "expired credentials are refreshed");
    }

    #[test]
    fn plugin_failure_is_reported_without_secrets() {
        let message = |script, limit| {
            credentials(script, CredentialCache::Use, limit).expect_err(script).message().to_string()
        };
        assert!(message("echo 'log in first' >&2; exit 3", None).ends_with("exit status: 3: log in first"));
        assert!(message("echo '{}'", None).ends_with("the credential plugin returned no credentials"));
        let mut failing = user("echo \"$KEY and $2 of $1\" >&2; exit 1");
        if let Some(exec) = &mut failing.exec {
            let env = [("name", "KEY"), ("value", "s3cret")].map(|(k, v)| (k.to_string(), v.to_string()));
            exec.env = Some(vec![env.into_iter().collect()]);
            exec.args
                .iter_mut()
                .for_each(|args| args.extend(["sh".into(), "--key=hidden".into(), "passw".into()]));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let failed =
            runtime.block_on(user_with_credentials(failing, CredentialCache::Use, None, &endpoint()));
        let failed = failed.expect_err("it fails").message().to_string();
        assert!(failed.ends_with(": *** and *** of --key=***"), "{failed}");
        let message = message("sleep 60", Some(Duration::from_millis(100)));
        assert!(message.ends_with("did not finish within 100ms"), "{message}");
        let invalid = credentials("echo '{status: {token: [s3cret]}}'", CredentialCache::Use, None)
            .expect_err("no text");
        assert!(!invalid.message().contains("s3cret"), "{invalid}");
    }
}
