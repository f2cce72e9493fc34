//! The cluster and user of a connection: kubeconfig files and the flags that override them.
//!
//! Files, contexts and overrides are resolved like in kubectl (client-go's `clientcmd`). kube parses the files and
//! loads credentials.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use http::uri::InvalidUri;
use kube::Config;
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError};

use super::errors::{Endpoint, chain};
use super::proxy;
use smp_files::{DiskTree, FileTree as _, OpenFile};
use smp_overlay::schema_chain::cache::ServerId;
use smp_text::diagnostic::{Code, Diagnostic, Result, mask_quoted};
use smp_text::source::{Source, SourceId, SourceMap, Span};
use smp_text::yaml::{self, Node, ParseOptions, did_you_mean};

/// Connection options. They are the same as kubectl's flags, and all are optional.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// `--kubeconfig`: the only file that is read.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`
    pub context: Option<String>,
    /// `--cluster`
    pub cluster: Option<String>,
    /// `--user`
    pub user: Option<String>,
    /// `--namespace`: the namespace of objects without a namespace. Other objects must have the same one.
    pub namespace: Option<String>,
    /// `--server`
    pub server: Option<String>,
    /// `--token`
    pub token: Option<String>,
    /// `--username`
    pub username: Option<String>,
    /// `--password`
    pub password: Option<String>,
    /// `--as`
    pub impersonate: Option<String>,
    /// `--as-group`
    pub impersonate_groups: Vec<String>,
    /// `--as-uid`
    pub impersonate_uid: Option<String>,
    /// `--certificate-authority`
    pub certificate_authority: Option<PathBuf>,
    /// `--client-certificate`
    pub client_certificate: Option<PathBuf>,
    /// `--client-key`
    pub client_key: Option<PathBuf>,
    /// `--insecure-skip-tls-verify`
    pub insecure_skip_tls_verify: bool,
    /// `--tls-server-name`
    pub tls_server_name: Option<String>,
    /// `--request-timeout`: the time limit of a request, including retries. Zero means no limit. Without the option, a
    /// request fails if the server sends no data for 30 seconds.
    pub request_timeout: Option<Duration>,
    /// Receives the texts of invalid kubeconfigs for error locations. Their lines are never displayed.
    pub sources: SourceMap,
}

/// The names of the entries in a kubeconfig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeconfigNames {
    /// The contexts.
    pub contexts: Vec<String>,
    /// The clusters.
    pub clusters: Vec<String>,
    /// The users.
    pub users: Vec<String>,
}

/// The address and credentials of a cluster, with all options applied.
pub(super) struct Access {
    pub(super) config: Config,
    /// The name of the context; `None` if flags or a Pod's service account replace it.
    pub(super) context: Option<String>,
    /// The default namespace of objects.
    pub(super) namespace: String,
}

impl Access {
    /// Returns the server as shown in messages. Its URL has no trailing slash.
    pub(super) fn endpoint(&self) -> Endpoint {
        let server = self.config.cluster_url.to_string().trim_end_matches('/').to_string();
        let port = |uri: &Uri| uri.port_u16().map_or_else(String::new, |port| format!(":{port}"));
        let proxy = self.config.proxy_url.as_ref();
        let proxy = proxy.map(|uri| format!("{}{}", uri.host().unwrap_or_default(), port(uri)));
        Endpoint { server, context: self.context.clone(), proxy }
    }

    /// Returns the ID that caches use for this server.
    pub(super) fn server_id(&self) -> ServerId {
        let text = |uri: &Uri| uri.to_string().into_bytes();
        let proxy = self.config.proxy_url.as_ref().map_or_else(Vec::new, text);
        let name = self.config.tls_server_name.as_deref().unwrap_or_default();
        let mut parts = vec![name.as_bytes(), proxy.as_slice()];
        parts.extend(self.config.root_cert.iter().flatten().map(Vec::as_slice));
        ServerId::new(self.endpoint().server, &parts)
    }
}

