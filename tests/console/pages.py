"""The console's pages: their addresses on a seeded platform, and what stands there where there is nothing to show."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.system.operator_client import OperatorClient


class Keys(NamedTuple):
    """Rows of the seeded fleet that have much to show."""

    device: str
    """One that has helped another, and has been asked in many rounds."""
    federation: str
    """One that asks devices for updates now."""
    served: str
    """A federation whose devices have personal models."""
    divided: str
    """A federation whose devices are in groups."""
    round: int
    """The latest that the divided one published."""
    pair: str
    first: str
    second: str
    """Versions of the pair."""
    tried: str
    """A pair one of whose versions is with a canary group now."""
    plan: str
    """A plan that was tried in simulation, with what is expected of it."""
    run: str
    """A simulated run of a sweep, with what it found."""
    agents: str
    """A roll-out of the agent that is under way."""
    alliance: str
    """An alliance that trains."""


class ConsolePage(NamedTuple):
    """A page, or a tab of one, that has an address of its own."""

    address: str
    """With the names of `Keys` in braces."""
    empty: str | None
    """What it says where there is nothing yet; None: there always is something."""
    asks: bool = True
    """Whether it shows anything of the platform."""

    def at(self, keys: Keys) -> str:
        """Its address on this platform."""
        return self.address.format(**keys._asdict())


PAGES: Mapping[str, ConsolePage] = {
    "overview": ConsolePage("/", "No device has joined yet"),
    "devices": ConsolePage("/devices", "No device has joined yet"),
    "device": ConsolePage("/devices/{device}", "It has not checked in yet."),
    "agents": ConsolePage("/agents", "No agent was rolled out yet"),
    "agent": ConsolePage("/agents/{agents}", "No device has been asked yet"),
    "new-agent": ConsolePage("/agents/new", "There is no release to roll out"),
    "federations": ConsolePage("/federations", "No federation yet"),
    "new-federation": ConsolePage("/federations/new", "No pair is ready yet"),
    "federation": ConsolePage("/federations/{federation}", "No round yet"),
    "personal-models": ConsolePage("/federations/{served}?tab=personal", "No personal model yet"),
    "groups": ConsolePage("/federations/{divided}?tab=groups", "Not divided yet"),
    "forecasts": ConsolePage("/federations/{federation}?tab=forecasts", "No plan was tried yet"),
    "plan": ConsolePage("/federations/{federation}?tab=plan", None),
    "privacy": ConsolePage("/federations/{federation}?tab=privacy", None),
    "round": ConsolePage("/federations/{divided}/rounds/{round}", "No device has been asked yet."),
    "models": ConsolePage("/models", "No model pair yet"),
    "model": ConsolePage("/models/{pair}?version={first}&against={second}", "No version yet"),
    "rollouts": ConsolePage("/models/{tried}", "No version yet"),
    "simulations": ConsolePage("/simulations", "No plan was tried yet"),
    "tried-plan": ConsolePage("/simulations/plans/{plan}", None),
    "runs": ConsolePage("/simulations?tab=runs", "No run yet"),
    "run": ConsolePage("/simulations/{run}", None),
    "analytics": ConsolePage("/analytics", "No question yet"),
    "alliances": ConsolePage("/alliances", "No alliance yet"),
    "alliance": ConsolePage("/alliances/{alliance}", "No epoch has ended yet."),
    "new-alliance": ConsolePage("/alliances/new", "There is no lower half"),
    "help": ConsolePage("/help", "Nobody has asked for help"),
    "parts": ConsolePage("/parts", "No device has had a part"),
    "enrol": ConsolePage("/enrol", "No token yet"),
    "jobs": ConsolePage("/jobs", "No job yet"),
    "cluster": ConsolePage("/cluster", "No job runs or waits"),
    "alerts": ConsolePage("/alerts", "Nothing fires"),
    "alert-log": ConsolePage("/alerts?tab=log", "Nobody was told anything"),
    "alert-rules": ConsolePage("/alerts?tab=rules", "No rule yet"),
    "alert-channels": ConsolePage("/alerts?tab=channels", "No channel yet"),
    "audit": ConsolePage("/audit", "No change yet"),
    "people": ConsolePage("/settings", "Nobody"),
    "projects": ConsolePage("/settings?tab=projects", "No roles in projects"),
    "tokens": ConsolePage("/settings?tab=tokens", "No token yet"),
    "webhooks": ConsolePage("/settings?tab=webhooks", "No webhook yet"),
    "deliveries": ConsolePage("/settings?tab=deliveries", "Nothing was told"),
    "glossary": ConsolePage("/glossary", None),
    "second-factor": ConsolePage("/settings?tab=second-factor", "No passkey yet"),
    "sessions": ConsolePage("/settings?tab=sessions", "No session"),
    "writing": ConsolePage("/settings?tab=writing", None, asks=False),
    "start": ConsolePage("/start", None),
    "new-pair": ConsolePage("/models/new", None),
    "datasets": ConsolePage("/models/datasets", "No data set yet"),
}
OF_ONE_ROW = ("device", "federation", "groups", "plan", "round", "model", "rollouts", "run")
"""Pages about one row, which is there before their parts are."""
TRIED = ("overview", "devices", "federations", "jobs", "people", *OF_ONE_ROW)
"""Pages on which each change is tried; `make test-long` tries all, which are built of the same parts."""


def keys_of(operator: OperatorClient) -> Keys:
    """The rows of a seeded platform that pages are shown of."""
    divided = operator.list("/groups/")[0]["federation"]
    pair = operator.get(f"/federations/{divided}/")["pair"]
    first, second = operator.list("/versions/", pair=pair, role="device", lineage="", page_size=2)
    served = next(one for one in operator.list("/federations/") if one["plan"]["personal"]["kind"] != "none")
    return Keys(
        served=served["id"],
        device=_busiest(operator),
        federation=operator.list("/rounds/", state="open")[0]["federation"],
        divided=divided,
        round=operator.list("/rounds/", federation=divided, state="published")[0]["id"],
        pair=pair,
        first=first["id"],
        second=second["id"],
        plan=operator.list("/plan-forecasts/", state="succeeded")[0]["id"],
        run=operator.list("/simulation-runs/", state="succeeded")[0]["id"],
        agents=operator.list("/agent-rollouts/", state="running")[0]["id"],
        alliance=operator.list("/alliances/", state="working")[0]["id"],
        tried=operator.list("/rollouts/", state="measuring")[0]["pair"],
    )


def _busiest(operator: OperatorClient) -> str:
    helpers = {transfer["helper"] for transfer in operator.list("/transfers/")}
    there = [helper for helper in helpers if operator.get(f"/devices/{helper}/")["status"] in ("ready", "waiting")]
    busiest: str = max(sorted(there), key=lambda helper: operator.get("/assignments/", device=helper)["count"])
    return busiest
