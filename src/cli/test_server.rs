//! `kubectl smp test-server`: an API server in memory, for clients in any language.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;

use super::Outcome;
use super::report::{finish_printing, print_line};
use super::signals::stop_at_first_signal;
use smp_files::{remove_own_file, replace_private_file};
use smp_server::serve::Server;
use smp_server::{Controller, TestCluster};
use smp_text::diagnostic::{Code, Diagnostic};

/// Serve an API server in memory, for tests of clients and controllers.
#[derive(Debug, Args)]
pub(super) struct TestServerArgs {
    /// Loopback port; 0 selects a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Kubeconfig file to write; removed when the server exits
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Directory of CustomResourceDefinitions to serve
    #[arg(long, value_name = "DIR")]
    crds: Vec<PathBuf>,

    /// Directory of objects to create, plain or a kustomization
    #[arg(long, value_name = "DIR")]
    load: Vec<PathBuf>,

    /// Controllers to simulate, such as `deployment`; `*` for all
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        num_args = 0..=1,
        default_missing_value = ALL,
        value_parser = controllers
    )]
    controllers: Vec<Controllers>,

    /// Changes to keep for each resource; older watches get 410
    #[arg(long, value_name = "CHANGES")]
    history: Option<usize>,

    /// Serve HTTP without TLS
    #[arg(long)]
    insecure_http: bool,
}

const ALL: &str = "*";

/// The controllers that a name selects: a single one, or all for `*`.
type Controllers = Vec<Controller>;

fn controllers(name: &str) -> Result<Controllers, String> {
    if name == ALL {
        return Ok(Controller::ALL.to_vec());
    }
    let found = Controller::from_name(name);
    found.map(|found| vec![found]).ok_or_else(|| {
        let names = Controller::ALL.map(Controller::name).join(", ");
        format!("unknown controller, use `{ALL}` or one of: {names}")
    })
}

/// The interval at which signals are checked.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn run(args: &TestServerArgs) -> Outcome {
    let stop = stop_at_first_signal();
    let directories = args.crds.iter().chain(&args.load);
    let cluster = directories.fold(TestCluster::builder(), smp_server::Builder::overlay);
    let cluster = cluster.controllers(args.controllers.iter().flatten().copied());
    let cluster = args.history.into_iter().fold(cluster, smp_server::Builder::history).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed("the server failed", &error))?;
    runtime.block_on(async {
        let server = Server::bind(&cluster, args.port, args.insecure_http).await;
        let server = server.map_err(|error| cannot_listen(args.port, &error))?;
        let Some(path) = &args.kubeconfig else { return serve(server, &stop).await };
        let kubeconfig = server.kubeconfig();
        replace_private_file(path, kubeconfig.as_bytes())?;
        let served = serve(server, &stop).await;
        remove_own_file(path, kubeconfig.as_bytes())?;
        served
    })
}

/// Serves until the first signal.
async fn serve(server: Server, stop: &AtomicBool) -> Outcome {
    print_line(&server.url())?;
    finish_printing()?;
    let stopped = async {
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(SIGNAL_INTERVAL).await;
        }
    };
    tokio::select! {
        () = server.run() => {}
        () = stopped => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn cannot_listen(port: u16, error: &std::io::Error) -> Diagnostic {
    let help = "use another --port, or 0 for a free one";
    failed(&format!("the server cannot listen on 127.0.0.1:{port}"), error).help(help)
}

fn failed(what: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("{what}: {error}"))
}
