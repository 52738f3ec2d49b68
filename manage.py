#!/usr/bin/env python
"""Django's command line on a source checkout; what people use is `coterie`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / name) for name in ("platform", "edge_agent", "recipes")]

if __name__ == "__main__":
    from coterie.cli.development import main

    main()
