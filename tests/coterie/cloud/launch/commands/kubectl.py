"""``kubectl``, as far as a launcher uses it: a Job's pods are processes of this machine. Arguments: directory, port."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

HERE, PORT, COMMAND = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
PODS = HERE / "pods"


def start(index: int, job: str, service: str, command: list[str]) -> int:
    """A pod's process; its number. On one machine, the first pod's name is this machine, and its port is free."""
    here = {"$(JOB_COMPLETION_INDEX)": str(index), f"{job}-0.{service}": "127.0.0.1", "29500": PORT}
    words = [sys.executable, *(here.get(word, word) for word in command[1:]), "--address", "127.0.0.1"]
    with (HERE / f"pod-{index}.log").open("wb") as log:
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True).pid


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"


pods = json.loads(PODS.read_text()) if PODS.exists() else []
match COMMAND:
    case "apply":
        service, job = json.load(sys.stdin)["items"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        names = job["metadata"]["name"], service["metadata"]["name"]
        started = [start(index, *names, container["command"]) for index in range(job["spec"]["completions"])]
        PODS.write_text(json.dumps(started))
    case "get" if pods:
        alive = sum(map(is_alive, pods))
        failed = [{"type": "Failed", "status": "True", "message": "Job has reached the specified backoff limit"}]
        status = {"ready": alive, "conditions": [] if alive == len(pods) else failed}
        sys.stdout.write(json.dumps({"status": status}))
    case "delete":
        for pid in pods:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        PODS.unlink(missing_ok=True)
