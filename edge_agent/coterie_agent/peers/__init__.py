"""What a device does between rounds: evaluate its personal model, train it, ask others for help, and help them."""
