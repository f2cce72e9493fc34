//! Rules of services, ingresses and network policies.

use super::row::rule;
use crate::check::rule::Rule;
use smp_text::diagnostic::Severity;
use smp_validate::ViolationRule;

refused! {
    ServicePorts Error "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - {port: 80}
  - {name: metrics, port: 9090}
" => "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - {name: http, port: 80}
  - {name: metrics, port: 9090}
";
    ServiceType Error "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: ClusterIP
  ports: [{port: 80, nodePort: 30080}]
" => "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  ports: [{port: 80, nodePort: 30080}]
";
    ClusterIp Error "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: none
  ports: [{port: 80}]
" => "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: None
  ports: [{port: 80}]
";
    Host Error "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: Shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {resource: {kind: Widget, name: web}}}
" => "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {resource: {kind: Widget, name: web}}}
";
    IngressPath Error "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: cart, pathType: Prefix, backend: {resource: {kind: Widget, name: web}}}
" => "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /cart, pathType: Prefix, backend: {resource: {kind: Widget, name: web}}}
";
    IngressBackend Error "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: external
" => "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: external
  defaultBackend: {resource: {kind: Widget, name: web}}
";
    NetworkPeer Error "\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {}
  ingress:
  - from:
    - {ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}
" => "\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {}
  ingress:
  - from:
    - {ipBlock: {cidr: 10.0.0.0/8}}
";
}
