"""PyTorch models as ordinary ONNX graphs that train and predict."""