impl ConnectOptions {
    /// Returns the ID that caches use for this server. Reads only the kubeconfig and the files that it references.
    ///
    /// # Errors
    /// The errors of [`Cluster::connect`](super::Cluster::connect), except those of credentials.
    pub fn server_id(&self) -> Result<ServerId> {
        Ok(self.access()?.server_id())
    }

    /// Returns the default namespace of objects. No cluster needs to be configured.
    ///
    /// # Errors
    /// The kubeconfig cannot be read or lacks a requested entry.
    pub fn default_namespace(&self) -> Result<String> {
        let own = || -> Result<_> { Ok(self.context(&self.read()?)?.1.namespace) };
        let namespace = self.namespace.clone().map_or_else(own, |namespace| Ok(Some(namespace)))?;
        Ok(namespace.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".into()))
    }

    /// Returns the names of the entries in the kubeconfig.
    ///
    /// # Errors
    /// The kubeconfig cannot be read.
    pub fn names(&self) -> Result<KubeconfigNames> {
        let kubeconfig = self.read()?;
        Ok(KubeconfigNames {
            contexts: kubeconfig.contexts.into_iter().map(|one| one.name).collect(),
            clusters: kubeconfig.clusters.into_iter().map(|one| one.name).collect(),
            users: kubeconfig.auth_infos.into_iter().map(|one| one.name).collect(),
        })
    }

    /// Returns true if the options contain a kubeconfig, or an entry that a kubeconfig must have.
    #[must_use]
    pub fn requires_kubeconfig(&self) -> bool {
        let names = [&self.context, &self.cluster, &self.user];
        self.kubeconfig.is_some() || names.into_iter().any(Option::is_some)
    }

    /// Returns true if no cluster is configured because all files of `KUBECONFIG` are missing.
    #[must_use]
    pub fn has_missing_kubeconfig(&self) -> bool {
        let named = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
        self.kubeconfig.is_none()
            && named.is_some_and(|paths| existing(std::env::split_paths(&paths)).is_empty())
    }

    /// Reads the kubeconfig and resolves cluster, user and namespace.
    pub(super) fn access(&self) -> Result<Access> {
        let kubeconfig = self.read()?;
        let is_default = self.server.is_none() && self.context.is_none() && self.cluster.is_none();
        if is_default && kubeconfig.clusters.is_empty() {
            self.user(&kubeconfig, &Context::default())?;
            return self.in_cluster();
        }
        let (context_name, context) = self.context(&kubeconfig)?;
        let cluster = self.overridden_cluster(self.cluster(&kubeconfig, &context)?);
        let name = self.cluster.as_deref().unwrap_or(&context.cluster);
        let data = [("certificate-authority-data", cluster.certificate_authority_data.is_some())];
        self.check_data("cluster", name, &data)?;
        if cluster.server.as_deref().is_none_or(str::is_empty) {
            return Err(no_server(&kubeconfig));
        }
        let user = self.overridden_user(self.user(&kubeconfig, &context)?);
        let name = self.user.as_deref().or(context.user.as_deref()).unwrap_or_default();
        let data = [
            ("client-certificate-data", user.client_certificate_data.is_some()),
            ("client-key-data", user.client_key_data.is_some()),
        ];
        self.check_data("user", name, &data)?;
        let namespace = self.namespace.clone().or(context.namespace.clone()).filter(|n| !n.is_empty());
        Ok(Access {
            config: self.with_common_options(config_of(
                context_name.as_deref().unwrap_or_default(),
                &cluster,
                user,
            )?)?,
            context: context_name,
            namespace: namespace.unwrap_or_else(|| "default".into()),
        })
    }

    /// Returns the file of the flag, otherwise the existing files of `KUBECONFIG`, otherwise `~/.kube/config`.
    fn paths(&self) -> Vec<PathBuf> {
        match (&self.kubeconfig, std::env::var_os("KUBECONFIG")) {
            (Some(path), _) if !path.as_os_str().is_empty() => vec![path.clone()],
            (_, Some(paths)) if !paths.is_empty() => existing(std::env::split_paths(&paths)),
            _ => existing(dirs::home_dir().map(|home| home.join(".kube").join("config"))),
        }
    }

    /// Reads and merges the files.
    fn read(&self) -> Result<Kubeconfig> {
        self.paths().iter().try_fold(Kubeconfig::default(), |merged, path| {
            let text = text_at(path)?;
            let read = match &text {
                KubeconfigText::Stream(text) => Kubeconfig::from_yaml(text),
                KubeconfigText::File(_) => Kubeconfig::read_from(path),
            };
            let read = read.and_then(|next| merged.merge(next));
            read.map_err(|error| match &error {
                KubeconfigError::ReadConfig(cause, _) => unreadable(path, "the kubeconfig", &chain(cause)),
                error => self.invalid(path, text.as_str(), &chain(error)),
            })
        })
    }

    /// Returns the error for an invalid kubeconfig. Errors of parsers may quote secret values and lines, so these are
    /// removed.
    fn invalid(&self, path: &Path, text: &str, why: &str) -> Diagnostic {
        let source = self.add_secret_source(path, text);
        let error = |why: &str, span: Span| {
            let why = mask_quoted(why.lines().next().unwrap_or_default());
            Diagnostic::error(Code::Syntax, format!("cannot read the kubeconfig {}: {why}", path.display()))
                .at(span)
        };
        let start = Span::new(source, 0, 0);
        if let Err(problem) = yaml::parse_documents(&self.sources, source, ParseOptions::kubectl()) {
            return error(problem.message(), problem.labels().first().map_or(start, |label| label.span));
        }
        let span = self.sources.get(source).and_then(|text| location_in(&text, source, why));
        error(why, span.unwrap_or(start))
    }

    fn add_secret_source(&self, path: &Path, text: &str) -> SourceId {
        let source = self.sources.add(path, text);
        self.sources.mark_secret(source);
        source
    }

    /// Validates fields of a cluster or user that contain base64. `fields` contains their names, with true for those
    /// that are used.
    ///
    /// # Errors
    /// A value is not base64. The error does not show it.
    fn check_data(&self, kind: &str, name: &str, fields: &[(&str, bool)]) -> Result<()> {
        if !fields.iter().any(|(_, is_used)| *is_used) {
            return Ok(());
        }
        for path in self.paths() {
            let Some((text, entry)) = find_entry(&path, kind, name) else { continue };
            for (field, _) in fields.iter().filter(|(_, is_used)| *is_used) {
                let Some(value) = entry.get(field) else { continue };
                if value.scalar_text().is_some_and(|data| STANDARD.decode(data.trim()).is_ok()) {
                    continue;
                }
                let source = self.add_secret_source(&path, &text);
                let message = format!("`{field}` of the {kind} `{name}` is not valid base64");
                return Err(Diagnostic::error(Code::InvalidValue, message)
                    .at(Span { source, ..value.span() })
                    .help(format!(
                        "encode it with `base64 -w0`, or set `{}` to a file",
                        field.trim_end_matches("-data")
                    )));
            }
            return Ok(());
        }
        Ok(())
    }

    /// Returns the in-cluster configuration: the API server address and the credentials of the Pod's service account.
    fn in_cluster(&self) -> Result<Access> {
        if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
            return Err(no_server(&Kubeconfig::default()));
        }
        let mut config = Config::incluster().map_err(|error| {
            let message = format!("cannot use the service account of this Pod: {error}");
            Diagnostic::error(Code::Remote, message)
        })?;
        config.auth_info = self.overridden_user(config.auth_info);
        let own = std::env::var("POD_NAMESPACE").ok().filter(|n| !n.is_empty());
        let default = own.unwrap_or_else(|| config.default_namespace.trim().to_string());
        let namespace = self.namespace.clone().unwrap_or(default);
        Ok(Access { config: self.with_common_options(config)?, context: None, namespace })
    }

