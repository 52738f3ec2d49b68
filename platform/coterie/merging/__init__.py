"""Merging: from accepted updates to published versions, whichever way a plan's merge takes."""
