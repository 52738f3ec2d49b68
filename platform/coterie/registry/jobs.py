"""What the registry asks to be done later."""

from coterie.core.jobs import Job

CHECK_PAIR = Job("coterie.cloud_training.tasks.check_pair")
"""Arguments: pair. Run the pre-flight of a submitted pair."""
