"""A fleet that learns, live, on one machine: what `make demo` runs."""
