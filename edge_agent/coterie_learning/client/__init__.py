"""One device's part in a round, and its training between rounds, without input or output: NumPy only.

Whoever drives it loads samples, keeps checkpoints, runs the optimisation steps and brings the update to the platform.
Agents and virtual devices drive the same code, so the same inputs give the same update, byte for byte.
"""
