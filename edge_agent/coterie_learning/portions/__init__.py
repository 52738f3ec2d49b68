"""What a helper sends to a device that asked for help: one module for each way to extract and merge a portion."""