    fn context(&self, kubeconfig: &Kubeconfig) -> Result<(Option<String>, Context)> {
        let current = kubeconfig.current_context.clone().filter(|name| !name.is_empty());
        let Some(name) = self.context.clone().or(current) else { return Ok((None, Context::default())) };
        let found = kubeconfig.contexts.iter().find(|c| c.name == name);
        let names = kubeconfig.contexts.iter().map(|c| &c.name);
        let context =
            found.and_then(|c| c.context.clone()).ok_or_else(|| missing("context", &name, names))?;
        Ok((Some(name), context))
    }

    fn cluster(&self, kubeconfig: &Kubeconfig, context: &Context) -> Result<Cluster> {
        let name = self.cluster.as_deref().unwrap_or(&context.cluster);
        let found = kubeconfig.clusters.iter().find(|c| c.name == name).and_then(|c| c.cluster.clone());
        match found {
            Some(cluster) => Ok(cluster),
            None if self.cluster.is_some() || (self.server.is_none() && !name.is_empty()) => {
                Err(missing("cluster", name, kubeconfig.clusters.iter().map(|c| &c.name)))
            }
            None => Ok(Cluster::default()),
        }
    }

    fn user(&self, kubeconfig: &Kubeconfig, context: &Context) -> Result<AuthInfo> {
        let name = self.user.as_deref().or(context.user.as_deref()).unwrap_or_default();
        let found = kubeconfig.auth_infos.iter().find(|u| u.name == name).and_then(|u| u.auth_info.clone());
        match found {
            Some(user) => Ok(user),
            // A context may refer to a missing user. In that case, requests are anonymous.
            None if self.user.is_none() => Ok(AuthInfo::default()),
            None => Err(missing("user", name, kubeconfig.auth_infos.iter().map(|u| &u.name))),
        }
    }

