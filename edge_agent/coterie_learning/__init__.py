"""How devices and platform learn: the kinds of a plan's slots and the mathematics that they share; NumPy only."""
