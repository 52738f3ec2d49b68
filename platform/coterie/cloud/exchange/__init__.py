"""How the first process of a job and its workers exchange the model and gradients, one by one, over the loopback.

Gloo waits for every member of a group, and cannot leave a late one behind; here each is asked and answers by itself.
"""
