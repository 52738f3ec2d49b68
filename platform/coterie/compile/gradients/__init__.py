"""Gradients in operators that ONNX has, where PyTorch computes them with special operators."""
