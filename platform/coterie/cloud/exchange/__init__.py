"""How the first process of a job and its workers exchange the model and gradients, one by one, over the loopback
interface.

Gloo waits for every member of a group, and cannot skip a late one; here each worker is asked and answers independently.
"""
