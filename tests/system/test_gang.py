"""Two hosts, each a Celery worker with a queue of its own, train as one gang; one of them is killed on the way."""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import psycopg
import pytest

from coterie.child.job import Limits
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job
from tests.coterie.cloud.training import arguments_of, write_job
from tests.system.eventually import eventually
from tests.system.processes import kill_with_children, prepare_state
from tests.system.scaled import CELERY, SCALED, Processes

pytestmark = [*SCALED, pytest.mark.long]
EPOCHS, BATCH = 8, 2
STRATEGY: dict[str, object] = {"kind": "data_parallel", "workers": 2}
ASK = """
from pathlib import Path
import msgspec
from django.utils import timezone
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.services import bootstrap_pair
from coterie.registry.models import Dataset, ModelPair
from coterie.registry.services import store_file
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
now = timezone.now()
program = store_file(path=Path({cloud!r}), now=now)
x = TensorSpec("x", "float32", (4,))
weight, bias = TensorSpec("weight", "float32", (3, 4)), TensorSpec("bias", "float32", (3,))
spec = ModelSpec.of_classifier(
    inputs=(x,), classes=3, batch_size=8, parameters=(weight, bias), head=Head("weight", "bias")
)
pair = ModelPair.objects.create(
    name="pair", slug="pair", state="ready", labels=["a", "b", "c"], batch_size=8, device_program=program,
    cloud_program=program, train_step=program, predict=program, initial_parameters=program,
    spec=msgspec.to_builtins(spec), created_at=now,
)
inputs = [{{"name": "x", "dtype": "float32", "shape": [4]}}]
data = store_file(path=Path({data!r}), now=now)
dataset = Dataset.objects.create(name="data", blob=data, rows=330, inputs=inputs, classes=3, created_at=now)
options = TrainingOptions(epochs={epochs}, batch_size={batch}, learning_rate=0.01, strategy={strategy!r})
bootstrap_pair(pair=pair, dataset=dataset, options=options, now=now)
"""
JOB = "SELECT state, reason_code, jsonb_array_length(curve), placement FROM cloud_training_trainingjob WHERE kind = %s"
SHARES = "SELECT host_id, ranks, joined_at IS NOT NULL FROM cluster_gangshare ORDER BY id"
TRAINED = """SELECT parameters_id FROM registry_modelversion WHERE role = 'cloud'"""


@pytest.fixture
def settings(database: str, broker: str, tmp_path: Path) -> dict[str, str]:
    """Hosts share a state directory, where the checkpoints are."""
    return {
        "mode": "scaled",
        "state": str(tmp_path / "state"),
        "database_url": database,
        "redis_url": broker,
        "secret_key": secrets.token_hex(32),
        "signing_key": secrets.token_hex(32),
        "cluster_address": "127.0.0.1",
    }


@pytest.fixture
def running() -> Iterator[ExitStack]:
    with ExitStack() as running:
        yield running


def host(name: str, places: int, settings: dict[str, str], directory: Path, running: ExitStack) -> Processes:
    (directory / name).mkdir()
    given = {**settings, "cluster_host": name, "cluster_places": str(places)}
    return Processes(given, directory / name, running)


def test_a_host_is_killed_and_the_job_ends_once_with_the_same_weights(
    settings: dict[str, str], tmp_path: Path, running: ExitStack
) -> None:
    write_job(tmp_path, plain=True)
    prepare_state(tmp_path / "seed", pairs=0, **settings)
    lead, other = (host(name, 1, settings, tmp_path, running) for name in "ab")
    lead.start(*CELERY, "beat", "--schedule", str(tmp_path / "schedule"))
    lead.start(*CELERY, "worker", "--pool", "threads", "--concurrency", "4")
    second = other.start(*CELERY, "worker", "--pool", "threads", "--concurrency", "2", "-Q", "train.b")
    database = running.enter_context(psycopg.connect(settings["database_url"], autocommit=True))
    eventually(lambda: database.execute("SELECT count(*) = 2 FROM cluster_host").fetchone() == (True,))
    lead.shell(
        ASK.format(
            cloud=str(tmp_path / "cloud.pt2"),
            data=str(tmp_path / "data.npz"),
            epochs=EPOCHS,
            batch=BATCH,
            strategy=STRATEGY,
        )
    )

    def job() -> tuple[str, str, int, int]:
        row = database.execute(JOB, ["bootstrap"]).fetchone()
        assert row is not None
        assert row[0] != "failed", row
        return row

    eventually(lambda: job()[2] >= 2, within_s=120, every_s=0.05)
    assert database.execute(SHARES).fetchall() == [("a", 1, True), ("b", 1, True)], "one worker on each"
    kill_with_children(second)
    # One place is left for two workers, so they share it once the other host is known to be lost.
    eventually(lambda: job()[0] == "succeeded", within_s=180)
    assert job()[3] >= 2, "it was placed again"
    arguments = msgspec.structs.replace(arguments_of(tmp_path, STRATEGY, epochs=EPOCHS), batch_size=BATCH)
    run_child(bootstrap_job.JOB, arguments, limits=Limits(memory_bytes=8 << 30))
    expected = hashlib.sha256((tmp_path / "trained").read_bytes()).hexdigest()
    assert database.execute(TRAINED).fetchall() == [(expected,)]
