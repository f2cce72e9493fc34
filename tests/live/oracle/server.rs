//! A client of the API server that uses neither the program nor kubectl.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use tokio::runtime::{Builder, Runtime};

use super::{Resource, Rig};

pub(super) struct Server {
    runtime: Runtime,
    client: Client,
}

impl Server {
    pub(super) fn connect(rig: &Rig) -> Self {
        let kubeconfig = Kubeconfig::read_from(rig.kubeconfig()).expect("a kubeconfig");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = runtime.block_on(async {
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            Client::try_from(config.expect("a configuration")).expect("a client")
        });
        Self { runtime, client }
    }

    fn send(&self, method: &str, path: &str, body: Option<(&str, &Value)>) -> Result<Value, String> {
        let mut request = http::Request::builder().method(method).uri(path);
        if let Some((content_type, _)) = body {
            request = request.header("content-type", content_type);
        }
        let body = body.map(|(_, value)| value.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(body).expect("a request");
        self.runtime.block_on(self.client.request::<Value>(request)).map_err(|error| error.to_string())
    }

    /// Applies an object server-side and forces conflicts.
    pub(super) fn apply(&self, resource: &Resource, object: &Value, manager: &str) -> Result<Value, String> {
        let metadata = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let path = path(resource, metadata("namespace"), metadata("name"));
        let path = format!("{path}?fieldManager={manager}&force=true&fieldValidation=Strict");
        self.send("PATCH", &path, Some(("application/apply-patch+yaml", object)))
    }

    pub(super) fn get(&self, resource: &Resource, namespace: &str, name: &str) -> Option<Value> {
        self.send("GET", &path(resource, namespace, name), None).ok()
    }

    pub(super) fn install(&self, definition: &Value) {
        const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let created = self.send("POST", PATH, Some(("application/json", definition)));
        created.unwrap_or_else(|error| panic!("{}: {error}", definition["metadata"]["name"]));
    }

    /// The kinds that are served with a schema, as `apiVersion`s.
    pub(super) fn published(&self) -> Vec<String> {
        let index = self.send("GET", "/openapi/v3", None).expect("an index");
        let paths = index["paths"].as_object().into_iter().flatten();
        paths.filter_map(|(path, _)| path.strip_prefix("apis/").map(str::to_string)).collect()
    }
}

fn path(resource: &Resource, namespace: &str, name: &str) -> String {
    let Resource { api_version, plural, namespaced, .. } = resource;
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let scope = if *namespaced { format!("/namespaces/{namespace}") } else { String::new() };
    format!("/{root}/{api_version}{scope}/{plural}/{name}")
}
