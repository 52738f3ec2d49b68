"""Direct paths between two devices, through the NATs in front of them."""