    fn overridden_cluster(&self, mut cluster: Cluster) -> Cluster {
        if self.server.is_some() || self.tls_server_name.is_some() {
            cluster.tls_server_name.clone_from(&self.tls_server_name);
        }
        if self.insecure_skip_tls_verify {
            cluster.insecure_skip_tls_verify = Some(true);
            cluster.certificate_authority = None;
            cluster.certificate_authority_data = None;
        }
        if let Some(path) = &self.certificate_authority {
            cluster.insecure_skip_tls_verify = Some(self.insecure_skip_tls_verify);
            cluster.certificate_authority = Some(path.display().to_string());
            cluster.certificate_authority_data = None;
        }
        let server = self.server.clone().or(cluster.server.take());
        let secure = cluster.certificate_authority.is_some() || cluster.certificate_authority_data.is_some();
        let secure = secure || cluster.insecure_skip_tls_verify == Some(true);
        cluster.server = server.map(|server| match server.contains("://") {
            false if server.is_empty() => server,
            false => format!("{}://{server}", if secure { "https" } else { "http" }),
            true => server,
        });
        cluster
    }

    fn overridden_user(&self, mut user: AuthInfo) -> AuthInfo {
        let has_credentials = self.token.is_some() || self.username.is_some() || self.password.is_some();
        if has_credentials {
            (user.token, user.token_file, user.exec, user.auth_provider) = (None, None, None, None);
            (user.username, user.password) = (self.username.clone(), None);
            user.token = self.token.clone().map(Into::into);
            user.password = self.password.clone().map(Into::into);
        }
        if let Some(path) = &self.client_certificate {
            user.client_certificate = Some(path.display().to_string());
            user.client_certificate_data = None;
        }
        if let Some(path) = &self.client_key {
            user.client_key = Some(path.display().to_string());
            user.client_key_data = None;
        }
        if self.impersonate.is_some() {
            user.impersonate.clone_from(&self.impersonate);
        }
        if self.impersonate_uid.is_some() {
            user.impersonate_uid.clone_from(&self.impersonate_uid);
        }
        if !self.impersonate_groups.is_empty() {
            user.impersonate_groups = Some(self.impersonate_groups.clone());
        }
        user
    }

