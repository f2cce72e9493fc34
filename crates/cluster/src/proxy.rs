//! Selects the proxy for a server: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` as in Go programs such as kubectl.

use std::net::IpAddr;

use http::Uri;

/// Returns the proxy for a server from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, if any.
pub(super) fn from_environment(server: &Uri) -> Option<String> {
    let read = |name: &str| {
        let value = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        value(name).or_else(|| value(&name.to_lowercase()))
    };
    let secure = server.scheme_str() != Some("http");
    let proxy = read(if secure { "HTTPS_PROXY" } else { "HTTP_PROXY" })?;
    let direct = is_direct(server, &read("NO_PROXY").unwrap_or_default());
    (!direct).then(|| if proxy.contains("://") { proxy } else { format!("http://{proxy}") })
}

/// Returns true if a server is connected to without a proxy: the local host, and all servers that match `no_proxy`.
fn is_direct(server: &Uri, no_proxy: &str) -> bool {
    let host =
        server.host().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.').to_lowercase();
    let ip: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
        return true;
    }
    let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
    let host = Host { name: &host, ip, port };
    no_proxy.split(',').map(|entry| entry.trim().to_lowercase()).any(|entry| {
        entry == "*" || ip.is_some_and(|ip| in_network(ip, &entry)) || matches_host(&host, &entry)
    })
}

/// The host and port of a server.
struct Host<'h> {
    name: &'h str,
    /// The IP address, if the name is one.
    ip: Option<IpAddr>,
    port: u16,
}

/// Matches an entry such as `10.0.0.0/8`.
fn in_network(ip: IpAddr, entry: &str) -> bool {
    let Some((network, length)) = entry.split_once('/') else { return false };
    let (Ok(network), Ok(length)) = (network.parse::<IpAddr>(), length.parse::<u32>()) else { return false };
    let bits = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()) << 96, 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    };
    let ((ip, width), (network, network_width)) = (bits(ip), bits(network));
    let mask = u128::MAX.checked_shl(128 - length.min(128)).unwrap_or(0);
    width == network_width && length <= width && ip & mask == network & mask
}

/// Matches a host or address, optionally with a port. A domain also matches its subdomains. With a leading `.` or `*.`,
/// it only matches subdomains.
fn matches_host(host: &Host<'_>, entry: &str) -> bool {
    // An IPv6 address without brackets has colons but no port.
    let with_port = if entry.parse::<IpAddr>().is_ok() { None } else { entry.rsplit_once(':') };
    let name = match with_port.map(|(name, digits)| (name, digits.parse::<u16>())) {
        Some((name, Ok(port))) if port == host.port => name,
        Some((_, Ok(_))) => return false,
        _ => entry,
    };
    // Addresses are compared as numbers, since the same IPv6 address can be written in different ways.
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name).parse();
    if let Some(ip) = host.ip {
        return address == Ok(ip);
    }
    let domain = name.strip_prefix('*').filter(|domain| domain.starts_with('.')).unwrap_or(name);
    if domain.is_empty() {
        return false;
    }
    match domain.strip_prefix('.') {
        Some(_) => host.name.ends_with(domain),
        None => host.name == domain || host.name.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_matches_as_in_go() {
        let table = [
            ("https://127.0.0.1:6443", "", true),
            ("https://localhost", "", true),
            ("https://[::1]:6443", "", true),
            ("https://10.1.2.3:6443", "", false),
            ("https://10.1.2.3:6443", "a.example, 10.0.0.0/8,", true),
            ("https://11.1.2.3:6443", "10.0.0.0/8", false),
            ("https://10.1.2.3:6443", "0.0.0.0/0", true),
            ("https://10.1.2.3:6443", "10.1.2.3", true),
            ("https://10.1.2.3:6443", "10.1.2.3:443", false),
            ("https://[fd00::5]:6443", "fd00::/16", true),
            ("https://[fd00::5]:6443", "fd00::5", true),
            ("https://10.1.2.3:6443", "::/0", false),
            ("https://k8s.example.com", "example.com", true),
            ("https://k8s.example.com", ".example.com", true),
            ("https://example.com", ".example.com", false),
            ("https://example.com", "*.example.com", false),
            ("https://k8s.example.com", "*.example.com:443", true),
            ("https://badexample.com", "example.com", false),
            ("https://K8S.example.com.", "k8s.EXAMPLE.com", true),
            ("https://k8s.example.com", "*", true),
            ("https://k8s.example.com", "*example.com", false),
            ("https://example.com", "*example.com", false),
            ("https://[fd00::5]:6443", "fd00:0:0:0:0:0:0:5", true),
            ("https://[fd00::5]:6443", "[fd00:0::5]:6443", true),
            ("https://[fd00::5]:6443", "[fd00::5]:443", false),
            ("https://[fd00::5]:6443", "fd00::6", false),
            ("https://10.1.2.3:6443", "2.3", false),
        ];
        for (server, no_proxy, want) in table {
            let uri: Uri = server.parse().expect(server);
            assert_eq!(is_direct(&uri, no_proxy), want, "{server} with NO_PROXY={no_proxy}");
        }
    }
}
