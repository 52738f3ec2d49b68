import errno
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, get_args, get_origin

import msgspec
import pytest

from coterie.child import landlock, seccomp
from coterie.child.confine import cut_off, never_confined
from coterie.child.errors import Cancelled, Crashed, DiskFull, FilesAway, OutOfMemory, OutOfTime
from coterie.child.job import Limits, Progress, Unconfined
from coterie.child.run import run_child
from coterie.child.trial_job import try_confinement
from coterie.core.kind_failures import KindFailed
from coterie.core.postponing import lack_of
from coterie_wire.bundle import ModelSpec
from tests.coterie.child.deeds import JOB, Arguments, Refused

CONFINED = Limits(confined=True)


def is_alive(pid: int) -> bool:
    """Zombies don't count: in a container nobody may reap an orphan."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_result_and_progress_arrive() -> None:
    seen: list[Progress] = []
    assert run_child(JOB, Arguments("double", 21), on_progress=seen.append).number == 42
    assert seen == [Progress(stage="doubling", done=1, total=1, values={"number": 21.0})]


def test_prints_do_not_disturb_the_protocol() -> None:
    assert run_child(JOB, Arguments("print")).number == 1


def test_declared_error_is_raised_again() -> None:
    with pytest.raises(Refused) as caught:
        run_child(JOB, Arguments("refuse"))
    assert caught.value.fields == {"what": "this"}


def test_an_error_of_the_code_of_a_kind_names_its_package() -> None:
    with pytest.raises(KindFailed, match=r"^acme-kinds 1\.0 failed in run, line \d+ of deeds_work\.py: ZeroDivision"):
        run_child(JOB, Arguments("kind"))


def test_undeclared_error_is_a_crash_with_its_traceback() -> None:
    with pytest.raises(Crashed, match="Nobody declared this"):
        run_child(JOB, Arguments("undeclared"))


def test_status_of_a_sudden_death_is_told() -> None:
    with pytest.raises(Crashed) as caught:
        run_child(JOB, Arguments("exit", 7))
    assert caught.value.fields["status"] == 7


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(DiskFull):
        run_child(JOB, Arguments("fill"))


def test_a_share_that_is_gone_meanwhile_is_not_the_jobs_fault(tmp_path: Path) -> None:
    given = tmp_path / "dataset.npz"
    given.write_bytes(b"numbers")

    def unmount(waiting: Progress) -> None:
        given.unlink()
        os.kill(waiting.done, signal.SIGKILL)

    with pytest.raises(FilesAway, match=r"dataset\.npz cannot be read") as caught:
        run_child(JOB, Arguments("wait", path=str(given)), on_progress=unmount)
    lack = lack_of(caught.value)
    assert lack is not None and lack.code == "storage.unavailable"
    with pytest.raises(Crashed):  # what was never there explains nothing
        run_child(JOB, Arguments("read", path=str(given)))


def test_a_full_disk_of_the_parents_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", no_room)
    with pytest.raises(DiskFull):
        run_child(JOB, Arguments("double"))


def test_what_the_system_does_not_allow_is_told(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Unconfined] = []
    assert run_child(JOB, Arguments("unconfined"), on_unconfined=told.append).number == 1
    assert [line.missing for line in told] == [("being cut off from the network",)]
    assert "deeds runs without being cut off from the network" in caplog.text


@pytest.mark.parametrize(("allowed", "cut"), [((True, True), True), ((False, True), True), ((False, False), False)])
def test_cutting_itself_off_takes_one_of_two_ways(allowed: tuple[bool, bool], cut: bool) -> None:
    ways = iter(allowed)
    assert cut_off(lambda _flags: 0 if next(ways) else -1) is cut


@pytest.mark.skipif(sys.platform != "linux", reason="macOS ignores RLIMIT_DATA for large allocations")
def test_memory_is_limited() -> None:
    with pytest.raises(OutOfMemory) as caught:
        run_child(JOB, Arguments("eat", 300 << 20), limits=Limits(memory_bytes=200 << 20))
    assert caught.value.fields == {"job": "deeds", "limit_mb": 200}


def test_memory_is_limited_in_onnxruntime_too() -> None:
    """Its array of zeros takes no memory until it is read, and the result has no room."""
    with pytest.raises(OutOfMemory):
        run_child(JOB, Arguments("eat in onnxruntime", 3 << 30), limits=Limits(memory_bytes=4 << 30))


def test_wall_clock_is_limited() -> None:
    with pytest.raises(OutOfTime):
        run_child(JOB, Arguments("wait"), limits=Limits(wall_s=0.5))


def test_processor_time_is_limited() -> None:
    with pytest.raises(OutOfTime) as caught:
        run_child(JOB, Arguments("spin"), limits=Limits(cpu_s=1))
    assert caught.value.fields["limit_s"] == 1


def test_size_of_files_is_limited(tmp_path: Path) -> None:
    with pytest.raises(Crashed, match="File too large"):
        run_child(JOB, Arguments("write", 2 << 20, output=str(tmp_path / "big")), limits=Limits(file_bytes=1 << 20))


@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")
@pytest.mark.skipif(
    subprocess.run(["unshare", "-Un", "true"], capture_output=True).returncode != 0, reason="no namespaces for us here"
)
def test_network_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run_child(JOB, Arguments("network", port)).number == 1
        with pytest.raises(Crashed, match="refused"):  # its loopback interface is its own
            run_child(JOB, Arguments("network", port), limits=Limits(confined=True))


@pytest.mark.skipif(not seccomp.is_supported(), reason="there is no filter for this machine")
@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_PACKET, socket.AF_VSOCK])
def test_a_confined_child_opens_no_socket_of_other_programs(family: int) -> None:
    with pytest.raises(Crashed, match="PermissionError"):
        run_child(JOB, Arguments("socket", family), limits=CONFINED)


FILTERED = """
import ctypes, socket
from coterie.child.confine import PR_SET_NO_NEW_PRIVS, close_sockets
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
print(close_sockets(libc, is_cut=False, loopback={loopback}))
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    try:
        socket.socket(family).close()
        print("open")
    except PermissionError:
        print("refused")
