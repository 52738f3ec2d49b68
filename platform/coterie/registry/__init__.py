"""Model pairs, their immutable versions and lineage, the blobs they are made of, bundles, aliases and data sets."""
