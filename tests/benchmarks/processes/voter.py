"""One voter of an island, cut off: it says when it leads and what is agreed. ``FOLDER NAME PORT PORT PORT``."""

import sys
import time
from pathlib import Path

from coterie_wire.island import Holding, Island
from coterie_wire.relaying import Peer, public_key
from tests.coterie_agent.island.supernodes import NAMES, SECRETS, Supernode

PAUSE_S = 0.05
"""Between two proposals."""
ASSIGNMENTS = 500


def main(folder: str, name: str, *ports: str) -> None:
    """Run until it is killed."""
    voters = tuple(
        Peer(one, public_key(SECRETS[one]), f"127.0.0.1:{port}") for one, port in zip(NAMES, ports, strict=True)
    )
    voter = Supernode(name, Path(folder) / name, Island(1, "7", voters, time.time() + 3600))
    voter.lose_the_platform()
    term = number = 0
    while True:
        status = voter.membership.status()
        if status is not None and status.leader == name:
            if status.term != term:
                term = status.term
                print("leads", term, flush=True)
            number += 1
            holding = Holding(f"{name}-{number % ASSIGNMENTS}", f"{term:032x}{number:032x}", name)
            if voter.membership.agree(holding):
                print("holds", holding.assignment, holding.sha256, flush=True)
        elif status is not None:
            print("follows", status.leader, len(status.holders), flush=True)
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
