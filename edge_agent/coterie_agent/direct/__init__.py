"""Direct paths between two devices, through the address translators before them."""
