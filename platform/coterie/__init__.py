"""The cloud side of Coterie."""
