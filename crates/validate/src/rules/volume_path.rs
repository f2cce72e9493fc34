use super::prelude::*;
use crate::rule::is_relative_path;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "volume-path",
        meaning: "A `subPath` or `items[].path` is absolute, or one of them or a `hostPath` contains `..`.",
        remedy: "Remove `..`. For `subPath` and `items[].path` use a relative path, such as `conf/web.conf`.",
    },
    why: "The API server rejects `subPath`, `items[].path` and `hostPath` with `..`, and the first two if \
          they are absolute. Such a path could refer to files outside of the volume, such as those of the \
          node.",
    documentation: "https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath",
    example: container!(
        "volumeMounts:
    - {name: data, mountPath: /data, subPath: ../web}
  volumes: [{name: data, emptyDir: {}}]"
    ),
    fix: ("../web", "web"),
    checks: &[
        (
            "DownwardAPIVolumeFile path",
            Check::AnyString((|path| !path.is_empty() && is_relative_path(path), RELATIVE)),
        ),
        ("KeyToPath path", Check::AnyString((is_relative_path, RELATIVE))),
        ("Container; EphemeralContainer", Check::Type(mounts)),
        ("HostPathVolumeSource", Check::Type(host_path)),
    ],
    ..ValidationRule::DEFAULT
};

const RELATIVE: &str = "a relative path without `..`";

fn mounts(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, mount) in subject.list("volumeMounts").iter().enumerate() {
        for field in ["subPath", "subPathExpr"] {
            if !is_relative_path(text_of(mount, field)) {
                violations.report_path(
                    subject,
                    &[Field("volumeMounts"), Entry(i), Field(field)],
                    format!("must be {RELATIVE}"),
                );
            }
        }
    }
}

fn host_path(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.text_or_empty("path").split('/').any(|part| part == "..") {
        violations.report_field(subject, "path", "must not contain `..`");
    }
}
