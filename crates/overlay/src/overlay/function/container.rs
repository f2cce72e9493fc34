//! Builds the command line that runs a function in a container, like kyaml (v0.21).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::super::process;
use super::options::FunctionOptions;
use super::spec::{ContainerSpec, Mount};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The environment variables of every function. The command line can override them, configurations cannot.
const DEFAULTS: [&str; 2] = ["LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true"];

/// Returns the arguments for docker.
///
/// # Errors
/// The function requires network access, which is not enabled, the current user cannot be determined, or the name of
/// the image starts with a dash.
pub(super) fn arguments(spec: &ContainerSpec, options: &FunctionOptions, root: &Path) -> Result<Vec<String>> {
    if spec.network && !options.network {
        let message = format!("the function {} requires network access, which is not enabled", spec.image);
        return Err(Diagnostic::error(Code::Usage, message).help("enable it with --network"));
    }
    let network = if spec.network { "host" } else { "none" };
    let user = if options.as_current_user { current_user()? } else { "nobody".to_string() };
    let fixed =
        ["run", "--rm", "-i", "-a", "STDIN", "-a", "STDOUT", "-a", "STDERR", "--network", network, "--user"];
    let mut arguments: Vec<String> = fixed.iter().map(ToString::to_string).collect();
    arguments.extend([user, "--security-opt=no-new-privileges".to_string()]);
    for mount in mounts(spec, options) {
        arguments.extend(["--mount".to_string(), mount.to_argument(root)]);
    }
    for variable in variables(&spec.envs, &options.env) {
        arguments.extend(["-e".to_string(), variable]);
    }
    if spec.image.starts_with('-') {
        let message =
            format!("image `{}` starts with a dash, so docker would parse it as a flag", spec.image);
        return Err(Diagnostic::error(Code::InvalidValue, message));
    }
    arguments.push(spec.image.clone());
    Ok(arguments)
}

/// Returns the directories and volumes of the host that the container can access.
pub(super) fn mounts<'m>(
    spec: &'m ContainerSpec,
    options: &'m FunctionOptions,
) -> impl Iterator<Item = Cow<'m, Mount>> {
    let declared = spec.mounts.iter().map(Cow::Borrowed);
    declared.chain(options.mounts.iter().map(|text| Cow::Owned(Mount::parse(text))))
}

/// Returns the variables with values, sorted, followed by those whose value is taken from the environment. Variables
/// from flags take precedence over the defaults, and these over declared ones.
fn variables<'v>(declared: &'v [String], from_flags: &'v [String]) -> Vec<String> {
    let texts = |list: &'v [String]| list.iter().map(String::as_str);
    let (mut values, mut exported) = (BTreeMap::new(), Vec::new());
    for variable in texts(declared).chain(DEFAULTS).chain(texts(from_flags)) {
        match variable.split_once('=') {
            Some((name, value)) => {
                values.insert(name, value);
            }
            None if exported.contains(&variable) => {}
            None => exported.push(variable),
        }
    }
    let values = values.into_iter().map(|(name, value)| format!("{name}={value}"));
    values.chain(exported.iter().map(ToString::to_string)).collect()
}

/// Returns the current user as `uid:gid`.
fn current_user() -> Result<String> {
    let id = |flag: &str| {
        let output = process::run(Command::new("id").arg(flag), "`id`", b"", None)?.into_stdout("`id`")?;
        Ok(String::from_utf8_lossy(&output).trim().to_string())
    };
    Ok(format!("{}:{}", id("-u")?, id("-g")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn line(spec: &ContainerSpec, options: &FunctionOptions) -> String {
        arguments(spec, options, Path::new("/k")).expect("allowed").join(" ")
    }

    const START: &str = "run --rm -i -a STDIN -a STDOUT -a STDERR --network";

    #[test]
    fn image_without_options() {
        let spec = ContainerSpec { image: "img:v1".into(), ..ContainerSpec::default() };
        assert_eq!(
            line(&spec, &FunctionOptions::default()),
            format!(
                "{START} none --user nobody --security-opt=no-new-privileges \
                 -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true img:v1"
            )
        );
    }

    #[test]
    fn network_requires_declaration_and_flag() {
        let spec = ContainerSpec { image: "i".into(), network: true, ..ContainerSpec::default() };
        let allowed = FunctionOptions { network: true, ..FunctionOptions::default() };
        assert!(line(&spec, &allowed).starts_with(&format!("{START} host ")));
        assert!(
            line(&ContainerSpec { network: false, ..spec.clone() }, &allowed)
                .starts_with(&format!("{START} none "))
        );
        let error = arguments(&spec, &FunctionOptions::default(), Path::new("/k")).expect_err("not allowed");
        assert_eq!((error.code(), error.help_text()), (Code::Usage, Some("enable it with --network")));
    }

    #[test]
    fn mounts_and_variables_of_configuration_and_command_line() {
        // Observed with kustomize v5.8.3 and a docker that prints its arguments.
        let spec = ContainerSpec {
            image: "i".into(),
            envs: strings(&["B=1=2", "A", "LOG_TO_STDERR=false", "C=x", "A"]),
            mounts: vec![
                Mount::parse("type=bind,src=sub/./x,dst=/d"),
                Mount::parse("type=tmpfs,dst=/t,rw=true"),
            ],
            ..ContainerSpec::default()
        };
        let options = FunctionOptions {
            env: strings(&["C=cli", "Z", "A"]),
            mounts: strings(&["type=bind,src=/abs,dst=/x,rw=true", "source=rel,target=/y,type=bind,foo=1"]),
            ..FunctionOptions::default()
        };
        assert_eq!(
            line(&spec, &options),
            format!(
                "{START} none --user nobody --security-opt=no-new-privileges \
                 --mount type=bind,source=/k/sub/x,target=/d,readonly --mount type=tmpfs,source=/k,target=/t \
                 --mount type=bind,source=/abs,target=/x --mount type=bind,source=/k/rel,target=/y,readonly \
                 -e B=1=2 -e C=cli -e LOG_TO_STDERR=true -e STRUCTURED_RESULTS=true -e A -e Z i"
            )
        );
        let quiet = FunctionOptions { env: strings(&["LOG_TO_STDERR=false"]), ..options };
        assert!(line(&spec, &quiet).contains(" -e LOG_TO_STDERR=false "));
    }

    #[cfg(unix)]
    #[test]
    fn current_user_is_passed_as_numeric_ids() {
        let spec = ContainerSpec { image: "i".into(), ..ContainerSpec::default() };
        let options = FunctionOptions { as_current_user: true, ..FunctionOptions::default() };
        let line = line(&spec, &options);
        let user = line.split(" --user ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a user");
        let (uid, gid) = user.split_once(':').expect("two numbers");
        assert!(uid.parse::<u32>().is_ok() && gid.parse::<u32>().is_ok(), "{user}");
    }

    #[test]
    fn image_that_looks_like_a_flag_is_rejected() {
        let spec = ContainerSpec { image: "--privileged".into(), ..ContainerSpec::default() };
        let error = arguments(&spec, &FunctionOptions::default(), Path::new("/k")).expect_err("an option");
        assert_eq!(error.code(), Code::InvalidValue);
    }
}
