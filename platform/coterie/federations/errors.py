"""What can go wrong with federations."""

from coterie.core.errors import CoterieError, ErrorKind


class NameTaken(CoterieError):
    """Fields: slug."""

    code = "federations.name_taken"
    kind = ErrorKind.CONFLICT
    sentence = "There is a federation called {slug} already; choose another name."


class PlanChanged(CoterieError):
    """Fields: federation."""

    code = "federations.plan_changed"
    kind = ErrorKind.CONFLICT
    sentence = "Somebody has changed the plan of {federation} meanwhile. Look at it as it is now, and change that."


class PairInUse(CoterieError):
    """Fields: pair."""

    code = "federations.pair_in_use"
    kind = ErrorKind.CONFLICT
    sentence = (
        "Another federation that is running or paused already improves pair {pair}: finish it first, or create this "
        "one anew with versions of its own (own_versions), as for an A/B trial."
    )


class NothingToBeginWith(CoterieError):
    """Fields: pair."""

    code = "federations.nothing_to_begin_with"
    kind = ErrorKind.CONFLICT
    sentence = (
        "Pair {pair} has no version yet that a federation with versions of its own could begin with: bootstrap it, or "
        "use its uploaded weights."
    )


class NoVersionsOfItsOwn(CoterieError):
    """Fields: federation."""

    code = "federations.no_versions_of_its_own"
    kind = ErrorKind.CONFLICT
    sentence = "Federation {federation} has no versions of its own that the pair could take over."


class PairNotReady(CoterieError):
    """Fields: pair, state."""

    code = "federations.pair_not_ready"
    kind = ErrorKind.CONFLICT
    sentence = "Pair {pair} is {state}; a federation needs a ready one."


class PairArchived(CoterieError):
    """Fields: pair."""

    code = "federations.pair_archived"
    kind = ErrorKind.CONFLICT
    sentence = "Pair {pair} is archived; restore it first, or choose another."


class StillGoingOn(CoterieError):
    """Fields: federation, state."""

    code = "federations.still_going_on"
    kind = ErrorKind.CONFLICT
    sentence = "Federation {federation} is {state}, so it cannot be archived; finish it first."


class Archived(CoterieError):
    """Fields: federation."""

    code = "federations.archived"
    kind = ErrorKind.CONFLICT
    sentence = "Federation {federation} is archived, so it cannot be started; restore it first."


class WrongState(CoterieError):
    """Fields: federation, state, wanted."""

    code = "federations.wrong_state"
    kind = ErrorKind.CONFLICT
    sentence = "Federation {federation} is {state}, so it cannot become {wanted}."


class PlanDoesNotFit(CoterieError):
    """Fields: pair, slot, kind_name, reason, problem."""

    code = "federations.plan_does_not_fit"
    kind = ErrorKind.INVALID
    sentence = "Pair {pair} cannot be used under this plan: {slot} {kind_name}: {problem}."


class CloudDataDoesNotFit(CoterieError):
    """Fields: dataset, problem."""

    code = "federations.cloud_data_does_not_fit"
    kind = ErrorKind.INVALID
    sentence = "Data set {dataset} cannot teach this pair's models: {problem}."


class HeldOutDoesNotFit(CoterieError):
    """Fields: dataset, problem."""

    code = "federations.held_out_does_not_fit"
    kind = ErrorKind.INVALID
    sentence = "Data set {dataset} cannot measure this pair's models: {problem}."
