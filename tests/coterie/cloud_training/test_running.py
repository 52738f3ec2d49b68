"""Jobs with real child processes: one that fails, and one that quantises; the system tests have one that trains."""

import errno
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from coterie.cloud.quantise_job import QuantiseResult
from coterie.cloud_training import running, together
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import QuantiseOptions, TrainingOptions
from coterie.cloud_training.running import run_job
from coterie.cloud_training.services import bootstrap_pair, cancel_job, quantise_version, sweep
from coterie.cloud_training.together import Meeting, join_gang
from coterie.cluster.models import Gang
from coterie.cluster.services import holds_place, register_host
from coterie.registry.models import ModelVersion
from coterie.registry.services import submit_pair
from coterie_wire.structs import from_values
from tests.coterie.cloud.training import write_job
from tests.coterie.cloud_training.taking import place
from tests.coterie.world import keep, later, make_dataset, make_pair, make_version
from tests.object_storage.away import storage_away

# Committed for real: the heartbeat extends leases from a thread of its own.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("compile")]


def run_queued(kind: str, at: float = 1) -> TrainingJob:
    job = TrainingJob.objects.get(kind=kind, state="queued")
    found = place(job.pk, later(at))
    assert found is not None
    run_job(job_id=job.pk, placement=found.placement, clock=lambda: later(at))
    job.refresh_from_db()
    return job


def test_an_upload_that_is_no_program_is_rejected_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    path.write_bytes(b"no program")
    pair = submit_pair(
        name="Broken", device_program=path, cloud_program=path, labels=["a", "b"], batch_size=16, now=later(0)
    )
    sweep(now=later(0))
    job = run_queued("preflight")
    pair.refresh_from_db()
    assert (job.state, pair.state) == ("failed", "rejected")
    assert job.reason_code == pair.reason_code == "compile.malformed_upload"
    assert pair.reason_fields.keys() == {"detail"}
    sweep(now=later(2))
    assert TrainingJob.objects.count() == 1


GRAPH = """<ir_version: 9, opset_import: ["" : 17]>
predict (float[n,4] x, float[3,4] param_weight, float[3] param_bias) => (float[n,3] logits)
{
  columns = Transpose <perm = [1, 0]> (param_weight)
  product = MatMul (x, columns)
  logits = Add (product, param_bias)
}"""


def predict_graph() -> bytes:
    """ONNX's text format takes no dots in names."""
    model = onnx.parser.parse_model(GRAPH)
    for node in model.graph.node:
        node.input[:] = [name.replace("param_", "param.") for name in node.input]
    for value in model.graph.input:
        value.name = value.name.replace("param_", "param.")
    content: bytes = model.SerializeToString()
    return content


def large_gang(tmp_path: Path, *, width: int = 4) -> TrainingJob:
    """A bootstrap by four workers, with real files."""
    write_job(tmp_path)
    if width != 4:
        np.savez(tmp_path / "data.npz", x=np.zeros((330, width), np.float32), y=np.zeros(330, np.int64))
    pair, dataset = make_pair(), make_dataset()
    pair.cloud_program, dataset.blob = (keep((tmp_path / name).read_bytes()) for name in ("cloud.pt2", "data.npz"))
    pair.save()
    dataset.save()
    strategy: dict[str, object] = {"kind": "data_parallel", "workers": 4}
    return bootstrap_pair(pair=pair, dataset=dataset, options=TrainingOptions(strategy=strategy), now=later(0))


def test_a_large_gang_waits_for_its_places_once_one_process_has_tried_its_work(tmp_path: Path) -> None:
    large_gang(tmp_path)
    gang = Gang.objects.get()
    assert (gang.ranks, gang.small) == (1, True), "every host has room for a try beside its places"
    job = run_queued("bootstrap")
    gang.refresh_from_db()
    assert (job.state, job.rehearsed, job.attempts) == ("queued", True, 0)
    assert (gang.state, gang.ranks, gang.small, gang.spreads) == ("waiting", 4, False, True)
    again = place(job.pk, later(2))
    assert again is not None
    assert sum(share.ranks for share in again.shares) == 4


@pytest.mark.long
def test_a_large_gang_whose_work_fails_never_takes_its_places(tmp_path: Path) -> None:
    large_gang(tmp_path, width=5)
    job = run_queued("bootstrap")
    assert (job.state, job.reason_code) == ("failed", "dataset.malformed")
    assert Gang.objects.get().placements == 1, "of the try"


def quantisation() -> ModelVersion:
    """The version that a job is to quantise, with real files."""
    version = make_version(make_pair(predict=predict_graph()))
    rng = np.random.default_rng(0)
    file = io.BytesIO()
    np.savez(file, x=rng.normal(size=(120, 4)).astype(np.float32), y=rng.integers(0, 3, 120))
    dataset = make_dataset()
    dataset.blob = keep(file.getvalue())
    dataset.save()
    quantise_version(version=version, dataset=dataset, options=QuantiseOptions(), now=later(0))
    return version


