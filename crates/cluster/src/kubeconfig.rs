//! Which cluster, and as whom: kubeconfig files and the flags that override them.
//!
//! Files, contexts and overrides are chosen as kubectl does (client-go's `clientcmd`); how a file
//! is read, and how credentials are got from it, is kube's affair.

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

use super::failure::{Endpoint, chain};
use super::proxy;
use smp_files::{DiskTree, FileTree as _, OpenFile};
use smp_overlay::schema_chain::cache::ServerId;
use smp_text::diagnostic::{Code, Diagnostic, Result, without_quoted};
use smp_text::source::{Source, SourceId, SourceMap, Span};
use smp_text::yaml::{self, Node, ParseOptions, suggestion};

/// What kubectl's own flags say about the connection; everything may be left open.
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
    /// `--namespace`: where objects without a namespace go, and the only one that objects may name.
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
    /// `--request-timeout`: the most that one request may take, with all that is sent again; zero is no limit.
    /// Without it, a server may be silent for 30 seconds.
    pub request_timeout: Option<Duration>,
    /// Gets the texts of kubeconfigs in which something is wrong, so that its place can be told. Their lines are
    /// never shown.
    pub sources: SourceMap,
}

/// A cluster's address and credentials, with all options applied.
pub(super) struct Access {
    pub(super) config: Config,
    /// The name of the context; none when flags or a Pod's own account say all.
    pub(super) context: Option<String>,
    /// The namespace of objects that name none.
    pub(super) namespace: String,
}

impl Access {
    /// The server as messages name it; its URL has no slash at the end.
    pub(super) fn endpoint(&self) -> Endpoint {
        let server = self.config.cluster_url.to_string().trim_end_matches('/').to_string();
        let port = |uri: &Uri| uri.port_u16().map_or_else(String::new, |port| format!(":{port}"));
        let proxy = self.config.proxy_url.as_ref();
        let proxy = proxy.map(|uri| format!("{}{}", uri.host().unwrap_or_default(), port(uri)));
        Endpoint { server, context: self.context.clone(), proxy }
    }

    /// The server as caches know it.
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
    /// The server that would be asked. Reads the kubeconfig and what it names, and nothing else.
    ///
    /// # Errors
    /// As [`Cluster::connect`](super::Cluster::connect), but for the credentials.
    pub fn server_id(&self) -> Result<ServerId> {
        Ok(self.access()?.server_id())
    }

    /// The namespace of objects that name none, as the kubeconfig says; none is needed.
    ///
    /// # Errors
    /// The kubeconfig cannot be read or lacks what was asked for.
    pub fn default_namespace(&self) -> Result<String> {
        let own = || -> Result<_> { Ok(self.context(&self.read()?)?.1.namespace) };
        let namespace = self.namespace.clone().map_or_else(own, |namespace| Ok(Some(namespace)))?;
        Ok(namespace.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".into()))
    }

    /// Whether they name something that a kubeconfig must have, or the kubeconfig itself.
    #[must_use]
    pub fn names_something(&self) -> bool {
        let names = [&self.context, &self.cluster, &self.user];
        self.kubeconfig.is_some() || names.into_iter().any(Option::is_some)
    }

    /// Whether there is no cluster since `KUBECONFIG` names only files that are not there.
    #[must_use]
    pub fn lacks_kubeconfig(&self) -> bool {
        let named = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
        self.kubeconfig.is_none()
            && named.is_some_and(|paths| existing(std::env::split_paths(&paths)).is_empty())
    }

    /// Reads what there is to read and chooses.
    pub(super) fn access(&self) -> Result<Access> {
        let kubeconfig = self.read()?;
        let nothing_said = self.server.is_none() && self.context.is_none() && self.cluster.is_none();
        if nothing_said && kubeconfig.clusters.is_empty() {
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
            config: self.finished(config_of(context_name.as_deref().unwrap_or_default(), &cluster, user)?)?,
            context: context_name,
            namespace: namespace.unwrap_or_else(|| "default".into()),
        })
    }

    /// The one of the flag, else those of `KUBECONFIG` that exist, else `~/.kube/config`.
    fn paths(&self) -> Vec<PathBuf> {
        match (&self.kubeconfig, std::env::var_os("KUBECONFIG")) {
            (Some(path), _) if !path.as_os_str().is_empty() => vec![path.clone()],
            (_, Some(paths)) if !paths.is_empty() => existing(std::env::split_paths(&paths)),
            _ => existing(dirs::home_dir().map(|home| home.join(".kube").join("config"))),
        }
    }

