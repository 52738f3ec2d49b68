"""What deploy/ ships fits the platform that it starts: its commands, settings, ports and secrets."""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from coterie.cli.command import PLACES
from coterie.config.env import IN_FILE, PREFIX, SECRETS, Env
from coterie_agent.commands.unit import FINAL
from tests.deploy.chart import CHART, rendered
from tests.deploy.queries import DEPLOY
from tests.deploy.values import OVERRIDES

ROOT = DEPLOY.parent
SETTINGS = {field.name for field in msgspec.structs.fields(Env)}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
# Any: values of YAML.
Json = dict[str, Any]


def is_command(words: list[str]) -> bool:
    """Whether the platform has this command, up to its options."""
    program, *rest = words
    if program == "coterie":
        return rest[0] in PLACES
    return program == "celery" and rest[:2] == ["-A", "coterie.config.celery"] and rest[2] in ("worker", "beat")


def is_setting(name: str) -> bool:
    """Whether `Env` reads this variable."""
    field = name.removeprefix(PREFIX).lower()
    return field in SETTINGS or (field.endswith(IN_FILE) and field.removesuffix(IN_FILE) in SECRETS)


@pytest.fixture(scope="module")
def compose() -> Json:
    content: Json = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def ours(compose: Json) -> dict[str, Json]:
    return {name: service for name, service in compose["services"].items() if "COTERIE_MODE" in str(service)}


def test_compose_starts_what_there_is_with_settings_that_there_are(compose: Json) -> None:
    services = ours(compose)
    assert set(services) == {"migrate", "web", "worker", "beat"}
    for service in services.values():
        assert is_command(service["command"])
        assert [name for name in service["environment"] if not is_setting(name)] == []
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["user"] == "10001:10001"
    for name, service in compose["services"].items():
        assert set(service.get("depends_on", ())) <= set(compose["services"]), name
        assert set(service.get("secrets", ())) <= set(compose["secrets"]), name
        assert set(service.get("networks", ())) <= set(compose["networks"]), name
        assert not re.search(r":latest$", service["image"]), name
        volumes = {volume.split(":")[0] for volume in service.get("volumes", ()) if ":" in volume}
        for volume in volumes:
            assert (DEPLOY / volume).exists() if volume.startswith(".") else volume in compose["volumes"], volume
        build = service.get("build")
        assert build is None or (ROOT / build["dockerfile"]).is_file()


def test_composes_settings_are_a_platforms(compose: Json, tmp_path: Path) -> None:
    _make_secrets(tmp_path)
    given = {
        name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value).replace("/run/secrets", str(tmp_path))
        for name, value in ours(compose)["web"]["environment"].items()
    }
    env = Env.read(given)
    assert (env.mode, env.public_url, env.metrics_port) == ("scaled", "https://localhost", 9464)
    assert (tmp_path / "postgres_password").read_text() in env.database_url
    assert set(compose["secrets"]) == {path.name for path in tmp_path.iterdir()}


def test_secrets_are_made_once(tmp_path: Path) -> None:
    assert len(_make_secrets(tmp_path / "secrets")) == 8
    before = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    (tmp_path / "secrets" / "s3_secret").unlink()
    assert _make_secrets(tmp_path / "secrets") == ["s3_secret"]
    after = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"s3_secret"}
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


def _make_secrets(directory: Path) -> list[str]:
    spec = importlib.util.spec_from_file_location("make_secrets", DEPLOY / "make-secrets.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: list[str] = module.make(directory)
    return made


@pytest.mark.parametrize("name", ["platform", "agent", "object-storage"])
def test_images_copy_what_there_is_and_run_as_nobody(name: str) -> None:
    text = (DEPLOY / "containers" / f"{name}.Containerfile").read_text()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--from"):
            assert all(source == "." or (ROOT / source).exists() for source in words[1:-1]), line
    final = text[text.rindex("\nFROM ") :]
    assert "USER 10001:10001" in final and "STOPSIGNAL SIGTERM" in final
    assert not re.search(r"apt-get|gcc|build-essential", final)
    if name == "platform":
        extras = set(re.findall(r"'coterie\[([\w,]+)\]'", text)[0].split(","))
        assert f"{extras}" and extras <= set(_project()["optional-dependencies"])


def _project() -> Json:
    import tomllib

    project: Json = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def pod_of(one: Json) -> Json:
    """What an object of the chart starts; nothing for one that starts nothing."""
    spec = one.get("spec", {})
    pod: Json = spec.get("jobTemplate", {}).get("spec", spec).get("template", {}).get("spec", {})
    return pod


def containers(objects: list[Json]) -> Iterator[Json]:
    for pod in map(pod_of, objects):
        yield from (*pod.get("initContainers", ()), *pod.get("containers", ()))


@pytest.mark.parametrize("overrides", OVERRIDES)
def test_the_chart_renders_what_there_is(overrides: Json) -> None:
    objects = rendered(**overrides)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))
    assert {("Deployment", f"fleet-{part}") for part in ("web", "worker", "beat")} <= set(names)
    assert ("Job", "fleet-migrate-3") in names
    for container in containers(objects):
        if not container["image"].startswith("coterie/platform:"):
            continue
        assert container["image"] == "coterie/platform:0.1.0"
        assert len({each["name"] for each in container["env"]}) == len(container["env"])
        assert container["command"][0] == "sh" or is_command(container["command"])
        assert [each["name"] for each in container["env"] if not is_setting(each["name"])] == []
        assert container["securityContext"]["readOnlyRootFilesystem"]
    for each in objects:
        if each["kind"] == "Deployment":
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
        if each["kind"] in ("Deployment", "Job", "CronJob"):
            volumes = {volume["name"] for volume in pod_of(each)["volumes"]}
            assert {mount["name"] for one in containers([each]) for mount in one["volumeMounts"]} <= volumes
    assert (("CronJob", "fleet-refresh-releases") in names) == ("releases__onlineKeySecret" in overrides)
    assert "password" not in (CHART / "values.yaml").read_text()


