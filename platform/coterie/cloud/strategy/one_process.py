"""One process: no communication, and nothing to lose where a model trains within minutes."""

from coterie.cloud.strategy import Strategy


class OneProcess(Strategy, frozen=True, tag="one_process"):
    """One process trains the model."""

    work = "coterie.cloud.alone:train_alone"
