"""How ATen operators become ONNX operators: one function each, in one table per module."""