def test_a_version_is_quantised_in_a_child_and_the_outcome_stands_at_it() -> None:
    version = quantisation()
    job = run_queued("quantise")
    assert (job.state, job.reason_code) == ("succeeded", "")
    variant = version.variants.get()
    measured = from_values(variant.measured, QuantiseResult)
    assert (measured.calibration, measured.samples) == (30, 90)
    assert {one.method for one in measured.tried} == {"static_minmax", "static_percentile", "dynamic"}
    assert all(one.measured is not None for one in measured.tried), "every form ran"
    assert (variant.graph is None) == (variant.reason_code != "") == (measured.offered is None)


@contextmanager
def disk_full() -> Iterator[None]:
    """No job has room for its files."""

    def no_room(_name: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        for module in (running, together):
            patch.setattr(module, "scratch_directory", no_room)
        yield


def paused_s(at: float) -> float:
    """Until its gang is placed again."""
    return (Gang.objects.get().not_before - later(at)).total_seconds()


@pytest.mark.parametrize(
    ("lacking", "code", "told"),
    [
        (storage_away, "storage.unavailable", "The file storage does not answer as it should"),
        (disk_full, "child.disk_full", "No space left on device"),
    ],
)
class TestWhatIsMissing:
    """The job waits for it, with a reason, as long as it takes."""

    def test_delays_a_job_which_then_goes_on_by_itself(
        self, lacking: Callable[[], AbstractContextManager[None]], code: str, told: str
    ) -> None:
        version, at, pauses = quantisation(), 1.0, []
        with lacking():
            for _ in range(8):  # more than workers may fail
                job = run_queued("quantise", at)
                assert (job.state, job.reason_code, job.attempts, job.lease_until) == ("queued", code, 0, None)
                pauses.append(paused_s(at))
                assert job.reason_sentence.startswith(f"it goes on {pauses[-1]:.0f} s from now: ")
                assert told in job.reason_sentence
                gang = Gang.objects.get()
                assert (gang.state, gang.reason()) == ("waiting", job.reason()), "the cluster's page tells it, too"
                assert place(job.pk, later(at + pauses[-1] - 0.1)) is None
                at += pauses[-1]
        assert pauses == [5, 10, 20, 40, 80, 160, 300, 300]
        job = run_queued("quantise", at)
        assert (job.state, job.reason_code) == ("succeeded", "")
        assert version.variants.exists()

    def test_does_not_reject_a_pair_that_waits_to_be_checked(
        self, lacking: Callable[[], AbstractContextManager[None]], code: str, told: str, tmp_path: Path
    ) -> None:
        program = tmp_path / "program.pt2"
        program.write_bytes(b"no program")
        pair = submit_pair(
            name="Pair", device_program=program, cloud_program=program, labels=["a", "b"], batch_size=16, now=later(0)
        )
        sweep(now=later(0))
        with lacking():
            job = run_queued("preflight")
        pair.refresh_from_db()
        assert (job.state, job.reason_code, pair.state) == ("queued", code, "checking")
        assert told in job.reason_sentence

    def test_does_not_keep_an_operator_from_cancelling(
        self, lacking: Callable[[], AbstractContextManager[None]], code: str, told: str
    ) -> None:
        version = quantisation()
        with lacking():
            job = run_queued("quantise")
        assert job.reason_code == code and told in job.reason_sentence
        cancel_job(job=job, why="it takes too long", now=later(2))
        assert place(job.pk, later(30)) is None
        job.refresh_from_db()
        assert job.state == "cancelled" and not version.variants.exists()

    def test_at_one_host_of_several_has_all_of_a_gang_wait(
        self, lacking: Callable[[], AbstractContextManager[None]], code: str, told: str, tmp_path: Path
    ) -> None:
        large_gang(tmp_path)
        TrainingJob.objects.update(rehearsed=True)
        Gang.objects.update(ranks=4, small=False, spreads=True)
        register_host(name="other", rack="", address="b", places=2, cores=2, gpus=0, memory_bytes=1, now=later(1))
        job = TrainingJob.objects.get()
        found = place(job.pk, later(1))
        assert found is not None and len(found.shares) == 2
        with lacking():
            join_gang(
                job_id=job.pk,
                placement=found.placement,
                host=found.shares[1].host,
                first=2,
                meeting=Meeting("a", 1, "secret"),
                clock=lambda: later(1),
            )
        gang = Gang.objects.get()
        assert (gang.state, gang.reason_code) == ("waiting", code)
        assert f"{found.shares[1].host}: " in gang.reason_sentence and told in gang.reason_sentence
        assert not holds_place(job.pk, found.placement, later(1)), "so that the lead ends its own share"
