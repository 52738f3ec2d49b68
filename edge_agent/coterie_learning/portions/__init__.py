"""What a helper sends to a device in need: one module a way to take a model apart and to put what came into another."""
