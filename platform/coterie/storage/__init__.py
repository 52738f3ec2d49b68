"""Where bytes lie: one interface, kept by files of a directory or by objects of an S3 store; uploads that arrive."""
