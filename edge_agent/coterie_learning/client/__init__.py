"""One device's part in a round, and its training between rounds, without input or output: NumPy only.

The caller loads samples, stores checkpoints, runs the optimisation steps and uploads the update to the platform.
Agents and simulated devices call the same code, so the same inputs give the same update, byte for byte.
"""
