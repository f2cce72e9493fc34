//! Measures the performance of the server: `cargo bench -p kubernetes-test-server --features kube,serve`. Fails if it
//! does not reach the figures in the documentation. On a slower machine, `SMP_TEST_SLOWER` sets a factor for the
//! limits.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::env;
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use kubernetes_test_server::serve::Server;
use kubernetes_test_server::{ClusterService, TestCluster};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tower::ServiceExt as _;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn main() {
    // `cargo test --benches` passes no arguments, and only checks that the benchmark compiles.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    start();
    LocalSet::new().block_on(&runtime, async {
        creates(20_000).await;
        creates_over_tls(6_000, 16).await;
        watchers(1_000, 10_000).await;
        memory(100_000).await;
    });
}

/// Returns a limit, increased by the factor for a slower machine.
fn limit(seconds: f64) -> f64 {
    let factor = env::var("SMP_TEST_SLOWER").ok().and_then(|text| text.parse::<f64>().ok());
    seconds * factor.unwrap_or(1.0)
}

fn start() {
    const COUNT: u32 = 200;
    black_box(TestCluster::new());
    let begin = Instant::now();
    for _ in 0..COUNT {
        black_box(TestCluster::new());
    }
    let took = begin.elapsed() / COUNT;
    println!("start                {:>10.3} ms", took.as_secs_f64() * 1e3);
    assert!(took.as_secs_f64() < limit(0.005), "a cluster starts in 5 ms");
}

fn map(number: usize) -> Bytes {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{number:06}"), "labels": {"app": "web"}},
        "data": {"key": "value", "number": number.to_string()},
    })
    .to_string()
    .into()
}

fn create(number: usize) -> Request<Full<Bytes>> {
    let request =
        Request::post(MAPS).header("content-type", "application/json").header("user-agent", "load/1");
    request.body(Full::new(map(number))).expect("a request")
}

async fn create_in_process(service: &ClusterService, request: Request<Full<Bytes>>) {
    let response = service.clone().oneshot(request).await.expect("a response");
    assert_eq!(response.status(), 201);
    black_box(response.into_body().collect().await.expect("a body"));
}

fn report(what: &str, count: usize, took: Duration, least: f64) {
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let rate = count as f64 / took.as_secs_f64();
    println!("{what:<20} {rate:>10.0} /s");
    assert!(rate > least / limit(1.0), "{what}: at least {least} a second");
}

async fn creates(count: usize) {
    let cluster = TestCluster::new();
    let service = cluster.service();
    let requests: Vec<_> = (0..count).map(create).collect();
    let begin = Instant::now();
    for request in requests {
        create_in_process(&service, request).await;
    }
    report("creates", count, begin.elapsed(), 20_000.0);
}

/// Returns a connector that trusts a certificate authority.
fn connector(authority: &str) -> tokio_rustls::TlsConnector {
    let authority = CertificateDer::from_pem_slice(authority.as_bytes());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tokio_rustls::TlsConnector::from(Arc::new(client))
}

/// Opens a TLS connection.
async fn connected(
    connector: &tokio_rustls::TlsConnector,
    address: &str,
) -> tokio_rustls::client::TlsStream<TcpStream> {
    let stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("an option");
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    connector.connect(name, stream).await.expect("TLS")
}

/// Creates objects over several connections. The clients run in the same process.
async fn creates_over_tls(count: usize, connections: usize) {
    let cluster = TestCluster::new();
    let server = Server::bind(&cluster, 0, false).await.expect("a port");
    let (url, token) = (server.url(), server.token().to_string());
    let connector = connector(server.certificate_authority());
    let address = url.trim_start_matches("https://").to_string();
    spawn_local(server.run());
    let next = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let clients: Vec<_> = (0..connections)
        .map(|_| {
            let (next, connector) = (Arc::clone(&next), connector.clone());
            let (address, token) = (address.clone(), token.clone());
            spawn_local(async move {
                let stream = connected(&connector, &address).await;
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
                spawn_local(connection);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let mut request = create(number);
                    let headers = request.headers_mut();
                    headers.insert("host", address.parse().expect("a host"));
                    headers.insert("authorization", format!("Bearer {token}").parse().expect("a token"));
                    let response = sender.send_request(request).await.expect("a response");
                    assert_eq!(response.status(), 201);
                    black_box(response.into_body().collect().await.expect("a body"));
                }
            })
        })
        .collect();
    for client in clients {
        client.await.expect("a client");
    }
    report("creates over TLS", count, begin.elapsed(), 3_000.0);
}

/// Lets watchers read all changes of a writer at the same time.
async fn watchers(watchers: usize, events: usize) {
    let cluster = TestCluster::new();
    let service = cluster.service();
    let begin = Instant::now();
    let readers: Vec<_> = (0..watchers)
        .map(|_| {
            let service = service.clone();
            spawn_local(async move {
                let uri = format!("{MAPS}?watch=1&resourceVersion={}", 1);
                let request = Request::get(uri).body(Full::<Bytes>::default()).expect("a request");
                let mut body = service.oneshot(request).await.expect("a response").into_body();
                for number in 0..events {
                    let frame = body.frame().await.expect("no end").expect("no error");
                    let line = frame.into_data().expect("data");
                    let name = format!("map-{number:06}");
                    let start = &line[..line.len().min(2000)];
                    assert!(memchr::memmem::find(start, name.as_bytes()).is_some(), "event {number}");
                }
            })
        })
        .collect();
    for number in 0..events {
        create_in_process(&service, create(number)).await;
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for reader in readers {
        reader.await.expect("every event");
    }
    report("events to watchers", watchers * events, begin.elapsed(), 100_000.0);
}

async fn memory(count: usize) {
    let before = resident();
    let cluster = TestCluster::new();
    let service = cluster.service();
    for number in 0..count {
        create_in_process(&service, create(number)).await;
    }
    let used = resident().saturating_sub(before);
    println!("{count} objects       {:>10} MB", used >> 10);
    assert!(used >> 20 < 1, "less than 1 GB");
}

/// Returns the resident memory in kB.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
