"""SLURM's commands, as far as a launcher and its script use them: tasks are processes of this machine.

Arguments: directory, port (SLURM's jobs need none), the command's name, and what it is given.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

HERE, _, COMMAND, *GIVEN = sys.argv[1:]
JOB = Path(HERE, "job")


def sbatch() -> None:
    script = sys.stdin.read()
    lines = [line.removeprefix("#SBATCH --") for line in script.splitlines() if line.startswith("#SBATCH --")]
    options = dict(line.partition("=")[::2] for line in lines)
    number = os.getpid()
    variables = {"SLURM_JOB_ID": str(number), "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_NTASKS": options["ntasks"]}
    with Path(options["output"]).open("wb") as log:
        started = subprocess.Popen(
            ["bash", "-c", script], env={**os.environ, **variables}, stdout=log, stderr=log, start_new_session=True
        )
    JOB.write_text(f"{started.pid} {options['job-name']}")
    sys.stdout.write(f"{number}\n")


def srun() -> int:
    assert GIVEN[0] == "--kill-on-bad-exit=1"
    tasks = []
    for number in range(int(os.environ["SLURM_NTASKS"])):
        variables = {"SLURM_PROCID": str(number), "SLURMD_NODENAME": "127.0.0.1"}
        tasks.append(subprocess.Popen(GIVEN[1:], env={**os.environ, **variables}))
    left = {task.pid for task in tasks}
    while left:
        pid, status = os.wait()
        left.discard(pid)
        if status:
            for task in tasks:
                task.kill()
            return 1
    return 0


def named() -> int | None:
    """The process of the job whose name is asked for; None: there is none."""
    if not JOB.exists():
        return None
    pid, name = JOB.read_text().split()
    return int(pid) if f"--name={name}" in GIVEN else None


def squeue() -> None:
    stat = Path(f"/proc/{named()}/stat")
    if stat.exists() and stat.read_text().split()[2] != "Z":
        sys.stdout.write("RUNNING None\n")


def scancel() -> None:
    if (pid := named()) is not None:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        JOB.unlink()


match COMMAND:
    case "sbatch":
        sbatch()
    case "srun":
        sys.exit(srun())
    case "squeue":
        squeue()
    case "scancel":
        scancel()
    case "scontrol":
        assert GIVEN == ["show", "hostnames", "node[1-2]"]
        sys.stdout.write("127.0.0.1\nnode2\n")
