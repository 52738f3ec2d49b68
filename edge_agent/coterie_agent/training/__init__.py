"""How a device learns: NumPy and onnxruntime, from received parameters and own samples to an encoded update."""
