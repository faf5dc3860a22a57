"""The chart renders with its defaults and with everything on, and what it makes drains, is confined and scales."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from reelstate.config import from_environment, variables
from tests.deploy.files import DEPLOY, check_command, command_of, read_yaml

CHART = DEPLOY / "helm" / "reelstate"
HELM = shutil.which("helm")
needs_helm = pytest.mark.skipif(HELM is None, reason="THE CHART IS NOT RENDERED, there is no helm")
IMAGE = {"image": {"repository": "registry.example/reelstate"}}
FULL: dict[str, Any] = {
    "image": {"repository": "registry.example/reelstate", "digest": f"sha256:{'a' * 64}"},
    "imagePullSecrets": [{"name": "registry"}],
    "serviceAccountName": "reelstate",
    "settings": {"REEL_REMOTE_FILE_LIMIT": 68719476736, "REEL_POLL": 0.5},
    "server": {
        "replicas": 2,
        "uploads": {"claim": "uploads"},
        "trustedProxies": "10.0.0.0/8",
        "secretName": "reelstate-server",
        "resources": {"limits": {"memory": "1Gi"}},
    },
    "workers": {
        "gpu": {
            "concurrency": 3,
            "capabilities": ["zone:eu", "-ffmpeg"],
            "pipelines": ["transcode"],
            "graceSeconds": 1800,
            "scratch": {"size": "1Ti", "storageClassName": "fast"},
            "resources": {"limits": {"memory": "16Gi", "nvidia.com/gpu": 1}},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "autoscaling": {"enabled": True, "lanes": ".*gpu.*"},
        }
    },
    "ingress": {"enabled": True, "className": "nginx", "host": "reel.example.org", "tlsSecretName": "tls"},
    "metrics": {"podMonitor": {"enabled": True}, "prometheusUrl": "http://prometheus:9090"},
}
Manifest = dict[str, Any]


def template(values: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    command = [
        str(HELM),
        "template",
        "movie",
        str(CHART),
        "--namespace",
        "media",
        "--values",
        str(folder / "values.yaml"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def rendered(values: dict[str, Any], folder: Path) -> dict[tuple[str, str], Manifest]:
    """Return the manifests by kind and name without the name of the release."""
    done = template(values, folder)
    assert done.returncode == 0, done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each]
    found = {
        (each["kind"], each["metadata"]["name"].removeprefix("movie-reelstate").lstrip("-")): each for each in made
    }
    assert len(found) == len(made)
    return found


def pods(manifests: dict[tuple[str, str], Manifest]) -> dict[str, Manifest]:
    """Return the specs of all pods by the names of what makes them."""
    templates = {
        name: each["spec"] if kind == "Pod" else each["spec"]["template"]["spec"]
        for (kind, name), each in manifests.items()
        if kind in {"Pod", "Deployment", "Job"}
    }
    assert len(templates) >= 5
    return templates


def environment_of(pod: Manifest) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["containers"][0]["env"]}


def check_values(values: dict[str, Any], folder: Path) -> int:
    """Validate values by the schema of the chart, merged with the defaults as helm does for the top level."""
    merged = {**read_yaml(CHART / "values.yaml"), **values}
    (folder / "values.json").write_text(json.dumps(merged))
    command = [str(Path(sys.executable).parent / "check-jsonschema"), "--schemafile", str(CHART / "values.schema.json")]
    return subprocess.run([*command, str(folder / "values.json")], capture_output=True, check=False).returncode


@pytest.mark.parametrize("values", [IMAGE, FULL])
def test_the_schema_accepts_what_the_chart_accepts(values: dict[str, Any], tmp_path: Path) -> None:
    assert check_values(values, tmp_path) == 0


WRONG = [
    {},
    {**IMAGE, "settings": {"reel_poll": 1}},
    {**IMAGE, "workers": {"GPU": FULL["workers"]["gpu"]}},
    {**IMAGE, "workers": {"cpu": {**FULL["workers"]["gpu"], "concurency": 1}}},
    {**IMAGE, "workers": {"cpu": {**FULL["workers"]["gpu"], "resources": {"limits": {"cpu": 1}}}}},
    {**IMAGE, "ingress": {"enabled": True, "host": ""}},
]


@pytest.mark.parametrize("values", WRONG)
def test_the_schema_refuses_mistakes(values: dict[str, Any], tmp_path: Path) -> None:
    assert check_values(values, tmp_path) != 0


@needs_helm
@pytest.mark.parametrize(
    "values", [WRONG[1], {**IMAGE, "server": {"replicas": 2, "resources": {"limits": {"memory": "1"}}}}]
)
def test_helm_refuses_values_that_would_fail_later(values: dict[str, Any], tmp_path: Path) -> None:
    assert template(values, tmp_path).returncode != 0


def test_the_commands_and_variables_in_the_templates_exist() -> None:
    text = "".join(path.read_text() for path in [*CHART.rglob("*.yaml"), *CHART.rglob("*.tpl"), *CHART.rglob("*.txt")])
    assert set(re.findall(r"\bREEL_[A-Z_]+[A-Z]\b", text)) - set(variables()) == set()
    commands = re.findall(r'args: (\["reel".*\])', text)
    assert len(commands) == 4
    for command in commands:
        check_command(command_of(json.loads(command)))
    for command in re.findall(r"-- reel (.+)", text):
        check_command(command.split())


@needs_helm
@pytest.mark.parametrize("values", [IMAGE, FULL])
def test_every_pod_is_confined_and_gets_valid_settings(values: dict[str, Any], tmp_path: Path) -> None:
    for name, pod in pods(rendered(values, tmp_path)).items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert (pod["enableServiceLinks"], pod["automountServiceAccountToken"]) == (False, False)
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
        environment = environment_of(pod)
        assert set(environment) - set(variables()) == set()
        from_environment(environment)


@needs_helm
def test_a_worker_has_its_grace_its_capabilities_and_its_settings(tmp_path: Path) -> None:
    pod = pods(rendered(FULL, tmp_path))["worker-gpu"]
    environment = environment_of(pod)
    assert pod["terminationGracePeriodSeconds"] >= float(environment["REEL_WORKER_GRACE"]) + 60
    assert environment["REEL_WORKER_CAPABILITIES"] == "zone:eu,-ffmpeg"
    assert environment["REEL_WORKER_PIPELINES"] == "transcode"
    assert (environment["REEL_REMOTE_FILE_LIMIT"], environment["REEL_POLL"]) == ("68719476736", "0.5")
    assert pod["containers"][0]["args"] == ["reel", "worker", "--no-keeper"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1


@needs_helm
def test_workers_scale_by_ready_and_running_tasks(tmp_path: Path) -> None:
    made = rendered(FULL, tmp_path)
    scaled = made["ScaledObject", "worker-gpu"]["spec"]
    (trigger,) = scaled["triggers"]
    assert scaled["scaleTargetRef"]["name"] == made["Deployment", "worker-gpu"]["metadata"]["name"]
    assert "replicas" not in made["Deployment", "worker-gpu"]["spec"]  # KEDA owns the number
    for metric in ("reelstate_tasks_ready", "reelstate_tasks_running"):
        assert f'{metric}{{lane=~".*gpu.*"}}' in trigger["metadata"]["query"]
    assert (trigger["metadata"]["threshold"], trigger["metadata"]["ignoreNullValues"]) == ("3", "false")


@needs_helm
def test_the_schema_is_migrated_before_anything_else_changes(tmp_path: Path) -> None:
    job = rendered(IMAGE, tmp_path)["Job", "migrate"]
    assert set(job["metadata"]["annotations"]["helm.sh/hook"].split(",")) == {"pre-install", "pre-upgrade"}
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == ["reel", "migrate"]


@needs_helm
@pytest.mark.parametrize("values", [IMAGE, FULL])
def test_selectors_find_the_pods_that_they_are_for(values: dict[str, Any], tmp_path: Path) -> None:
    made = rendered(values, tmp_path)
    labels = {
        name: each["spec"]["template"]["metadata"]["labels"]
        for (kind, name), each in made.items()
        if kind == "Deployment"
    }
    assert {name for kind, name in made if kind == "PodDisruptionBudget"} == set(labels)
    chosen = {
        (kind, name): {other for other, own in labels.items() if own.items() >= selector.items()}
        for (kind, name), each in made.items()
        for selector in [selector_of(kind, each)]
        if selector
    }
    for (kind, name), found in chosen.items():
        assert found == (set(labels) if (kind, name) == ("NetworkPolicy", "") else {name}), (kind, name)
    assert ("Service", "server") in chosen
    egress = json.dumps(made["NetworkPolicy", ""]["spec"]["egress"])
    assert "169.254.0.0/16" in egress  # the metadata service of a node is no public address


def selector_of(kind: str, manifest: Manifest) -> dict[str, str]:
    spec = manifest["spec"]
    if kind == "Service":
        return dict(spec["selector"])
    if kind == "NetworkPolicy":
        return dict(spec["podSelector"]["matchLabels"])
    return dict(spec["selector"]["matchLabels"]) if kind in {"Deployment", "PodDisruptionBudget"} else {}
