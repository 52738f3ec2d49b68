"""What a device does between rounds: judge its personal model, train it, ask others for help, and help them."""
