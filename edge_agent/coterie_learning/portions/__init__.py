"""Portions: the parts of a model that a helper sends on request; one module for each way to extract and merge one."""
