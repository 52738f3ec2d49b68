"""What a device's owner can ask of the platform: to see what it knows of the device, and to have that forgotten."""
