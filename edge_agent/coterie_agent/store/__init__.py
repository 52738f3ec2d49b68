"""What must outlive the process: one SQLite file, written so that losing power loses no acknowledged work."""
