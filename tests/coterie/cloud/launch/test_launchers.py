"""Gangs that another scheduler starts: what it is given is run here as processes, and gives one host's result."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

from coterie.child.errors import Cancelled
from coterie.child.job import Progress
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.errors import LaunchFailed
from coterie.cloud.launch.follow import gang_for, train_elsewhere
from coterie.cloud.launch.gang import Gang, GangStatus, Launcher
from coterie.cloud.launch.kubernetes import Kubernetes
from coterie.cloud.launch.slurm import Slurm
from coterie.evaluation.datasets import MalformedDataset
from tests.coterie.cloud.training import arguments_of, write_job
from tests.free_ports import free_port

TWO: dict[str, object] = {"kind": "data_parallel", "workers": 2}
ROOTS = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
MANY = 60
"""Epochs that take longer than it takes the platform to see the second one."""
COMMANDS = Path(__file__).parent / "commands"
Make = Callable[[Path], Launcher]


def of_kubernetes(root: Path) -> Launcher:
    return Kubernetes("coterie:1", "shared", str(root))


def of_slurm(_root: Path) -> Launcher:
    return Slurm(sys.executable, ("--partition=long",))


LAUNCHERS = pytest.mark.parametrize("make", [of_kubernetes, of_slurm], ids=["kubernetes", "slurm"])


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "commands"
    directory.mkdir()
    port, python = free_port(), sys.executable
    for name in ("kubectl", "sbatch", "srun", "squeue", "scancel", "scontrol"):
        stands_in = f"{COMMANDS / 'kubectl.py'} {directory} {port}"
        if name != "kubectl":
            stands_in = f"{COMMANDS / 'slurm.py'} {directory} {port} {name}"
        path = directory / name
        path.write_text(f'#!/bin/sh\nexec {python} {stands_in} "$@"\n')
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", ROOTS)
    return directory


def prepared(tmp_path: Path, strategy: dict[str, object], *, epochs: int = 2) -> tuple[BootstrapArguments, Gang]:
    write_job(tmp_path, plain=True)
    checkpoints = tmp_path / "shared" / "job"
    checkpoints.mkdir(parents=True)
    arguments = arguments_of(tmp_path, strategy, epochs=epochs, checkpoints=checkpoints)
    return arguments, gang_for(arguments, name="coterie-0123", directory=checkpoints / "launch")


@pytest.mark.long
@LAUNCHERS
def test_what_is_given_to_the_scheduler_trains_what_one_host_would(tmp_path: Path, commands: Path, make: Make) -> None:
    arguments, gang = prepared(tmp_path, TWO, epochs=1)
    told: list[Progress] = []
    standings: list[GangStatus] = []
    result = train_elsewhere(
        make(tmp_path / "shared"),
        gang,
        arguments,
        on_progress=told.append,
        on_status=standings.append,
        cancel=threading.Event(),
    )
    assert {standing.state for standing in standings} <= {"waits", "runs", "over"}
    assert standings, "people are told how it is there"
    trained = (tmp_path / "trained").read_bytes()
    alone: list[Progress] = []
    assert bootstrap_stored(arguments_of(tmp_path, TWO, epochs=1), alone.append) == result
    assert (tmp_path / "trained").read_bytes() == trained
    epochs = [progress for progress in told if progress.values]
    assert [progress.values["loss"] for progress in epochs] == [progress.values["loss"] for progress in alone]
    assert not gang.directory.exists(), "what was shared is removed"
    assert list(gang.directory.parent.glob("part-*")), "checkpoints are there"
    assert not (commands / "pods").exists()
    assert not (commands / "job").exists()


@pytest.mark.long
@LAUNCHERS
@pytest.mark.parametrize("kind", ["one_process", "coded"])
def test_what_does_not_meet_over_a_network_is_one_process_of_the_scheduler(
    tmp_path: Path, commands: Path, make: Make, kind: str
) -> None:
    assert commands.exists()
    arguments, gang = prepared(tmp_path, {"kind": kind})
    assert (gang.processes, gang.cores_each) == (1, 4 if kind == "coded" else 1)
    result = train_elsewhere(
        make(tmp_path / "shared"),
        gang,
        arguments,
        on_progress=lambda _: None,
        on_status=lambda _: None,
        cancel=threading.Event(),
    )
    assert result.epochs == 2


@pytest.mark.long
@LAUNCHERS
def test_a_gang_that_makes_room_goes_on_from_its_checkpoint(tmp_path: Path, commands: Path, make: Make) -> None:
    arguments, gang = prepared(tmp_path, TWO, epochs=MANY)
    launcher = make(tmp_path / "shared")

    def leave(progress: Progress) -> None:
        if progress.done == 2:
            raise Cancelled(job="it makes room")

    with pytest.raises(Cancelled):
        train_elsewhere(
            launcher, gang, arguments, on_progress=leave, on_status=lambda _: None, cancel=threading.Event()
        )
    assert not (commands / "pods").exists()
    assert not (commands / "job").exists()
    told: list[Progress] = []
    train_elsewhere(
        launcher, gang, arguments, on_progress=told.append, on_status=lambda _: None, cancel=threading.Event()
    )
    assert next(progress.done for progress in told if progress.values) >= 3
    trained = (tmp_path / "trained").read_bytes()
    bootstrap_stored(arguments_of(tmp_path, TWO, epochs=MANY), lambda _: None)
    assert (tmp_path / "trained").read_bytes() == trained, "the same bits"


@pytest.mark.long
@LAUNCHERS
def test_a_programs_fault_is_told_as_a_child_would(tmp_path: Path, commands: Path, make: Make) -> None:
    assert commands.exists()
    arguments, gang = prepared(tmp_path, TWO)
    np.savez(arguments.dataset, x=np.zeros((8, 5), np.float32), y=np.zeros(8, np.int64))
    with pytest.raises(MalformedDataset):
        train_elsewhere(
            make(tmp_path / "shared"),
            gang,
            arguments,
            on_progress=lambda _: None,
            on_status=lambda _: None,
            cancel=threading.Event(),
        )


@pytest.mark.long
@LAUNCHERS
def test_a_worker_that_is_killed_fails_the_gang_and_another_try_goes_on(
    tmp_path: Path, commands: Path, make: Make
) -> None:
    assert commands.exists()
    arguments, gang = prepared(tmp_path, TWO, epochs=MANY)
    launcher = make(tmp_path / "shared")

    def kill(progress: Progress) -> None:
        if progress.done == 2:
            mine = [one for one in psutil.process_iter() if [str(gang.directory), "1"] == _words(one)[3:5]]
            mine[0].kill()

    with pytest.raises(LaunchFailed):
        train_elsewhere(launcher, gang, arguments, on_progress=kill, on_status=lambda _: None, cancel=threading.Event())
    result = train_elsewhere(
        launcher, gang, arguments, on_progress=lambda _: None, on_status=lambda _: None, cancel=threading.Event()
    )
    trained = (tmp_path / "trained").read_bytes()
    assert bootstrap_stored(arguments_of(tmp_path, TWO, epochs=MANY), lambda _: None) == result
    assert (tmp_path / "trained").read_bytes() == trained, "the same bits"


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_the_jobs_manifests_are_a_gang_that_finds_its_first_pod() -> None:
    gang = Gang("coterie-0123", 4, 1, Path("/shared/0123/launch"))
    service, job = json.loads(json.dumps(Kubernetes("coterie:1", "claim", "/shared").manifests(gang)))
    assert (service["kind"], service["apiVersion"], job["kind"], job["apiVersion"]) == (
        "Service",
        "v1",
        "Job",
        "batch/v1",
    )
    pod, spec = job["spec"]["template"], job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["completions"] == spec["parallelism"] == 4
    assert spec["backoffLimit"] == 0, "all begin again together"
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["spec"]["publishNotReadyAddresses"], "pods are never ready before they have met"
    assert pod["spec"]["subdomain"] == service["metadata"]["name"]
    (worker,) = pod["spec"]["containers"]
    assert worker["command"][-3:] == ["$(JOB_COMPLETION_INDEX)", "coterie-0123-0.coterie-0123", "29500"]
    mounted = {mount["name"]: mount for mount in worker["volumeMounts"]}
    assert mounted.keys() == {volume["name"] for volume in pod["spec"]["volumes"]}
    assert (mounted["shared"]["mountPath"], mounted["shared"]["subPath"]) == ("/shared/0123", "0123"), "its job's alone"
    assert not pod["spec"]["automountServiceAccountToken"]
    assert len("coterie-0123-0") <= 63, "a host name"
    assert "limits" not in worker["resources"]


def test_workers_ask_other_schedulers_for_their_gpus(tmp_path: Path) -> None:
    arguments = arguments_of(tmp_path, {"kind": "parameter_server", "workers": 3})
    gang = gang_for(arguments, name="coterie-0123", directory=Path("/shared/0123/launch"), on_gpus=True)
    assert (gang.processes, gang.gpus_each) == (1, 3), "of one process whose children are the workers"
    _, job = json.loads(json.dumps(Kubernetes("coterie:1", "claim", "/shared").manifests(gang)))
    (worker,) = job["spec"]["template"]["spec"]["containers"]
    assert worker["resources"]["limits"] == {"nvidia.com/gpu": "3"}
    spread = gang_for(
        arguments_of(tmp_path, {"kind": "sharded", "workers": 3}), name="x", directory=tmp_path, on_gpus=True
    )
    assert "#SBATCH --gpus-per-task=1" in Slurm("python").script(spread).splitlines()


def test_the_script_is_one_that_bash_reads() -> None:
    gang = Gang("coterie-0123", 4, 2, Path("/sha red/0123/launch"))
    script = Slurm("/opt/coterie/bin/python").script(gang)
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    lines = script.splitlines()
    assert lines[0] == "#!/bin/bash"
    first = next(number for number, line in enumerate(lines) if number and not line.startswith("#SBATCH"))
    assert not any(line.startswith("#SBATCH") for line in lines[first:]), "sbatch reads them at the top alone"
    assert "gpus" not in script
    assert {"#SBATCH --ntasks=4", "#SBATCH --cpus-per-task=2", "#SBATCH --no-requeue"} <= set(lines)


@LAUNCHERS
def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments, gang = prepared(tmp_path, TWO)
    with pytest.raises(LaunchFailed, match="No such file"):
        train_elsewhere(
            make(tmp_path),
            gang,
            arguments,
            on_progress=lambda _: None,
            on_status=lambda _: None,
            cancel=threading.Event(),
        )


@pytest.mark.parametrize(
    ("printed", "state"),
    [("PENDING Resources\n", "waits"), ("RUNNING None\n", "runs"), ("", "over"), ("TIMEOUT TimeLimit\n", "over")],
)
def test_slurms_queue_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, state: str) -> None:
    command = tmp_path / "squeue"
    command.write_text(f"#!/bin/sh\nprintf '{printed}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert Slurm("python").poll(Gang("a", 1, 1, tmp_path)).state == state


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"active": 2, "ready": 1}, "waits"),
        ({"active": 2, "ready": 2}, "runs"),
        ({"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 2}, "over"),
        ({"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}, "over"),
        (None, "over"),
    ],
)
def test_a_jobs_status_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: dict[str, object] | None, state: str
) -> None:
    printed = "" if status is None else json.dumps({"kind": "Job", "status": status})
    command = tmp_path / "kubectl"
    command.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert Kubernetes("image", "claim", "/").poll(Gang("a", 2, 1, tmp_path)).state == state
