"""Storage of bytes: one interface, implemented by files of a directory and objects of an S3 store; partial uploads."""