    /// Applies the options that do not depend on the source of the configuration.
    fn with_common_options(&self, mut config: Config) -> Result<Config> {
        if self.impersonate.is_none()
            && (self.impersonate_uid.is_some() || !self.impersonate_groups.is_empty())
        {
            let message = "impersonating a group or UID requires a user";
            return Err(Diagnostic::error(Code::Usage, message).help("add --as"));
        }
        // This crate retries requests itself.
        config.default_retry = false;
        let agent = concat!("kubectl-smp/", env!("CARGO_PKG_VERSION"));
        config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(agent)));
        Ok(config)
    }
}

/// Returns the text of a file, and its entry `name` in `clusters` or `users`.
fn find_entry(path: &Path, kind: &str, name: &str) -> Option<(String, Node)> {
    let text = text_at(path).ok()?;
    let sources = SourceMap::default();
    let source = sources.add(path, text.as_str());
    let documents = yaml::parse_documents(&sources, source, ParseOptions::kubectl()).ok()?;
    let lists = documents.iter().filter_map(|document| document.get(&format!("{kind}s"))?.as_list());
    let is_named = |entry: &&Node| entry.get("name").and_then(Node::as_str) == Some(name);
    let entry = lists.flatten().find(is_named)?.get(kind)?.clone();
    Some((text.as_str().to_string(), entry))
}

/// Returns the location in a parser's message, such as `line 3 column 5`.
fn location_in(text: &Source, source: SourceId, message: &str) -> Option<Span> {
    let number = |word: &str| {
        let (_, rest) = message.rsplit_once(word)?;
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
    };
    let (line, column) = (number("line")?, number("column")?);
    let before = text.line(line).chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    let start = text.line_start(line) + before;
    Some(Span::new(source, start, start))
}

/// Rejects addresses with an unescaped `#` or `?` before an `@`, as in a password. A parser would use the part before
/// this character as the host.
fn check_address(what: &str, address: &str) -> Result<()> {
    let is_cut = address.find(['#', '?']).is_some_and(|i| address[i..].contains('@'));
    if !is_cut {
        return Ok(());
    }
    let message = format!("invalid {what}: it has `#` or `?` before an `@`");
    Err(Diagnostic::error(Code::InvalidValue, message).help("escape these characters as `%23` and `%3F`"))
}

/// Creates kube's configuration. It differs from that of kube 5.0 if kube differs from kubectl: for the proxy, kube
/// matches `NO_PROXY` against the proxy and not against the server.
fn config_of(context: &str, cluster: &Cluster, mut user: AuthInfo) -> Result<Config> {
    let address = cluster.server.as_deref().unwrap_or_default();
    check_address("server address", address)?;
    let server: Uri = address.parse().map_err(|error| invalid_value("server address", address, &error))?;
    if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        let cluster =
            cluster.try_into().map_err(|e: KubeconfigError| invalid_value("cluster", context, &e))?;
        exec.cluster = Some(cluster);
    }
    let configured = cluster.proxy_url.clone().filter(|url| !url.is_empty());
    let proxy = configured.or_else(|| proxy::from_environment(&server));
    let mut config = Config::new(server);
    proxy.iter().try_for_each(|url| check_address("proxy address", url))?;
    config.proxy_url = proxy
        .map(|url| url.parse().map_err(|error: InvalidUri| invalid_value("proxy address", &url, &error)))
        .transpose()?;
    config.root_cert = authorities(cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
    config.auth_info = user;
    Ok(config)
}

