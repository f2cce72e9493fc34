//! `IAMPolicyGenerator`: a ServiceAccount that is bound to an account of a cloud provider.

use serde::Deserialize;

use crate::resource::Resource;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Spanned};

/// The configuration of an `IAMPolicyGenerator`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IamPolicy {
    /// The provider; only `gke` is supported.
    pub cloud: Spanned<String>,
    /// The ServiceAccount in the cluster.
    pub kubernetes_service: KubernetesAccount,
    /// The account at the provider.
    pub service_account: CloudAccount,
}

/// The ServiceAccount in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KubernetesAccount {
    /// The name.
    pub name: Spanned<String>,
    /// The namespace; empty if there is none.
    pub namespace: Spanned<String>,
}

/// The account at the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CloudAccount {
    /// The name.
    pub name: Spanned<String>,
    /// The project of the account.
    pub project_id: Spanned<String>,
}

/// Generates the ServiceAccount.
///
/// # Errors
/// The provider is not supported, or the name is missing.
pub fn iam_policy(config: &IamPolicy, schema: &Schema) -> Result<Resource> {
    if *config.cloud != "gke" {
        let message = format!("unsupported cloud `{}`", *config.cloud);
        return Err(Diagnostic::error(Code::Unsupported, message)
            .at(config.cloud.span)
            .help("the only supported value is `gke`"));
    }
    let account = &config.kubernetes_service;
    if account.name.is_empty() {
        return Err(Diagnostic::error(Code::MissingField, "the ServiceAccount has no name")
            .at(config.cloud.span)
            .field("kubernetesService.name"));
    }
    // As in kustomize, these are written without quotes, so their text determines their type.
    let plain = |text: &Spanned<String>| Node::plain(text.as_str()).with_span(text.span);
    let CloudAccount { name, project_id } = &config.service_account;
    let email = Node::string(format!("{}@{}.iam.gserviceaccount.com", **name, **project_id));
    let annotation = ("iam.gke.io/gcp-service-account", email.with_span(name.span));
    let mut metadata: Map =
        [("annotations", Node::map([annotation].into_iter().collect())), ("name", plain(&account.name))]
            .into_iter()
            .collect();
    if !account.namespace.is_empty() {
        metadata.push("namespace", plain(&account.namespace));
    }
    let fields = [
        ("apiVersion", Node::plain("v1")),
        ("kind", Node::plain("ServiceAccount")),
        ("metadata", Node::map(metadata)),
    ];
    let node = Node::map(fields.into_iter().collect()).with_span(account.name.span);
    Ok(Resource::unchecked(node, schema))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::yaml::to_yaml;

    #[test]
    fn service_account_for_gke_is_generated() {
        let config: IamPolicy = serde_json::from_str("{}").expect("defaults");
        assert_eq!(iam_policy(&config, &Schema::empty()).expect_err("no cloud").code(), Code::Unsupported);
        let config = IamPolicy {
            cloud: "gke".to_string().into(),
            kubernetes_service: KubernetesAccount {
                name: "ksa".to_string().into(),
                namespace: "ns".to_string().into(),
            },
            service_account: CloudAccount {
                name: "gsa".to_string().into(),
                project_id: "p-1".to_string().into(),
            },
        };
        let made = iam_policy(&config, &Schema::empty()).expect("made");
        let want = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  annotations:\n    \
                    iam.gke.io/gcp-service-account: gsa@p-1.iam.gserviceaccount.com\n  name: ksa\n  namespace: ns\n";
        assert_eq!(to_yaml(made.node()).expect("YAML"), want);
    }
}
