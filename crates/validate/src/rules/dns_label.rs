use super::prelude::*;
use crate::names::{is_dns_1035_label, is_dns_label};

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "dns-label",
        meaning: "The name of a container, volume or other part of an object is not a DNS label.",
        remedy: "Use the form that the message names: mostly lowercase letters, digits and `-`, at most 63 \
          characters.",
    },
    why: "Some of these names become host names or parts of the names of \
          other objects. Underscores and capital letters are the usual mistakes.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names",
    example: "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: Web_Server, image: nginx}]
",
    fix: ("Web_Server", "web-server"),
    checks: &[
        (
            "EndpointAddress hostname; PodSpec hostname subdomain; ServicePort name; StatefulSetSpec serviceName",
            Check::OptionalString(LABEL),
        ),
        (
            "Container name; DeviceRequest name; Endpoint hostname; EphemeralContainer name;
        IngressClassParametersReference namespace; IngressServiceBackend name; PodResourceClaim name;
        RuntimeClass handler; Volume name",
            Check::RequiredString(LABEL),
        ),
        (
            "APIServiceSpec version; CustomResourceDefinitionNames plural; CustomResourceDefinitionVersion name",
            Check::RequiredString(LABEL_1035),
        ),
        (
            "CustomResourceDefinitionNames shortNames categories; WebhookConversion conversionReviewVersions",
            Check::StringList(LABEL_1035),
        ),
        ("CustomResourceDefinitionNames singular", Check::OptionalString(LABEL_1035)),
        ("CustomResourceDefinitionNames kind listKind", Check::OptionalString(KIND)),
        ("Variable name", Check::RequiredString(IDENTIFIER)),
        ("StatefulSetSpec", Check::Type(check_claim_names)),
    ],
    ..ValidationRule::DEFAULT
};

const LABEL: StringFormat =
    (is_dns_label, "a lowercase RFC 1123 label (lowercase letters, digits and `-`, at most 63 characters)");
const LABEL_1035: StringFormat =
    (is_dns_1035_label, "an RFC 1035 label (lowercase letters, digits and `-`, starting with a letter)");
const KIND: StringFormat =
    (|text| is_dns_1035_label(&text.to_ascii_lowercase()), "letters, digits and `-`, starting with a letter");
const IDENTIFIER: StringFormat =
    (is_identifier, "an identifier (letters, digits and `_`, not starting with a digit)");

fn is_identifier(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Checks the names of volumeClaimTemplates, which become names of volumes.
fn check_claim_names(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, claim) in subject.list("volumeClaimTemplates").iter().enumerate() {
        let name = claim.get_path(&["metadata", "name"]).and_then(Node::as_str);
        if name.is_some_and(|text| !is_dns_label(text)) {
            let path = [Field("volumeClaimTemplates"), Entry(i), Field("metadata"), Field("name")];
            violations.report_path(subject, &path, format!("must be {}", LABEL.1));
        }
    }
}
