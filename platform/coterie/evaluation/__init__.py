"""Compiled models on data sets: samples are read, graphs run and outputs scored; NumPy and onnxruntime only."""
