"""The strategies of training in the cloud, read from JSON."""

from collections.abc import Mapping

import msgspec

from coterie.cloud import strategy
from coterie.cloud.strategy import Strategy
from coterie.cloud.strategy.one_process import OneProcess
from coterie_learning.kinds import Registry
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values

STRATEGIES = Registry("strategy", strategy, Strategy)


def parse_strategy(raw: object) -> Strategy:
    """Parse ``{"kind": name, **settings}``; omitted settings have their defaults. Raises WireError
    ``strategy.invalid``.
    """
    try:
        return STRATEGIES.parse(raw)
    except WireError as error:
        raise WireError("strategy.invalid", error.detail) from error


def strategy_document(chosen: Strategy) -> dict[str, object]:
    """`chosen` as JSON with every setting written out."""
    return from_values(msgspec.to_builtins(chosen), dict[str, object])


def strategy_schema() -> Mapping[str, object]:
    """JSON schema of each strategy by name, for validation elsewhere and for drawing forms."""
    return STRATEGIES.schema()


DEFAULT_STRATEGY = strategy_document(OneProcess())
"""The default strategy."""
