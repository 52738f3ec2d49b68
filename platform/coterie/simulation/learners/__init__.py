"""Models of virtual devices. One module a kind."""

from coterie.simulation.learner import Learner, Task
from coterie_learning.kinds import Kind
from coterie_learning.local import Local


class LearnerKind(Kind, frozen=True):
    """Hyperparameters of a learner."""

    def begin(self, task: Task, local: Local, *, seed: int) -> Learner:
        """The model that every device starts from; `local` is the plan's, for learners that train by it."""
        raise NotImplementedError
