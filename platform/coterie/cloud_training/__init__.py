"""Jobs that train or check models in the cloud: pre-flight, bootstrap and distillation."""
