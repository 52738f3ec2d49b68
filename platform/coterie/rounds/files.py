"""Where updates are stored while they arrive, in the parts of its assignment."""

from coterie.storage.arrivals import Arrivals

UPLOADS = Arrivals("uploads")
"""By assignment."""
PARTIALS = Arrivals("partials")
"""By fold."""
