"""OpenStack Swift behind its S3 interface, which verifies signatures, and a line to it that breaks on demand."""
