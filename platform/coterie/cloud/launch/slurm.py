"""Launcher `slurm`: a batch script whose ``srun`` starts all workers at once; a SLURM job is a gang by nature."""

from shlex import quote
from typing import NamedTuple

from coterie.cloud.launch.gang import WALL_S, Gang, GangStatus, run_command

WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED")
RUNNING = ("RUNNING", "COMPLETING", "STAGE_OUT")


class Slurm(NamedTuple):
    """By ``sbatch``, ``squeue`` and ``scancel``, as the user that the worker runs as."""

    python: str
    """The interpreter on the nodes, in whose environment the platform is installed."""
    options: tuple[str, ...] = ()
    """Further options of ``sbatch``, such as ``--partition=long``."""
    kind: str = "slurm"

    def start(self, gang: Gang) -> None:
        """Submit its script."""
        run_command(self.kind, ["sbatch", "--parsable", *self.options], given=self.script(gang))

    def poll(self, gang: Gang) -> GangStatus:
        """Its status in the queue, which drops ended jobs."""
        command = ["squeue", "--me", "--noheader", f"--name={gang.name}", "--format=%T %r"]
        answer = run_command(self.kind, command).split(maxsplit=1)
        if answer and answer[0] in WAITING:
            return GangStatus(
                "waits", f"{answer[0].lower()}: {answer[1].strip() if len(answer) > 1 else 'no reason given'}"
            )
        if answer and answer[0] in RUNNING:
            return GangStatus("runs")
        return GangStatus("over", answer[0].lower() if answer else "it is not in the queue")

    def stop(self, gang: Gang) -> None:
        """Cancel all jobs of its name."""
        run_command(self.kind, ["scancel", "--me", f"--name={gang.name}"])

    def script(self, gang: Gang) -> str:
        """The batch script. Workers meet on the first node, at a port that other jobs there do not use."""
        hours, seconds = divmod(WALL_S, 3600)
        program = f"exec {quote(self.python)} -m coterie.cloud.launch.rank {quote(str(gang.directory))}"
        rank = f'{program} "$SLURM_PROCID" "$LEADER" "$PORT" --address "$SLURMD_NODENAME"'
        return "\n".join(
            (
                "#!/bin/bash",
                f"#SBATCH --job-name={gang.name}",
                f"#SBATCH --ntasks={gang.processes}",
                f"#SBATCH --cpus-per-task={gang.cores_each}",
                *((f"#SBATCH --gpus-per-task={gang.gpus_each}",) if gang.gpus_each else ()),
                f"#SBATCH --time={hours}:{seconds // 60:02}:00",
                "#SBATCH --no-requeue",
                f"#SBATCH --output={gang.directory}/slurm.log",
                "set -euo pipefail",
                'LEADER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
                "PORT=$((20000 + SLURM_JOB_ID % 20000))",
                "export LEADER PORT",
                f"srun --kill-on-bad-exit=1 bash -c {quote(rank)}",
                "",
            )
        )
