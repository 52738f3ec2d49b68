"""Prometheus itself reads what is shipped for it: each query runs, and each alert fires where its trouble is."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from coterie.config.monitoring.endpoint import watched
from coterie.config.monitoring.figures import PlatformFigures
from coterie.config.monitoring.liveness import Liveness
from coterie.core.metrics import REGISTRY
from tests.deploy.queries import DEPLOY, queries
from tests.system.eventually import eventually

MISSING = [tool for tool in ("prometheus", "promtool") if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"no {' and no '.join(MISSING)} (Debian: apt-get install prometheus)"
)
ALERTS = DEPLOY / "monitoring" / "alerts.yaml"
SOUND = {
    'coterie_device_requests_total{route="check-in", status="200"}': "0+600x800",
    'coterie_device_requests_total{route="check-in", status="503"}': "0+0x800",
    'coterie_device_request_seconds_bucket{route="check-in", le="0.5"}': "0+600x800",
    'coterie_device_request_seconds_bucket{route="check-in", le="1.0"}': "0+600x800",
    'coterie_device_request_seconds_bucket{route="check-in", le="+Inf"}': "0+600x800",
    'coterie_leader{instance="one"}': "1+0x800",
    'coterie_leader{instance="two"}': "0+0x800",
    'coterie_tasks_total{task="sweep", outcome="done"}': "0+60x800",
    'coterie_tasks_total{task="sweep", outcome="failed"}': "0+0x800",
    'coterie_database_answers{instance="one"}': "1+0x800",
    "coterie_storage_failures_total": "0+0x800",
    "coterie_damaged_blobs": "0+0x800",
    "coterie_round_waiting_seconds": "600+0x800",
    "coterie_devices_present": "1000+0x800",
}
"""A platform with which nothing is wrong, minute by minute: by series, as promtool writes them."""
WRONG = {
    "CoterieDeviceErrorsFast": {'coterie_device_requests_total{route="check-in", status="503"}': "0+30x800"},
    "CoterieDeviceErrorsSlow": {'coterie_device_requests_total{route="check-in", status="503"}': "0+6x800"},
    "CoterieCheckInsSlow": {'coterie_device_request_seconds_bucket{route="check-in", le="0.5"}': "0+580x800"},
    "CoterieNobodyLeads": {'coterie_leader{instance="one"}': "0+0x800"},
    "CoterieNoTasks": {'coterie_tasks_total{task="sweep", outcome="done"}': "60+0x800"},
    "CoterieTasksFail": {'coterie_tasks_total{task="sweep", outcome="failed"}': "0+1x800"},
    "CoterieDatabaseAway": {
        'coterie_database_answers{instance="one"}': "0+0x800",
        'coterie_leader{instance="one"}': "0+0x800",
        'coterie_tasks_total{task="sweep", outcome="done"}': "60+0x800",
    },
    "CoterieStorageFails": {"coterie_storage_failures_total": "0+1x800"},
    "CoterieFilesDamaged": {"coterie_damaged_blobs": "1+0x800"},
    "CoterieRoundWaits": {"coterie_round_waiting_seconds": "90000+0x800"},
    "CoterieFleetGone": {"coterie_devices_present": "1000+0x699 400+0x100"},
}
"""What is otherwise when each alert fires."""
ALSO = {"CoterieDeviceErrorsFast": {"CoterieDeviceErrorsSlow"}}
"""What fires with one."""
AT = "12h"


def rules() -> dict[str, dict[str, str]]:
    """Each alert, by name."""
    found = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    return {rule["alert"]: rule for rule in found}


def fires(series: dict[str, str], expected: set[str], directory: Path) -> "subprocess.CompletedProcess[str]":
    """What promtool says of whether these alerts fire, and no other."""
    tests = [
        {
            "alertname": name,
            "eval_time": AT,
            "exp_alerts": [
                {
                    "exp_labels": rule["labels"] | ({"task": "sweep"} if name == "CoterieTasksFail" else {}),
                    "exp_annotations": {
                        key: text.replace("{{ $labels.task }}", "sweep") for key, text in rule["annotations"].items()
                    },
                }
            ]
            if name in expected
            else [],
        }
        for name, rule in rules().items()
    ]
    given = [{"series": name, "values": values} for name, values in series.items()]
    written = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": given, "alert_rule_test": tests}],
    }
    path = directory / "alerts.yaml"
    path.write_text(json.dumps(written))
    return subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)


def test_what_is_shipped_is_well_formed() -> None:
    for check in (("rules", ALERTS), ("config", "--syntax-only", DEPLOY / "monitoring" / "prometheus.yaml")):
        told = subprocess.run(["promtool", "check", *check], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr


def test_no_alert_fires_where_nothing_is_wrong(tmp_path: Path) -> None:
    told = fires(SOUND, set(), tmp_path)
    assert told.returncode == 0, told.stderr + told.stdout


def test_every_alert_is_tried() -> None:
    assert WRONG.keys() == rules().keys()


@pytest.mark.parametrize("alert", sorted(WRONG))
def test_an_alert_fires_where_its_trouble_is(alert: str, tmp_path: Path) -> None:
    told = fires({**SOUND, **WRONG[alert]}, {alert, *ALSO.get(alert, ())}, tmp_path)
    assert told.returncode == 0, told.stderr + told.stdout


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """The address of one that scrapes this process, which shows the platform as a whole, by the shipped rules."""
    figures = PlatformFigures(lambda: True)
    REGISTRY.register(figures)
    target = watched(Liveness(), host="127.0.0.1", port=0)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [{"job_name": "coterie", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
    }
    (tmp_path / "prometheus.yaml").write_text(json.dumps(config))
    command = [
        "prometheus",
        f"--config.file={tmp_path / 'prometheus.yaml'}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            REGISTRY.unregister(figures)


@pytest.mark.django_db(transaction=True)
def test_every_query_runs_on_a_platform_that_was_scraped(prometheus: str) -> None:
    def answer(query: str) -> httpx.Response:
        return httpx.get(f"{prometheus}/api/v1/query", params={"query": query})

    def scraped() -> bool:
        try:
            told = answer("coterie_leader == 1")
        except httpx.TransportError:
            return False
        # While it reads its storage it answers 503, and not in JSON.
        return told.status_code == httpx.codes.OK and bool(told.json()["data"]["result"])

    eventually(scraped)
    refused = {query: told.text for query in queries() if (told := answer(query)).status_code != httpx.codes.OK}
    assert refused == {}
    shown = httpx.get(f"{prometheus}/api/v1/rules").json()["data"]["groups"]
    assert {rule["name"] for group in shown for rule in group["rules"]} == rules().keys()