/// Returns the certificate authorities of the server in DER, or `None` for those of the system.
fn authorities(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>> {
    let invalid =
        |what: &str| Diagnostic::error(Code::InvalidValue, format!("{what} has no PEM certificate"));
    let (what, text) = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(data), _) if !data.is_empty() => {
            let what = "certificate-authority-data of the kubeconfig".to_string();
            let text = STANDARD.decode(data.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            (what.clone(), text.ok_or_else(|| invalid(&what))?)
        }
        (_, Some(path)) if !path.is_empty() => {
            let what = "the certificate authority";
            let text = DiskTree.open_stream(Path::new(path)).and_then(OpenFile::read_text);
            let text = text.map_err(|e| unreadable(Path::new(path), what, &chain(&e)))?;
            (format!("{what} {path}"), text)
        }
        _ => return Ok(None),
    };
    let certificates = pem_certificates(&text).filter(|certificates| !certificates.is_empty());
    certificates.map(Some).ok_or_else(|| invalid(&what))
}

/// Returns the contents of all `CERTIFICATE` blocks, or `None` if one of them is not base64.
fn pem_certificates(text: &str) -> Option<Vec<Vec<u8>>> {
    text.split("-----BEGIN CERTIFICATE-----")
        .skip(1)
        .map(|block| {
            let (body, _) = block.split_once("-----END CERTIFICATE-----")?;
            let digits: String = body.chars().filter(|c| !c.is_whitespace()).collect();
            STANDARD.decode(digits).ok()
        })
        .collect()
}

fn existing(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter(|path| DiskTree.contains(path)).collect()
}

/// The contents of pipes, which can be read only once, while a process may connect several times.
static STREAMS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// The text of a kubeconfig. Relative paths in a file are resolved against its directory; those in a pipe are not.
enum KubeconfigText {
    Stream(String),
    File(String),
}

impl KubeconfigText {
    fn as_str(&self) -> &str {
        match self {
            Self::Stream(text) | Self::File(text) => text,
        }
    }
}

/// Reads a kubeconfig. kube panics at truncated UTF-16, so the text is validated before kube reads it.
fn text_at(path: &Path) -> Result<KubeconfigText> {
    if let Ok(bytes) = DiskTree.read(path) {
        return text_of(path, bytes).map(KubeconfigText::File);
    }
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = streams.get(path) {
        return Ok(KubeconfigText::Stream(text.clone()));
    }
    let bytes = DiskTree.read_stream(path).map_err(|e| unreadable(path, "the kubeconfig", &chain(&e)))?;
    let text = text_of(path, bytes)?;
    streams.insert(path.to_path_buf(), text.clone());
    Ok(KubeconfigText::Stream(text))
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String> {
    yaml::decode(bytes).map_err(|error| unreadable(path, "the kubeconfig", error.message()))
}

fn unreadable(path: &Path, what: &str, why: &str) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("cannot read {what} {}: {why}", path.display()))
}

