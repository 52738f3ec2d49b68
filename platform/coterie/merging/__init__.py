"""Merging: from accepted updates to published versions, for every kind of merge."""
