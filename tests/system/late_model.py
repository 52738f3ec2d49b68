"""``coterie-agent`` whose model takes its time while HOME/late exists: ``python -m tests.system.late_model HOME …``."""

import sys
import time
from pathlib import Path

from coterie_agent.cli import main
from coterie_agent.predicting import HeldModel

LATE = "late"
_predict = HeldModel.predict


def run(home: Path, *arguments: str) -> None:
    """Do as ``coterie-agent --home HOME`` does."""

    def late(held: HeldModel, rows: object) -> object:
        while (home / LATE).exists():
            time.sleep(0.01)
        return _predict(held, rows)  # type: ignore[arg-type]

    HeldModel.predict = late  # type: ignore[assignment, method-assign]
    sys.argv = ["coterie-agent", "--home", str(home), *arguments]
    main()


if __name__ == "__main__":
    run(Path(sys.argv[1]), *sys.argv[2:])
