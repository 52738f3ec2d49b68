"""Rounds, their figures and versions for programs that draw and compare experiments: TensorBoard, MLflow, others."""