    /// The files, merged.
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
                error => self.broken(path, text.as_str(), &chain(error)),
            })
        })
    }

    /// What is wrong with the text of a kubeconfig. Parsers name the value that they stumble over, and show the lines
    /// around it.
    fn broken(&self, path: &Path, text: &str, why: &str) -> Diagnostic {
        let source = self.secret_source(path, text);
        let told = |why: &str, at: Span| {
            let why = without_quoted(why.lines().next().unwrap_or_default());
            Diagnostic::error(
                Code::Syntax,
                format!("the kubeconfig {} cannot be read: {why}", path.display()),
            )
            .at(at)
        };
        let start = Span::new(source, 0, 0);
        if let Err(error) = yaml::parse_documents(&self.sources, source, ParseOptions::kubectl()) {
            return told(error.message(), error.labels().first().map_or(start, |label| label.span));
        }
        let at = self.sources.get(source).and_then(|text| named_place(&text, source, why));
        told(why, at.unwrap_or(start))
    }

    fn secret_source(&self, path: &Path, text: &str) -> SourceId {
        let source = self.sources.add(path, text);
        self.sources.keep_secret(source);
        source
    }

    /// Checks those fields of a cluster or user that are told, which hold base64, where the files have them.
    ///
    /// # Errors
    /// One is something else. Its value is not told.
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
                let source = self.secret_source(&path, &text);
                let message = format!("`{field}` of the {kind} `{name}` is no base64");
                return Err(Diagnostic::error(Code::InvalidValue, message)
                    .at(Span { source, ..value.span() })
                    .help(format!(
                        "write it as `base64 -w0` prints it, or name a file under `{}`",
                        field.trim_end_matches("-data")
                    )));
            }
            return Ok(());
        }
        Ok(())
    }

    /// The account of the Pod that this runs in.
    fn in_cluster(&self) -> Result<Access> {
        if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
            return Err(no_server(&Kubeconfig::default()));
        }
        let mut config = Config::incluster().map_err(|error| {
            let message = format!("this Pod's service account cannot be used: {error}");
            Diagnostic::error(Code::Remote, message)
        })?;
        config.auth_info = self.overridden_user(config.auth_info);
        let own = std::env::var("POD_NAMESPACE").ok().filter(|n| !n.is_empty());
        let default = own.unwrap_or_else(|| config.default_namespace.trim().to_string());
        let namespace = self.namespace.clone().unwrap_or(default);
        Ok(Access { config: self.finished(config)?, context: None, namespace })
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
            // A context may name a user that does not exist; then the request is anonymous.
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
        let told = self.token.is_some() || self.username.is_some() || self.password.is_some();
        if told {
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

    /// What holds wherever the configuration came from.
    fn finished(&self, mut config: Config) -> Result<Config> {
        if self.impersonate.is_none()
            && (self.impersonate_uid.is_some() || !self.impersonate_groups.is_empty())
        {
            let message = "a group or uid can be impersonated only together with a user";
            return Err(Diagnostic::error(Code::Usage, message).help("add --as"));
        }
        // Requests are retried by `client`, which knows when to stop.
        config.default_retry = false;
        let agent = concat!("kubectl-smp/", env!("CARGO_PKG_VERSION"));
        config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(agent)));
        Ok(config)
    }
}

/// The text of a file, and its `cluster` or `user` of a name.
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

/// The place that a parser's message names as `line 3 column 5`.
fn named_place(text: &Source, source: SourceId, message: &str) -> Option<Span> {
    let number = |word: &str| {
        let (_, rest) = message.rsplit_once(word)?;
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
    };
    let (line, column) = (number("line")?, number("column")?);
    let before = text.line(line).chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    let start = text.line_start(line) + before;
    Some(Span::new(source, start, start))
}

/// Refuses addresses that break off where a password has a character that must be escaped: what is before it would
/// be taken for the host, and asked.
fn check_address(what: &str, address: &str) -> Result<()> {
    let broken = address.find(['#', '?']).is_some_and(|i| address[i..].contains('@'));
    if !broken {
        return Ok(());
    }
    let message = format!("{what} cannot be used: it has `#` or `?` before an `@`");
    Err(Diagnostic::error(Code::InvalidValue, message).help("write such a character as `%23` or `%3F`"))
}

