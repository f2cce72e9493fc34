"""Uses the Kubernetes client for Python as a program would: typed and dynamic objects, patches, watches, errors."""

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core, apps = client.CoreV1Api(), client.AppsV1Api()

created = core.create_namespaced_config_map("default", {"metadata": {"name": "a"}, "data": {"k": "v"}})
assert created.metadata.resource_version and created.metadata.uid, created
patched = core.patch_namespaced_config_map("a", "default", {"data": {"k": None, "l": "w"}})
assert patched.data == {"l": "w"}, patched
try:
    core.replace_namespaced_config_map("a", "default", created)
    raise AssertionError("a conflict was expected")
except ApiException as error:
    assert error.status == 409, error

container = client.V1Container(name="web", image="web:1")
template = client.V1PodTemplateSpec(
    metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=client.V1PodSpec(containers=[container])
)
spec = client.V1DeploymentSpec(replicas=2, selector={"matchLabels": {"app": "web"}}, template=template)
apps.create_namespaced_deployment(
    "default", client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
)
deployment = apps.read_namespaced_deployment_status("web", "default")
assert deployment.status.ready_replicas == 2, deployment.status
apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 1}})
pods = core.list_namespaced_pod("default", label_selector="app=web").items
assert len(pods) == 1 and pods[0].status.phase == "Running", pods

seen = []
start = core.list_namespaced_config_map("default").metadata.resource_version
core.create_namespaced_config_map("default", {"metadata": {"name": "b"}})
core.delete_namespaced_config_map("b", "default")
for event in watch.Watch().stream(
    core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=5
):
    seen.append((event["type"], event["object"].metadata.name))
    if len(seen) == 2:
        break
assert seen == [("ADDED", "b"), ("DELETED", "b")], seen

maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
applied = maps.server_side_apply(
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": "y"}},
    name="c", namespace="default", field_manager="python",
)
assert applied.data.x == "y", applied
assert [one.metadata.name for one in maps.get(namespace="default").items] == ["a", "c"]
