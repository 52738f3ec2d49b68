"""``python -m coterie_agent``: the command, where no console script is installed."""

from coterie_agent.cli import main

main()
