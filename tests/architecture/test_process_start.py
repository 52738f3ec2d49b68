"""Setting Django up loads what every process needs, and not the REST API, which waits for the first to ask for it."""

import subprocess
import sys
from pathlib import Path

from tests.system.processes import ROOT, environment

ONLY_FOR_REQUESTS = ("coterie.config.urls", "drf_spectacular.openapi", "psycopg", "rest_framework.serializers")
ONLY_WHEN_ASKED = ("redis", "webauthn")
"""By a platform in embedded mode: a server that it does without, and what few requests need."""


def test_exporters_load_neither_pytorch_nor_the_library_of_weights_and_biases(tmp_path: Path) -> None:
    """Every process of the platform makes them, and few tell anything."""
    script = "import django, sys; django.setup(); print(*[name for name in ('torch', 'wandb') if name in sys.modules])"
    named = {"exporters": "tensorboard,mlflow,wandb", "mlflow_url": "http://localhost", "wandb_mode": "offline"}
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(state=str(tmp_path), **named),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == []


def test_setting_up_loads_no_part_of_the_rest_api(tmp_path: Path) -> None:
    script = (
        f"import django, sys; django.setup(); print(*[name for name in {ONLY_FOR_REQUESTS!r} if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(state=str(tmp_path)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == []


def test_a_server_in_embedded_mode_loads_nothing_of_what_it_may_never_need(tmp_path: Path) -> None:
    script = (
        "import django; django.setup()\n"
        "import sys, coterie.config.urls, coterie.config.asgi, coterie.config.serve, coterie.config.embedded_worker\n"
        f"print(*[name for name in {ONLY_WHEN_ASKED!r} if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(state=str(tmp_path)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == []
