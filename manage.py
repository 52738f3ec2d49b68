#!/usr/bin/env python
"""Django's command line on a source checkout; `coterie` is the same, installed."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "platform"), str(ROOT / "edge_agent")]

if __name__ == "__main__":
    from coterie.cli import main

    main()
