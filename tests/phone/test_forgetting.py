"""A phone is forgotten where the plan promises a lineage without it: it is rebuilt, and the phone's page shows that."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.axe import faults
from tests.phone.conftest import NewPhone, World
from tests.phone.test_training import SAMPLES, delivered, device_named
from tests.system.model import samples
from tests.system.operator_client import Json
from tests.system.real_agent import RealAgent

pytestmark = [pytest.mark.phone, pytest.mark.long]
OF_THREE: Json = {
    "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.01},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 3, "min_updates": 3, "over_selection": 1, "deadline_s": 120},
}
ROUNDS = 2
moment = datetime.fromisoformat


@pytest.mark.parametrize(
    ("forgetting", "repeated"),
    [({"kind": "replay", "days": 3}, ROUNDS), ({"kind": "restart"}, 0)],
    ids=["replay", "restart"],
)
def test_the_lineage_is_rebuilt_without_a_phone_that_is_forgotten(
    forgetting: Json,
    repeated: int,
    world: World,
    phones: NewPhone,
    agents: Callable[[str, str], RealAgent],
    tmp_path: Path,
) -> None:
    operator, name = world.operator, f"promised-{forgetting['kind']}"
    plan = {**OF_THREE, "forgetting": forgetting}
    federation = operator.start_federation(name, pair=next(world.pairs), plan=plan, rounds_wanted=ROUNDS)
    two = [agents(f"{name}-{number}", operator.enrolment_token(tag=name)) for number in (1, 2)]
    phone = phones(name)
    page = phone.join(operator.enrolment_token(tag=name))
    phone.add_samples(tmp_path, *samples(SAMPLES, seed=41))
    rounds = [operator.ended_round(federation, number, within_s=150) for number in range(1, ROUNDS + 1)]
    assert [(round_["state"], round_["reason_sentence"]) for round_ in rounds] == [("published", "")] * ROUNDS
    its = device_named(world, name)
    everyone = sorted([its["id"], *(agent.id for agent in two)])
    assert [delivered(round_) for round_ in rounds] == [everyone] * ROUNDS

    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Forget me").click()
    forgotten = page.locator("#forgotten")
    expect(forgotten).to_contain_text("Not done yet")
    expect(forgotten).to_contain_text("Models made again without it" + "Not known yet.")
    expect(forgotten).to_contain_text(f"{name}, done ", timeout=90_000)
    expect(forgotten).to_contain_text("Done ")
    assert faults(page) == []

    (told,) = operator.list("/rebuilds/", federation=federation)
    assert (told["state"], told["repeated"], told["retired"]) == ("done", repeated, ROUNDS)
    expect(forgotten).to_contain_text(f"version {told['result_number']} holds no")
    version = operator.get(f"/versions/{told['result_version']}/")
    assert (version["champion"], version["removed_at"]) == (True, None)
    for round_ in rounds:
        assert operator.get(f"/versions/{round_['result_version']}/")["removed_at"] is not None
    receipt = operator.get(f"/devices/{its['id']}/forgetting/")["forgetting"]
    (rebuilt,) = receipt["rebuilt"]
    assert (receipt["done"], moment(rebuilt["done_at"])) == (True, moment(told["finished_at"]))
    page.reload()
    expect(forgotten).to_contain_text(f"{name}, done ")
