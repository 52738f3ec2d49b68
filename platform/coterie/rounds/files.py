"""Where updates lie that are arriving, each in a file of its assignment."""

from coterie.core.arrivals import Arrivals

UPLOADS = Arrivals("uploads")
"""By assignment."""
