"""Where training runs: hosts that take workers, and gangs of workers that wait for room or have it."""
