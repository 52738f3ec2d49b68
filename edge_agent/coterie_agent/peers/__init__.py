"""What a device does between rounds: judge its own model, train it alone, ask others for help, and help them."""
