"""Roll-outs: a version is tried by a canary group, then promoted or rolled back."""
