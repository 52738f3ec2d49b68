"""How ATen operators become ONNX operators: one function each, in a table a module."""
