//! Rules that schemas say: of built-in kinds, and of definitions of custom resources.

use super::row::rule;
use crate::check::rule::Rule;
use smp_text::diagnostic::Severity;
use smp_validate::ViolationRule;

refused! {
    UnknownField Error "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  lables: {app: web}
data: {mode: prod}
" => "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  labels: {app: web}
data: {mode: prod}
";
    WrongType Error "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {retries: 3}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {retries: \"3\"}
";
    MissingRequired Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{name: http}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{name: http, containerPort: 80}]
";
    Enum Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    imagePullPolicy: always
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    imagePullPolicy: Always
";
    Format Error "\
apiVersion: v1
kind: Secret
metadata: {name: web}
data: {password: \"secret!\"}
" => "\
apiVersion: v1
kind: Secret
metadata: {name: web}
data: {password: c2VjcmV0}
";
    NullValue Error "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: null}
" => "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: 3}
", of "{type: object, properties: {size: {type: integer}}}";
    DuplicateKey Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts:
    - {name: data, mountPath: /data}
  volumes:
  - {name: data, emptyDir: {}}
  - {name: data, emptyDir: {}}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts:
    - {name: data, mountPath: /data}
  volumes:
  - {name: data, emptyDir: {}}
";
    Pattern Error "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {color: Red}
" => "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {color: red}
", of "{type: object, properties: {color: {type: string, pattern: '^[a-z]+$'}}}";
    Bounds Error "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: 30}
" => "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: 3}
", of "{type: object, properties: {size: {type: integer, maximum: 10}}}";
    Combination Error "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {file: a, url: b}
" => "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {file: a}
", of "{type: object, properties: {file: {type: string}, url: {type: string}}, oneOf: [{required: [file]}, {required: [url]}]}";
    Cel Error "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {least: 3, most: 2}
" => "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {least: 2, most: 3}
", of "{type: object, properties: {least: {type: integer}, most: {type: integer}}, x-kubernetes-validations: [{rule: self.least <= self.most}]}";
    UnknownKind Error "\
apiVersion: v1
kind: ConfigMapp
metadata: {name: web}
data: {mode: prod}
" => "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {mode: prod}
";
    RemovedApi Error "\
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1}
" => "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1}
";
    DeprecatedApi Warning "\
apiVersion: v1
kind: Endpoints
metadata: {name: web}
subsets:
- addresses: [{ip: 10.0.0.1}]
  ports: [{port: 80}]
" => "\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{port: 80}]
";
}