if libc.syscall(425, 8, ctypes.create_string_buffer(256)) < 0:
    print("no io_uring")
"""


@pytest.mark.skipif(not seccomp.is_supported(), reason="there is no filter for this machine")
@pytest.mark.parametrize(
    ("loopback", "told"),
    [
        (False, ["()", "refused", "refused", "refused", "no io_uring"]),
        (True, ["('being cut off from the network',)", "open", "open", "open"]),
    ],
)
def test_where_nobody_may_leave_the_network_sockets_are_refused(loopback: bool, told: list[str]) -> None:
    program = FILTERED.format(loopback=loopback)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env={"PYTHONPATH": path}, text=True)
    assert done.stdout.splitlines()[: len(told)] == told, done.stderr


def test_what_a_trial_finds_is_what_the_system_does_not_allow() -> None:
    missing = try_confinement()
    assert set(never_confined()) <= set(missing)
    if landlock.version() and seccomp.is_supported():
        assert missing == ()


NO_LANDLOCK = pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")


@NO_LANDLOCK
@pytest.mark.parametrize("beside", ["secret-key", "coterie.sqlite3", "coterie.sqlite3-wal"])
def test_a_confined_child_reads_what_its_arguments_name_and_not_what_is_beside_it(tmp_path: Path, beside: str) -> None:
    (tmp_path / "given").write_text("a program")
    (tmp_path / beside).write_text("hush")
    assert run_child(JOB, Arguments("read", path=str(tmp_path / "given")), limits=CONFINED).text == "a program"
    aside = Arguments("read", path=str(tmp_path / "given"), other=str(tmp_path / beside))
    assert run_child(JOB, aside).text == "hush"
    with pytest.raises(Crashed, match=f"PermissionError.*{beside}"):
        run_child(JOB, aside, limits=CONFINED)


@NO_LANDLOCK
@pytest.mark.parametrize("place", ["/etc/shadow", "/root/.bashrc", "{parent}/environ"])
def test_a_confined_child_reads_nothing_of_the_machine_or_of_its_parent(place: str) -> None:
    path = place.format(parent=f"/proc/{os.getpid()}")
    if not Path(path).exists():
        pytest.skip("there is no such file here")
    with pytest.raises(Crashed, match="PermissionError"):
        run_child(JOB, Arguments("read", other=path), limits=CONFINED)


@NO_LANDLOCK
def test_a_confined_child_writes_beside_its_output_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / "result"
    assert run_child(JOB, Arguments("write", 3, output=str(output)), limits=CONFINED).number == 3
    assert output.stat().st_size == 3
    with pytest.raises(Crashed, match="PermissionError"):
        run_child(JOB, Arguments("write", 3, output=str(output), other=str(tmp_path / "elsewhere")), limits=CONFINED)
    assert not (tmp_path / "elsewhere").exists()


@NO_LANDLOCK
@pytest.mark.skipif(landlock.version() < landlock.SCOPES_SINCE, reason="this kernel does not restrict signals")
def test_a_confined_child_signals_nobody() -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        with pytest.raises(Crashed, match="PermissionError"):
            run_child(JOB, Arguments("kill", other.pid), limits=CONFINED)
        assert other.poll() is None
        other.kill()


def test_every_job_of_the_platform_names_its_files() -> None:
    for module in ("preflight_job", "bootstrap_job", "distill_job", "averaging_job", "distill_merge_job"):
        arguments = importlib.import_module(f"coterie.cloud.{module}").JOB.arguments
        plain = [f"{module}.{name}" for name in _plain_strings(arguments) if name not in NO_PATHS]
        assert plain == [], "a path that is not named as one is not opened by a confined child"


NO_PATHS = {"labels", "lineage", "name", "of", "address", "leader", "secret"}


def _plain_strings(kind: type[msgspec.Struct]) -> Iterator[str]:
    """Fields of text, or of several, that are not said to be paths; documents have keys, and no paths."""
    for field in msgspec.structs.fields(kind):
        for hint in (
            field.type,
            *(() if get_origin(field.type) in (Annotated, dict, Mapping) else get_args(field.type)),
        ):
            if hint is str:
                yield field.name
            elif isinstance(hint, type) and issubclass(hint, msgspec.Struct) and hint is not ModelSpec:
                yield from _plain_strings(hint)


def test_environment_holds_nothing_of_the_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_SECRET_KEY", "hush")
    names = json.loads(run_child(JOB, Arguments("environment")).text)
    assert "PATH" in names
    assert "COTERIE_SECRET_KEY" not in names


def test_cancel_leaves_no_process() -> None:
    cancel = threading.Event()
    pids: list[int] = []

    def on_progress(progress: Progress) -> None:
        pids.append(progress.done)
        cancel.set()

    with pytest.raises(Cancelled):
        run_child(JOB, Arguments("wait"), on_progress=on_progress, cancel=cancel)
    assert not is_alive(pids[0])


def test_exception_of_the_listener_ends_the_child() -> None:
    def on_progress(progress: Progress) -> None:
        raise KeyboardInterrupt(progress.done)

    with pytest.raises(KeyboardInterrupt) as caught:
        run_child(JOB, Arguments("wait"), on_progress=on_progress)
    assert not is_alive(caught.value.args[0])


PARENT = """
from coterie.child.run import run_child
from coterie.child.trial_job import try_confinement
from tests.coterie.child.deeds import JOB, Arguments
run_child(JOB, Arguments("wait"), on_progress=lambda progress: print(progress.done, flush=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pidfd is Linux's")
def test_child_dies_with_its_parent() -> None:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env={"PYTHONPATH": path}) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        with os.fdopen(os.pidfd_open(pid)) as child:
            parent.kill()
            parent.wait()
            assert select.select([child], [], [], 10)[0], "the child outlived its parent"
