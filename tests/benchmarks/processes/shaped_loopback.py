"""A training whose workers and servers talk over a loopback interface with a limit.

``unshare -r -n python -m tests.benchmarks.processes.shaped_loopback TOLD``: it must be in a network namespace of its
own. TOLD is JSON; what is printed last is JSON, too.
"""

import json
import subprocess
import sys

from coterie.child.job import Progress
from coterie.cloud.bootstrap import bootstrap_stored
from tests.benchmarks.processes.timed_training import FIRST_EPOCHS, training_of


def main(told: str) -> None:
    """Everything that is on its way at once shares the limit, in both directions."""
    wanted = json.loads(told)
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "9000"], check=True)
    shape = ["rate", f"{wanted['mbit']}mbit", "burst", "128kb", "latency", "400ms"]
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", *shape], check=True)
    seconds: list[float] = []

    def follow(progress: Progress) -> None:
        seconds.append(wanted["batch"] / progress.values["samples_per_second"])

    result = bootstrap_stored(training_of(wanted), follow)
    sys.stdout.write(json.dumps({"step_s": seconds[FIRST_EPOCHS:], "weights": result.parameters.sha256}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
