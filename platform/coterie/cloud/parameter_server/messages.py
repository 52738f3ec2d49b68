"""Keys and values of the messages between the first process, servers and workers, in the words of frames."""

WHAT = "what"
"""A question's kind: one of those below."""
BEGIN, CONCLUDE, TRAIN = "begin", "conclude", "train"
"""From the first process: to servers and, the last one, to workers."""
WHERE, PULL, PUSH = "where", "pull", "push"
"""From workers to servers."""
NUMBER = "number"
"""Of the first process's question; its answer repeats it."""
KEY = "key"
"""Of a worker's question; its answer repeats it."""
EPOCH, STEP, FIRST, SIZES, DIRECTORY, PORT, PORTS, FOUND = (
    "epoch", "step", "first", "sizes", "directory", "port", "ports", "found",
)  # fmt: skip
PIECE, IDLE, LOSS = "piece", "idle", "loss"
COMMUNICATION_S, SENT_BYTES = "communication_s", "sent_bytes"
NUMBERS, STATISTICS, LOSSES = "numbers", "statistics", "losses"
"""Names of tensors."""
