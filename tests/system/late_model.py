"""``coterie-agent`` with a slow model, late while HOME/late exists: ``python -m tests.system.late_model HOME …``."""

import sys
import time
from pathlib import Path

from coterie_agent.cli import main
from coterie_agent.predicting import HeldModel
from coterie_agent.serving.queue import QUICK_S

LATE = "late"
SLOW_S = 2 * QUICK_S
"""Of each run, so that none is on the service's own thread, which would be late itself."""
_predict = HeldModel.predict


def run(home: Path, *arguments: str) -> None:
    """Do as ``coterie-agent --home HOME`` does."""

    def late(held: HeldModel, rows: object) -> object:
        time.sleep(SLOW_S)
        while (home / LATE).exists():
            time.sleep(0.01)
        return _predict(held, rows)  # type: ignore[arg-type]

    HeldModel.predict = late  # type: ignore[assignment, method-assign]
    sys.argv = ["coterie-agent", "--home", str(home), *arguments]
    main()


if __name__ == "__main__":
    run(Path(sys.argv[1]), *sys.argv[2:])
