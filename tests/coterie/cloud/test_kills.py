"""A worker or the job's own process is killed (SIGKILL): training ends once, with the bits that it would have had."""

import threading
import time
from pathlib import Path

import psutil
import pytest

from coterie.child.errors import Cancelled
from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, worker_job
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from tests.coterie.cloud.training import arguments_of, write_job

LIMITS = Limits(memory_bytes=8 << 30, confined=True)
EPOCHS = 6
STRATEGIES = [
    {"kind": "data_parallel", "workers": 2, "hook": "power_sgd", "warm_up_steps": 4},
    {"kind": "data_parallel", "workers": 3, "transfers": "priority", "piece_kib": 1},
    {"kind": "sharded", "workers": 2},
    {"kind": "pipeline", "workers": 2},
    {"kind": "local_sgd", "workers": 2, "period": 4, "interval_steps": 8},
    {"kind": "coded", "workers": 2, "stragglers": 1},
    {"kind": "parameter_server", "workers": 2},
]


def train(arguments: BootstrapArguments, *, at: int = 0, kill: str = "") -> tuple[BootstrapResult, bytes, list[int]]:
    """Train in the child of a job; as soon as epoch `at` is told, kill a process whose command has `kill`."""
    told: list[int] = []

    def follow(progress: Progress) -> None:
        told.append(progress.done)
        if kill and told.count(at) == 1 and progress.done == at:
            victims = [
                process for process in psutil.Process().children(recursive=True) if process.cmdline()[-1] == kill
            ]
            victims[-1].kill()

    result = run_child(bootstrap_job.JOB, arguments, limits=LIMITS, on_progress=follow)
    return result, Path(arguments.output).read_bytes(), told


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("job")
    write_job(directory)
    return directory


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: " ".join(map(str, strategy.values())))
def test_whoever_is_killed_the_result_has_the_same_bits(job: Path, tmp_path: Path, strategy: dict[str, object]) -> None:
    def arguments(name: str) -> BootstrapArguments:
        (tmp_path / name).mkdir(exist_ok=True)
        return arguments_of(job, strategy, epochs=EPOCHS, checkpoints=tmp_path / name)

    whole, expected, _ = train(arguments("whole"))
    # A worker dies; the job goes on by itself.
    result, trained, told = train(arguments("worker"), at=2, kill=worker_job.__name__)
    assert (result, trained) == (whole, expected)
    assert told == list(range(1, EPOCHS + 1)), "every epoch counts once"
    # The platform dies; another one takes the job from its last checkpoint.
    cancel = threading.Event()
    with pytest.raises(Cancelled):
        run_child(
            bootstrap_job.JOB,
            arguments("platform"),
            limits=LIMITS,
            on_progress=lambda progress: cancel.set() if progress.done == 3 else None,
            cancel=cancel,
        )
    assert not left_over(), "workers end with the process that started them"
    result, trained, told = train(arguments("platform"))
    assert (result, trained) == (whole, expected)
    assert told[0] in (4, 5, 6), "it does not begin anew"


@pytest.mark.long
def test_one_process_goes_on_from_its_checkpoint_too(job: Path, tmp_path: Path) -> None:
    strategy: dict[str, object] = {"kind": "one_process"}
    (tmp_path / "cut").mkdir()
    _, expected, _ = train(arguments_of(job, strategy, epochs=EPOCHS))
    train(arguments_of(job, strategy, epochs=3, checkpoints=tmp_path / "cut"))
    _, trained, told = train(arguments_of(job, strategy, epochs=EPOCHS, checkpoints=tmp_path / "cut"))
    assert trained == expected
    assert told == [4, 5, 6]


def left_over() -> list[psutil.Process]:
    """Workers of this process that live on; they have a moment to end."""
    deadline = time.monotonic() + 10
    while True:
        alive = [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if process.info["cmdline"]
            and process.info["cmdline"][-1] == worker_job.__name__
            and process.info["status"] != psutil.STATUS_ZOMBIE
            and Path(__file__).parents[3].as_posix() in " ".join(process.info["cmdline"])
        ]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.05)
