"""The cloud model in PyTorch: bootstrapped, then distilled into the device model (Colla, stages 1 and 2)."""