/// kube's configuration, but for what kube 5.0 reads otherwise than kubectl: the proxy, for which
/// it holds `NO_PROXY` against the proxy itself and not against the server.
fn config_of(context: &str, cluster: &Cluster, mut user: AuthInfo) -> Result<Config> {
    let address = cluster.server.as_deref().unwrap_or_default();
    check_address("the server's address", address)?;
    let server: Uri = address.parse().map_err(|error| unusable("the server's address", address, &error))?;
    if let Some(exec) = user.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        let cluster =
            cluster.try_into().map_err(|e: KubeconfigError| unusable("the cluster", context, &e))?;
        exec.cluster = Some(cluster);
    }
    let configured = cluster.proxy_url.clone().filter(|url| !url.is_empty());
    let proxy = configured.or_else(|| proxy::from_environment(&server));
    let mut config = Config::new(server);
    proxy.iter().try_for_each(|url| check_address("the proxy's address", url))?;
    config.proxy_url = proxy
        .map(|url| url.parse().map_err(|error: InvalidUri| unusable("the proxy's address", &url, &error)))
        .transpose()?;
    config.root_cert = authorities(cluster)?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
    config.auth_info = user;
    Ok(config)
}

/// The certificates that the server's must descend from, in DER; none leaves it to the system.
fn authorities(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>> {
    let wrong =
        |what: &str| Diagnostic::error(Code::InvalidValue, format!("{what} has no certificate in PEM"));
    let (what, text) = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(data), _) if !data.is_empty() => {
            let what = "certificate-authority-data of the kubeconfig".to_string();
            let text = STANDARD.decode(data.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            (what.clone(), text.ok_or_else(|| wrong(&what))?)
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
    certificates.map(Some).ok_or_else(|| wrong(&what))
}

/// The contents of all `CERTIFICATE` blocks; none when one of them is no base64.
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
    paths.into_iter().filter(|path| DiskTree.has(path)).collect()
}

/// The texts of pipes, which can be read only once, while a program asks for its cluster several times.
static STREAMS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// The text of a kubeconfig, and what it was read from. Paths in a pipe are not seen from its place.
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

/// Reads a kubeconfig. kube panics at half a character of UTF-16, so that all is looked at before it is kube's.
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
    Diagnostic::error(Code::Io, format!("{what} {} cannot be read: {why}", path.display()))
}

fn unusable(what: &str, value: &str, error: &(dyn std::error::Error + 'static)) -> Diagnostic {
    // An address without a scheme may have a user and a password, too.
    let shown = if value.contains("://") { value } else { value.rsplit('@').next().unwrap_or_default() };
    Diagnostic::error(Code::InvalidValue, format!("{what} `{shown}` cannot be used: {}", chain(error)))
}

fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Diagnostic {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let error = Diagnostic::error(Code::NoMatch, format!("the kubeconfig has no {what} `{name}`"));
    if known.is_empty() {
        return error.help("check --kubeconfig and the environment variable KUBECONFIG");
    }
    let near = suggestion(name, &known).map(|near| format!("{near} "));
    error.help(format!("{}it has {}", near.unwrap_or_default(), known.join(", ")))
}

fn no_server(kubeconfig: &Kubeconfig) -> Diagnostic {
    let error = Diagnostic::error(Code::Remote, "no cluster is configured");
    error.help(if kubeconfig.contexts.is_empty() {
        "set KUBECONFIG, or give --kubeconfig or --server"
    } else {
        "choose one with --context, or with `kubectl config use-context`"
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
    fn half_a_character_is_an_error() {
        use std::io::Write as _;
        for bytes in [&[0xFF, 0xFE, 0][..], &[0xFE, 0xFF, b'a'], b"a: \xff"] {
            let mut file = tempfile::NamedTempFile::new().expect("a file");
            file.write_all(bytes).expect("writable");
            let options =
                ConnectOptions { kubeconfig: Some(file.path().into()), ..ConnectOptions::default() };
            let error = options.server_id().expect_err("no text");
            assert!(error.message().contains("cannot be read: the text is not valid UTF"), "{error}");
        }
    }

    #[test]
    fn names_that_are_asked_for_must_exist() {
        let kubeconfig = kubeconfig();
        let options = ConnectOptions { context: Some("nope".into()), ..Default::default() };
        let error = options.context(&kubeconfig).expect_err("no such context");
        assert_eq!(error.help_text(), Some("it has a, b"));

        let options = ConnectOptions { context: Some("b".into()), ..Default::default() };
        let (_, context) = options.context(&kubeconfig).expect("context b");
        assert!(options.cluster(&kubeconfig, &context).is_err(), "its cluster is gone");
        assert!(options.user(&kubeconfig, &context).is_ok(), "an unknown user of a context is nobody");
        let options = ConnectOptions { user: Some("gone".into()), ..Default::default() };
        assert!(options.user(&kubeconfig, &context).is_err(), "but not one of --user");
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
        assert_eq!(server.server.as_deref(), Some("https://h:1"), "there is an authority to check by");
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
