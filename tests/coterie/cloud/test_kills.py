"""A worker or the job's own process is killed (SIGKILL): training ends once, with the bits that it would have had."""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from coterie.child.errors import Cancelled
from coterie.child.job import Limits, Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, worker_job
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.simulation_job import SAVED
from tests.coterie.cloud.training import arguments_of, write_job

LIMITS = Limits(memory_bytes=8 << 30, confined=True)
EPOCHS = 6
LISTENS = "0A"
"""The state of a socket that listens, in /proc/PID/net/tcp."""
STRATEGIES = [
    {"kind": "data_parallel", "workers": 2, "hook": "power_sgd", "warm_up_steps": 4},
    {"kind": "data_parallel", "workers": 3, "transfers": "priority", "piece_kib": 1},
    {"kind": "sharded", "workers": 2},
    {"kind": "pipeline", "workers": 2},
    {"kind": "local_sgd", "workers": 2, "period": 4, "interval_steps": 8},
    {"kind": "coded", "workers": 2, "stragglers": 1},
    {"kind": "parameter_server", "workers": 2},
    {"kind": "parameter_server", "workers": 2, "servers": 2, "transfers": "priority", "piece_kib": 1},
]


Chosen = Callable[[psutil.Process], bool]


def train(
    arguments: BootstrapArguments, *, at: int = 0, kill: Chosen | None = None
) -> tuple[BootstrapResult, bytes, list[int]]:
    """Train in the child of a job; as soon as epoch `at` is told, kill one of the processes below it."""
    told: list[int] = []

    def follow(progress: Progress) -> None:
        if SAVED in progress.values:
            return
        told.append(progress.done)
        if kill is not None and told.count(at) == 1 and progress.done == at:
            victims = [process for process in psutil.Process().children(recursive=True) if kill(process)]
            victims[-1].kill()

    result = run_child(bootstrap_job.JOB, arguments, limits=LIMITS, on_progress=follow)
    return result, Path(arguments.output).read_bytes(), told


def is_member(process: psutil.Process) -> bool:
    """Whether it is a child of the job's own."""
    return process.cmdline()[-1:] == [worker_job.__name__]


def is_worker(process: psutil.Process) -> bool:
    """Whether it computes gradients for parameter servers."""
    return is_member(process) and not _listens(process)


def is_server(process: psutil.Process) -> bool:
    """Whether it keeps a part of the model for workers."""
    return is_member(process) and _listens(process)


def _listens(process: psutil.Process) -> bool:
    """Its sockets are in a network namespace of the job's, where psutil does not look."""
    about = Path(f"/proc/{process.pid}")
    mine = {entry.readlink().as_posix() for entry in (about / "fd").iterdir() if entry.is_symlink()}
    sockets = [line.split() for line in (about / "net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return any(
        state == LISTENS and f"socket:[{inode}]" in mine for _, _, _, state, *_, inode in (s[:10] for s in sockets)
    )


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
    result, trained, told = train(arguments("worker"), at=2, kill=is_member)
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
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: " ".join(map(str, strategy.values())))
def test_who_goes_on_from_any_moment_around_a_checkpoint_has_the_same_bits(
    job: Path, tmp_path: Path, strategy: dict[str, object]
) -> None:
    """What a death leaves on the disk: before a checkpoint is written, amid its parts, after them, and after it."""

    def arguments(directory: Path, epochs: int = 2) -> BootstrapArguments:
        found = arguments_of(job, strategy, epochs=epochs, checkpoints=directory)
        return msgspec.structs.replace(found, checkpoint_s=0)

    whole, expected, _ = train(arguments_of(job, strategy, epochs=2))
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    train(arguments(before, epochs=1))
    shutil.copytree(before, after)
    cancel = threading.Event()
    with pytest.raises(Cancelled):
        run_child(
            bootstrap_job.JOB,
            arguments(after),
            limits=LIMITS,
            on_progress=lambda progress: cancel.set() if SAVED in progress.values else None,
            cancel=cancel,
        )
    new = sorted(path for path in after.iterdir() if not (before / path.name).exists())
    moments = {
        "amid the first": (new[:1], 0),
        "amid the others": (new, len(new) - 1),
        "before it counts": (new, len(new)),
    }
    for name, (written, complete) in moments.items():
        shutil.copytree(before, tmp_path / name)
        for place, path in enumerate(written):
            content = path.read_bytes()
            part = path if place < complete else path.with_name(path.name + ".part")
            (tmp_path / name / part.name).write_bytes(content if place < complete else content[: len(content) // 2])
    for name in ("before", *(moments if new else ()), "after"):
        result, trained, told = train(arguments(tmp_path / name))
        assert (result, trained) == (whole, expected), name
        assert told == [2], "the first epoch counts"


@pytest.mark.long
@pytest.mark.parametrize("kill", [is_server, is_worker])
@pytest.mark.parametrize("transfers", ["at_once", "priority"])
def test_any_server_or_worker_is_killed_the_result_has_the_same_bits(
    job: Path, tmp_path: Path, transfers: str, kill: Chosen
) -> None:
    strategy: dict[str, object] = {"kind": "parameter_server", "servers": 2, "piece_kib": 1, "transfers": transfers}
    (tmp_path / "cut").mkdir()
    whole, expected, _ = train(arguments_of(job, strategy, epochs=EPOCHS))
    result, trained, told = train(
        arguments_of(job, strategy, epochs=EPOCHS, checkpoints=tmp_path / "cut"), at=2, kill=kill
    )
    assert (result, trained) == (whole, expected)
    assert told == list(range(1, EPOCHS + 1)), "every epoch counts once"


@pytest.mark.long
@pytest.mark.parametrize("updates", ["asynchronous", "bounded"])
def test_where_steps_do_not_wait_any_server_or_worker_is_killed_and_it_learns(
    job: Path, tmp_path: Path, updates: str
) -> None:
    strategy: dict[str, object] = {"kind": "parameter_server", "servers": 2, "piece_kib": 1, "updates": updates}
    for kill in (is_server, is_worker):
        (tmp_path / kill.__name__).mkdir()
        arguments = arguments_of(job, strategy, epochs=EPOCHS, checkpoints=tmp_path / kill.__name__)
        result, _, told = train(arguments, at=2, kill=kill)
        assert told == list(range(1, EPOCHS + 1)), "every epoch counts once"
        assert result.validation_accuracy is not None
        assert result.validation_accuracy > 0.75


@pytest.mark.long
def test_servers_whose_checkpoint_is_damaged_begin_anew(job: Path, tmp_path: Path) -> None:
    strategy: dict[str, object] = {"kind": "parameter_server", "servers": 2, "piece_kib": 1}
    train(arguments_of(job, strategy, epochs=2, checkpoints=tmp_path))
    (part,) = tmp_path.glob("part-1-of-2.2")
    part.write_bytes(part.read_bytes()[:-1])
    _, trained, told = train(arguments_of(job, strategy, epochs=3, checkpoints=tmp_path))
    assert told == [1, 2, 3]
    assert trained == train(arguments_of(job, strategy, epochs=3))[1]


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
