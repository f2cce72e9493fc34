//! A controller of `Website` objects. Each website gets a Deployment and a Service by server-side apply. Its address is
//! listed in the ConfigMap `sites`, from which a finalizer removes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::watcher;
use kube::{Client, CustomResource, Resource, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The field manager of the controller.
const MANAGER: &str = "website-controller";
const FINALIZER: &str = "websites.example.com/sites";
/// The ConfigMap with the addresses of all websites of a namespace.
const SITES: &str = "sites";

/// A website: an image that serves HTTP under an address.
#[derive(CustomResource, Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Website", namespaced, status = "WebsiteStatus")]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    /// The image.
    pub image: String,
    /// The host name.
    pub host: String,
    /// The number of replicas.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 10))]
    pub replicas: i32,
}

fn one() -> i32 {
    1
}

/// The state of a website.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    /// The number of Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
}

/// The error of a reconciliation.
#[derive(Debug)]
pub struct Error(Box<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self(error.into())
    }
}

/// Reconciles websites until the process ends.
pub async fn run(client: Client) {
    let websites: Api<Website> = Api::all(client.clone());
    let deployments: Api<Deployment> = Api::all(client.clone());
    Controller::new(websites, watcher::Config::default())
        .owns(deployments, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(100)), Arc::new(client))
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(website: Arc<Website>, client: Arc<Client>) -> Result<Action, Error> {
    let namespace = website.namespace().unwrap_or_default();
    let websites: Api<Website> = Api::namespaced(Client::clone(&client), &namespace);
    let done = finalizer(&websites, FINALIZER, website, |event| async {
        match event {
            Event::Apply(website) => apply(&client, &website).await,
            Event::Cleanup(website) => list_site(&client, &website, None).await,
        }
    });
    done.await.map_err(|error| Error(error.into()))
}

async fn apply(client: &Client, website: &Website) -> Result<Action, Error> {
    let namespace = website.namespace().unwrap_or_default();
    let name = website.name_any();
    let labels = json!({"app": name});
    let metadata = json!({"name": name, "ownerReferences": [website.controller_owner_ref(&())]});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": website.spec.replicas, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": website.spec.image, "ports": [{"containerPort": 80}]}]},
            },
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": labels, "ports": [{"port": 80}]},
    });
    let params = PatchParams::apply(MANAGER);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let services: Api<Service> = Api::namespaced(client.clone(), &namespace);
    let applied = deployments.patch(&name, &params, &Patch::Apply(deployment)).await?;
    services.patch(&name, &params, &Patch::Apply(service)).await?;
    list_site(client, website, Some(&website.spec.host)).await?;
    let ready_replicas = applied.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let status = json!({"status": WebsiteStatus { ready_replicas }});
    let websites: Api<Website> = Api::namespaced(client.clone(), &namespace);
    websites.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(Action::await_change())
}

/// Sets the address of a website in the list, or removes it.
async fn list_site(client: &Client, website: &Website, host: Option<&str>) -> Result<Action, Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &website.namespace().unwrap_or_default());
    let data = BTreeMap::from([(website.name_any(), host)]);
    let patch = json!({"data": data});
    match maps.patch(SITES, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(Action::await_change()),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            let map =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SITES}, "data": data});
            if host.is_some() {
                maps.patch(SITES, &PatchParams::apply(MANAGER), &Patch::Apply(map)).await?;
            }
            Ok(Action::await_change())
        }
        Err(error) => Err(error.into()),
    }
}
