"""Compiled models on data sets: reading samples, running graphs, scoring; NumPy and onnxruntime, no database, no network."""
