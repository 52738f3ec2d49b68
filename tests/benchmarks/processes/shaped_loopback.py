"""A training whose workers and servers talk over a loopback interface with a limit.

``unshare -r -n python -m tests.benchmarks.processes.shaped_loopback TOLD``: it must be in a network namespace of its
own. TOLD is JSON; what is printed last is JSON, too.
"""

import json
import subprocess
import sys
from pathlib import Path

from coterie.child.job import Progress
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments

FIRST_EPOCHS = 1
"""They are not counted: in them the order is found."""


def main(told: str) -> None:
    """Everything that is on its way at once shares the limit, in both directions."""
    wanted = json.loads(told)
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "9000"], check=True)
    shape = ["rate", f"{wanted['mbit']}mbit", "burst", "128kb", "latency", "400ms"]
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", *shape], check=True)
    directory = Path(wanted["directory"])
    arguments = BootstrapArguments(
        cloud=str(directory / "cloud.pt2"),
        dataset=str(directory / "data.npz"),
        recipe={},
        loss=None,
        output=str(directory / "trained"),
        epochs=wanted["epochs"],
        patience=wanted["epochs"],
        batch_size=wanted["batch"],
        validation_share=0.001,
        strategy=wanted["strategy"],
    )
    seconds: list[float] = []

    def follow(progress: Progress) -> None:
        seconds.append(wanted["batch"] / progress.values["samples_per_second"])

    result = bootstrap_stored(arguments, follow)
    sys.stdout.write(json.dumps({"step_s": seconds[FIRST_EPOCHS:], "weights": result.parameters.sha256}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