fn invalid_value(what: &str, value: &str, error: &(dyn std::error::Error + 'static)) -> Diagnostic {
    // An address without a scheme may also contain a user and a password.
    let shown = if value.contains("://") { value } else { value.rsplit('@').next().unwrap_or_default() };
    Diagnostic::error(Code::InvalidValue, format!("invalid {what} `{shown}`: {}", chain(error)))
}

fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Diagnostic {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let error = Diagnostic::error(Code::NoMatch, format!("the kubeconfig has no {what} `{name}`"));
    if known.is_empty() {
        return error.help("check --kubeconfig and the environment variable KUBECONFIG");
    }
    let near = did_you_mean(name, &known).map(|near| format!("{near} "));
    error.help(format!("{}use one of: {}", near.unwrap_or_default(), known.join(", ")))
}

fn no_server(kubeconfig: &Kubeconfig) -> Diagnostic {
    let error = Diagnostic::error(Code::Remote, "no cluster is configured");
    error.help(if kubeconfig.contexts.is_empty() {
        "set KUBECONFIG, or use --kubeconfig or --server"
    } else {
        "select one with --context, or with `kubectl config use-context`"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig() -> Kubeconfig {
        let text = r"
apiVersion: v1
kind: Config
current-context: a
clusters:
- {name: one, cluster: {server: 'https://one.example', certificate-authority: /nowhere, tls-server-name: x}}
- {name: two, cluster: {server: 'https://two.example', insecure-skip-tls-verify: true}}
users:
- {name: ann, user: {token: t, as: bob}}
contexts:
- {name: a, context: {cluster: one, user: ann, namespace: shop}}
- {name: b, context: {cluster: gone, user: gone}}
";
        Kubeconfig::from_yaml(text).expect("the test's kubeconfig")
    }

    #[test]
    fn truncated_characters_are_rejected() {
        use std::io::Write as _;
        for bytes in [&[0xFF, 0xFE, 0][..], &[0xFE, 0xFF, b'a'], b"a: \xff"] {
            let mut file = tempfile::NamedTempFile::new().expect("a file");
            file.write_all(bytes).expect("writable");
            let options =
                ConnectOptions { kubeconfig: Some(file.path().into()), ..ConnectOptions::default() };
            let error = options.server_id().expect_err("no text");
            assert!(error.message().contains("the text is not valid UTF"), "{error}");
        }
    }

    #[test]
    fn requested_contexts_clusters_and_users_must_exist() {
        let kubeconfig = kubeconfig();
        let options = ConnectOptions { context: Some("nope".into()), ..Default::default() };
        let error = options.context(&kubeconfig).expect_err("no such context");
        assert_eq!(error.help_text(), Some("use one of: a, b"));

        let options = ConnectOptions { context: Some("b".into()), ..Default::default() };
        let (_, context) = options.context(&kubeconfig).expect("context b");
        assert!(options.cluster(&kubeconfig, &context).is_err(), "its cluster is missing");
        assert!(options.user(&kubeconfig, &context).is_ok(), "a missing user of a context is anonymous");
        let options = ConnectOptions { user: Some("gone".into()), ..Default::default() };
        assert!(options.user(&kubeconfig, &context).is_err(), "a missing user of --user is an error");
        let options = ConnectOptions { server: Some("https://three.example".into()), ..Default::default() };
        assert!(options.cluster(&kubeconfig, &context).is_ok(), "--server needs no cluster");
    }

    #[test]
    fn flags_override_the_cluster() {
        let kubeconfig = kubeconfig();
        let cluster = |options: &ConnectOptions| {
            let (_, context) = options.context(&kubeconfig).expect("context a");
            options.overridden_cluster(options.cluster(&kubeconfig, &context).expect("cluster one"))
        };
        let plain = cluster(&ConnectOptions::default());
        assert_eq!(plain.tls_server_name.as_deref(), Some("x"));
        let server = cluster(&ConnectOptions { server: Some("h:1".into()), ..Default::default() });
        assert_eq!(server.server.as_deref(), Some("https://h:1"), "there is a certificate authority");
        assert_eq!(server.tls_server_name, None, "it belongs to the other server");
        let insecure = cluster(&ConnectOptions { insecure_skip_tls_verify: true, ..Default::default() });
        assert_eq!(insecure.certificate_authority, None);
        let two = ConnectOptions {
            cluster: Some("two".into()),
            certificate_authority: Some("ca.pem".into()),
            ..Default::default()
        };
        assert_eq!(cluster(&two).insecure_skip_tls_verify, Some(false));
    }

    #[test]
    fn flags_override_the_user() {
        let options = ConnectOptions { token: Some("u".into()), ..Default::default() };
        let user =
            AuthInfo { token_file: Some("f".into()), impersonate: Some("bob".into()), ..Default::default() };
        let user = options.overridden_user(user);
        assert!(user.token.is_some() && user.token_file.is_none());
        assert_eq!(user.impersonate.as_deref(), Some("bob"));
    }

    #[test]
    fn certificates_are_read_from_pem() {
        let block = "-----BEGIN CERTIFICATE-----\nAQI=\n-----END CERTIFICATE-----\n";
        assert_eq!(pem_certificates(&format!("# note\n{block}{block}")), Some(vec![vec![1, 2], vec![1, 2]]));
        assert_eq!(pem_certificates("-----BEGIN CERTIFICATE-----\nAQI="), None);
        assert_eq!(pem_certificates(""), Some(Vec::new()));
    }
}