def test_what_the_chart_brings_is_reached_by_the_platform_alone() -> None:
    objects = rendered(bundled__enabled=True, bundled__objectStorage=True)
    pods = {one["metadata"]["name"]: one for one in objects if one["kind"] in ("StatefulSet", "Deployment")}
    platform = pods.pop("fleet-web")["spec"]["template"]["metadata"]["labels"]
    policies = {one["metadata"]["name"]: one["spec"] for one in objects if one["kind"] == "NetworkPolicy"}
    for name in ("postgres", "redis", "object-storage"):
        (policy,) = (
            spec for spec in policies.values() if spec["podSelector"]["matchLabels"].items() <= labels(pods[name])
        )
        ((rule,), (port,)) = policy["ingress"], policy["ingress"][0]["ports"]
        (allowed,) = rule["from"]
        assert set(allowed) == {"podSelector"} and allowed["podSelector"]["matchLabels"].items() <= platform.items()
        assert [{"containerPort": port["port"]}] == pods[name]["spec"]["template"]["spec"]["containers"][0]["ports"]


def labels(workload: Json) -> Any:
    """Of its pods."""
    return workload["spec"]["template"]["metadata"]["labels"].items()


def test_the_charts_object_storage_is_the_one_that_its_image_starts_and_its_platform_asks() -> None:
    objects = {(one["kind"], one["metadata"]["name"]): one for one in rendered(bundled__objectStorage=True)}
    (storage,) = containers([objects["StatefulSet", "object-storage"]])
    image = (DEPLOY / "containers" / "object-storage.Containerfile").read_text()
    started = msgspec.json.decode(re.findall(r"^CMD (.*)$", image.replace("\\\n", " "), re.MULTILINE)[0])
    moved = {"/run/secrets/s3_secret": "/run/secrets/coterie/s3_secret"}
    assert storage["command"] == [moved.get(word, word) for word in started]
    *_, web = containers([objects["Deployment", "fleet-web"]])
    env = {each["name"]: each["value"] for each in web["env"]}
    (port,) = objects["Service", "object-storage"]["spec"]["ports"]
    assert env["COTERIE_S3_ENDPOINT"] == f"http://object-storage:{port['port']}"
    assert env["COTERIE_S3_KEY_ID"] == "fleet:platform" and env["COTERIE_S3_BUCKET"] in started
    assert "COTERIE_S3_PUBLIC_ENDPOINT" not in env, "devices do not reach it"


def test_the_charts_values_fit_their_schema_and_others_do_not() -> None:
    schema = msgspec.json.decode((CHART / "values.schema.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    check.validate(values)
    for wrong in ({"image": {"repository": "x", "tag": "latest"}}, {"publicUrl": "http://x"}, {"replicas": 3}):
        assert not check.is_valid({**values, **wrong})


def test_the_chart_and_the_package_have_one_version() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == _project()["version"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_start_what_there_is(unit: Path) -> None:
    text = unit.read_text()
    words = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)[0].split()
    program = Path(words[0])
    if program.name == "coterie-agent":
        restart = re.findall(r"^RestartPreventExitStatus=(.*)$", text, re.MULTILINE)[0]
        assert [int(code) for code in restart.split()] == [int(code) for code in FINAL]
    else:
        assert is_command([program.name, *words[1:]])
    assert all(map(is_setting, re.findall(r"^Environment=(COTERIE_\w+)=", text, re.MULTILINE)))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_units_and_finds_them_safe(unit: Path) -> None:
    told = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False).stderr
    complaints = [line for line in told.splitlines() if unit.name in line and "is not executable" not in line]
    assert complaints == []
    safe = ["systemd-analyze", "security", "--offline=yes", "--threshold=30", unit]
    assert subprocess.run(safe, capture_output=True, check=False).returncode == 0
