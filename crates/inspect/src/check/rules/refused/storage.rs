//! Rules of what keeps data: maps, secrets, claims, and limits of it.

use super::row::rule;
use crate::check::rule::Rule;
use smp_text::diagnostic::Severity;
use smp_validate::ViolationRule;

refused! {
    DataKey Error "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {conf/mode: \"yes\"}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {conf.mode: \"yes\"}
";
    SecretType Error "\
apiVersion: v1
kind: Secret
metadata: {name: web}
type: kubernetes.io/basic-auth
stringData: {user: jo}
" => "\
apiVersion: v1
kind: Secret
metadata: {name: web}
type: kubernetes.io/basic-auth
stringData: {username: jo}
";
    AccessModes Error "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce, ReadWriteOncePod]
  resources: {requests: {storage: 1Gi}}
" => "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOncePod]
  resources: {requests: {storage: 1Gi}}
";
    StorageRequest Error "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
" => "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
";
    LimitOrder Error "\
apiVersion: v1
kind: LimitRange
metadata: {name: web}
spec:
  limits:
  - {type: Container, min: {cpu: 1}, max: {cpu: 500m}}
" => "\
apiVersion: v1
kind: LimitRange
metadata: {name: web}
spec:
  limits:
  - {type: Container, min: {cpu: 100m}, max: {cpu: 500m}}
";
}
