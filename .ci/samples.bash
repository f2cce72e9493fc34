# Sourced by `.ci/long`: generates overlays and packages of any size for benchmarks.

# A kustomization of the given number of applications, each a Deployment, a Service and a ConfigMap; every fifth is patched.
write_overlay() { # folder, applications
  local base=$1/base prod=$1/overlays/prod count=$2 i
  mkdir -p "$base" "$prod"
  echo 'resources:' >"$base/kustomization.yaml"
  cat >"$prod/kustomization.yaml" <<'END'
resources: [../../base]
namespace: prod
namePrefix: prod-
labels:
- pairs: {env: prod}
  includeTemplates: true
images:
- {name: registry.example.com/proxy, newTag: 2.2.0}
replicas:
- {name: app-0, count: 3}
patches:
END
  for ((i = 0; i < count; i++)); do
    printf '%s\n' "${application//NUMBER/$i}" >"$base/app-$i.yaml"
    echo "- app-$i.yaml" >>"$base/kustomization.yaml"
    ((i % 5 == 0)) || continue
    printf '%s\n' "${patch//NUMBER/$i}" >"$prod/patch-$i.yaml"
    echo "- path: patch-$i.yaml" >>"$prod/kustomization.yaml"
  done
}

# The inputs of a three-way merge of the given number of files: updated changes the images, dest the replicas.
write_packages() { # folder, files
  local count=$2 i text
  mkdir -p "$1"/{original,updated,dest}
  for ((i = 0; i < count; i++)); do
    text=${application//NUMBER/$i}
    printf '%s\n' "$text" >"$1/original/app-$i.yaml"
    printf '%s\n' "${text//:1.0.0/:2.0.0}" >"$1/updated/app-$i.yaml"
    printf '%s\n' "${text//replicas: 1/replicas: 3}" >"$1/dest/app-$i.yaml"
  done
}

# The given number of Deployments and ConfigMaps, as one YAML stream.
write_objects() { # count of each
  local i
  for ((i = 0; i < $1; i++)); do
    printf '%s\n---\n' "${workload//NUMBER/$i}"
  done
}

workload=$(
  cat <<'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: app-NUMBER, labels: {app: app-NUMBER}}
data: {mode: fast, address: app-NUMBER.example.com}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app-NUMBER, labels: {app: app-NUMBER}}
spec:
  replicas: 2
  selector: {matchLabels: {app: app-NUMBER}}
  template:
    metadata: {labels: {app: app-NUMBER}}
    spec:
      containers:
      - name: main
        image: registry.example.com/app-NUMBER:1.0.0
        ports: [{containerPort: 8080, name: http}]
        env: [{name: MODE, value: fast}]
        envFrom: [{configMapRef: {name: app-NUMBER}}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
END
)

application=$(
  cat <<'END'
# Application NUMBER
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-NUMBER
  labels: {app: app-NUMBER}
spec:
  replicas: 1 # as many as it takes
  selector:
    matchLabels: {app: app-NUMBER}
  template:
    metadata:
      labels: {app: app-NUMBER}
    spec:
      containers:
      - name: main
        image: registry.example.com/app-NUMBER:1.0.0
        args: ["--listen=:8080", "--config=/etc/app/config.yaml"]
        env:
        - name: MODE
          value: base
        - name: LEVEL
          valueFrom:
            configMapKeyRef: {name: app-NUMBER, key: level}
        ports:
        - {name: http, containerPort: 8080}
        - {name: metrics, containerPort: 9090}
        volumeMounts:
        - {name: config, mountPath: /etc/app}
      - name: proxy
        image: registry.example.com/proxy:2.1.0
        ports:
        - {name: proxy, containerPort: 15001}
      volumes:
      - name: config
        configMap: {name: app-NUMBER}
---
apiVersion: v1
kind: Service
metadata:
  name: app-NUMBER
spec:
  selector: {app: app-NUMBER}
  ports:
  - {name: http, port: 80, targetPort: http}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-NUMBER
data:
  level: info
  config.yaml: |
    listen: 0.0.0.0:8080
    features: [a, b, c]
END
)

patch=$(
  cat <<'END'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-NUMBER
spec:
  template:
    spec:
      containers:
      - name: main
        env:
        - name: MODE
          value: prod
        resources:
          limits: {cpu: "1", memory: 512Mi}
      - name: sidecar
        image: registry.example.com/sidecar:0.3.0
END
)
