//! `kubectl smp test-server`: an API server in memory, for clients in any language.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::report::{finish_printing, print_line};
use super::signals::stop_at_first_signal;
use super::{Failure, Outcome};
use smp_files::{remove_own_file, replace_private_file};
use smp_overlay::overlay::{BuildOptions, Builder};
use smp_server::TestCluster;
use smp_server::serve::Server;
use smp_text::diagnostic::{Code, Diagnostic};

/// Serve an API server in memory, for tests of clients and controllers.
#[derive(Debug, Args)]
pub(super) struct TestServerArgs {
    /// Loopback port; 0 selects a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Kubeconfig file to write; it is removed at the end
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Directory of CustomResourceDefinitions to serve
    #[arg(long, value_name = "DIR")]
    crds: Vec<PathBuf>,

    /// Directory of objects to create, plain or a kustomization
    #[arg(long, value_name = "DIR")]
    load: Vec<PathBuf>,

    /// Serve HTTP without TLS
    #[arg(long)]
    insecure_http: bool,
}

/// The time between two looks at the signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn run(args: &TestServerArgs) -> Outcome {
    let stop = stop_at_first_signal();
    let directories = args.crds.iter().chain(&args.load);
    let objects: Vec<Vec<Value>> = directories.map(|directory| read(directory)).collect::<Result<_, _>>()?;
    let cluster = TestCluster::builder().objects(objects.into_iter().flatten()).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let server =
            Server::bind(&cluster, args.port, args.insecure_http).await.map_err(|error| failed(&error))?;
        let kubeconfig = server.kubeconfig();
        if let Some(path) = &args.kubeconfig {
            replace_private_file(path, kubeconfig.as_bytes())?;
        }
        print_line(&server.url())?;
        finish_printing()?;
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(SIGNAL_INTERVAL).await;
            }
        };
        let ended = tokio::select! {
            ended = server.run() => ended.map_err(|error| failed(&error).into()),
            () = stopped => Ok(()),
        };
        if let Some(path) = &args.kubeconfig {
            remove_own_file(path, kubeconfig.as_bytes())?;
        }
        ended.map(|()| ExitCode::SUCCESS)
    })
}

/// Reads the objects of a directory.
fn read(directory: &Path) -> Result<Vec<Value>, Failure> {
    let builder = Builder::new(BuildOptions::default())?;
    let built = builder.build(directory)?;
    Ok(built.resources.iter().map(|resource| resource.node().to_json_value()).collect())
}

fn failed(error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("the server cannot listen: {error}"))
}
