//! Rules of pods and their containers.

use super::row::rule;
use crate::check::rule::Rule;
use smp_text::diagnostic::Severity;
use smp_validate::ViolationRule;

refused! {
    Image Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: \"nginx \"
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
";
    Port Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{containerPort: 80800}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{containerPort: 8080}]
";
    PortName Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{name: Web_Port, containerPort: 80}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{name: web-port, containerPort: 80}]
";
    HostPort Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{containerPort: 80, hostPort: 8080}]
  hostNetwork: true
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    ports: [{containerPort: 80, hostPort: 80}]
  hostNetwork: true
";
    Number Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  terminationGracePeriodSeconds: -30
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  terminationGracePeriodSeconds: 30
";
    Quantity Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources: {limits: {memory: -1Gi}}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources: {limits: {memory: 1Gi}}
";
    ResourceName Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources: {limits: {gpu: 1}}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources: {limits: {nvidia.com/gpu: 1}}
";
    RequestOverLimit Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources: {requests: {cpu: 1}, limits: {cpu: 500m}}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    resources: {requests: {cpu: 250m}, limits: {cpu: 500m}}
";
    Address Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  hostAliases: [{ip: 10.0.0.300, hostnames: [db]}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  hostAliases: [{ip: 10.0.0.30, hostnames: [db]}]
";
    Dns Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  dnsPolicy: None
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  dnsPolicy: None
  dnsConfig: {nameservers: [10.0.0.53]}
";
    EnvName Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    env: [{name: \"MODE=A\", value: prod}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    env: [{name: MODE_A, value: prod}]
";
    EnvSource Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    env:
    - {name: NODE, value: none, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    env:
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
";
    ContainerName Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  initContainers: [{name: web, image: busybox}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  initContainers: [{name: prepare, image: busybox}]
";
    Handler Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    livenessProbe: {periodSeconds: 5}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    livenessProbe: {periodSeconds: 5, tcpSocket: {port: 80}}
";
    Privilege Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    securityContext: {privileged: true, allowPrivilegeEscalation: false}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    securityContext: {privileged: false, allowPrivilegeEscalation: false}
";
    VolumeSource Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  volumes:
  - {name: data, emptyDir: {}, hostPath: {path: /data}}
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  volumes:
  - {name: data, emptyDir: {}}
";
    VolumeMount Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts: [{name: date, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
";
    MountPath Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts:
    - {name: data, mountPath: /data, subPath: ../web}
  volumes: [{name: data, emptyDir: {}}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    volumeMounts:
    - {name: data, mountPath: /data, subPath: web}
  volumes: [{name: data, emptyDir: {}}]
";
    Toleration Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  tolerations: [{key: gpu, operator: Exists, value: large}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  tolerations: [{key: gpu, operator: Exists}]
";
    Spread Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 2
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 2
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: DoNotSchedule
";
    Requirement Error "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: gpu, operator: In}]
" => "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: gpu, operator: Exists}]
";
}
