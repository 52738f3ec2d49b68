"""Strategy `parameter_server`: the job's first process, the servers that store the model, and the workers that train
it.

Each server answers workers independently, piece by piece, and none knows of another. The first process tells all of
them when an epoch begins, and evaluates the model after it.
"""
