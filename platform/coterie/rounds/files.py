"""Where updates are stored while they arrive, each in a file of its assignment."""

from coterie.core.arrivals import Arrivals

UPLOADS = Arrivals("uploads")
"""By assignment."""
