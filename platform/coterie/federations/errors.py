"""What can go wrong with federations."""

from coterie.core.errors import CoterieError, ErrorKind


class NameTaken(CoterieError):
    """Fields: slug."""

    code = "federations.name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "there is a federation called {slug} already; choose another name"


class PairInUse(CoterieError):
    """Fields: pair."""

    code = "federations.pair_in_use"
    kind = ErrorKind.CONFLICT
    sentence = "another federation that is running or paused already improves pair {pair}; finish it first"


class PairNotReady(CoterieError):
    """Fields: pair, state."""

    code = "federations.pair_not_ready"
    kind = ErrorKind.CONFLICT
    sentence = "pair {pair} is {state}; a federation needs a ready one"


class WrongState(CoterieError):
    """Fields: federation, state, wanted."""

    code = "federations.wrong_state"
    kind = ErrorKind.CONFLICT
    sentence = "federation {federation} is {state}, so it cannot become {wanted}"


class HeldOutDoesNotFit(CoterieError):
    """Fields: dataset, problem."""

    code = "federations.held_out_does_not_fit"
    kind = ErrorKind.INVALID
    sentence = "data set {dataset} cannot measure this pair's models: {problem}"
