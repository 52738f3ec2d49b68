"""Two organisations' agents train one network over a platform that reads nothing, and end with the bits they should."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from coterie.child.run import run_child
from coterie.demo.api import Api
from coterie.demo.export import ExportArguments
from coterie.demo.export_halves import JOB as EXPORT
from coterie.demo.two_parties import NAME, Organisation, begin, known_needs, publish_halves
from coterie_agent.alliance.halves import OnnxLower, OnnxUpper
from coterie_agent.alliance.participant import alliance_salt
from coterie_agent.alliance.table import PeopleTable
from coterie_agent.blobs import BlobCache
from coterie_agent.home import Home, load_peer_key
from coterie_agent.link.http import HttpLink
from coterie_agent.store.alliances import Agreed, AllianceState
from coterie_agent.store.opened import open_store
from coterie_agent.training.model import Model
from coterie_learning.vertical.party import ColumnsParty, LabelsParty, Party, PartyState
from coterie_learning.vertical.terms import VerticalTerms
from coterie_recipes.two_parties.generator import draw_population
from coterie_wire.alliances import Alliance, JoinAlliance
from coterie_wire.bundle import verify_manifest
from coterie_wire.relaying import public_key
from coterie_wire.structs import from_json, from_msgpack
from coterie_wire.tensors import encode_tensors
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.processes import environment
from tests.two_parties import hold_talks

WITHIN_S = 240


class TwoParties:
    """A bank and an insurer that have joined the platform, and an alliance of them."""

    def __init__(self, site: Site, folder: Path, stack: ExitStack, *, common: int, epochs: int) -> None:
        self.site = site
        self.api = stack.enter_context(Api(site.url, token=site.token))
        token = self.api.enrolment_token(uses=2, tag=NAME)
        self.parties = {name: Organisation(name, folder / name, environment()) for name in ("bank", "insurer")}
        self.keys = {}
        for name, party in self.parties.items():
            stack.callback(party.kill)
            self.keys[name] = party.join(site.url, token)
        self.population = draw_population(3, common=common, apart=common // 4)
        self.parties["bank"].write_table(self.population.bank)
        self.parties["insurer"].write_table(self.population.insurer, known_needs(self.population, 3))
        versions = publish_halves(self.api, run_child(EXPORT, ExportArguments(str(folder), 0)), name=folder.name)
        self.alliance = begin(self.api, versions, **self.parties, epochs=epochs, least_rows=50)

    def agree(self) -> None:
        """Both owners, in either order; from now on each device goes on by itself."""
        self.parties["bank"].ally(self.alliance, self.keys["insurer"], has_labels=False)
        self.parties["insurer"].ally(self.alliance, self.keys["bank"], has_labels=True)
        eventually(lambda: self.look()["state"] != "waiting", within_s=WITHIN_S)

    def restart(self, name: str) -> None:
        """Kill a party, and let it go on."""
        self.parties[name].kill()
        self.parties[name].resume(self.alliance, has_labels=name == "insurer")

    def look(self) -> dict[str, Any]:
        return self.site.operator.get(f"/alliances/{self.alliance}/")

    def finished(self) -> dict[str, Any]:
        """It, once both have ended well."""
        eventually(lambda: all(party.check() for party in self.parties.values()), within_s=WITHIN_S)
        return self.look()

    def kept(self, name: str) -> tuple[Agreed, AllianceState]:
        """What the party has on its disk."""
        with open_store(Home(self.parties[name].home)) as store:
            agreed, standing = (
                store.alliances.agreed(self.alliance),
                store.alliances.load(self.alliance),
            )
        assert agreed is not None and standing is not None
        return agreed, standing

    def undisturbed(self) -> tuple[ColumnsParty, LabelsParty]:
        """The same parties in one process, which nobody kills."""
        (lower, terms, below, bank), (upper, _, above, insurer) = (self._begun(name) for name in self.parties)
        manifest = upper.manifest
        columns = ColumnsParty(bank.identifiers, OnnxLower(lower, bank), terms, below)
        labels = LabelsParty(insurer.identifiers, OnnxUpper(upper, insurer, manifest.labels), terms, above)
        hold_talks(columns, labels)
        return columns, labels

    def _begun(self, name: str) -> tuple[Model, VerticalTerms, PartyState, PeopleTable]:
        home = Home(self.parties[name].home)
        agreed, _ = self.kept(name)
        table = PeopleTable.decoded(agreed.table)
        key = public_key(load_peer_key(home))
        with open_store(home) as store:
            credential, trusted = store.identity.credential(), store.identity.trusted()
        link = HttpLink(self.site.url, credential=credential, record_sent=lambda _what, _size: None)
        message = JoinAlliance(
            alliance=self.alliance,
            key=key,
            partner=agreed.partner,
            people=len(table.identifiers),
            columns=len(table.names),
        )
        joined = link.call(message, Alliance)
        model = Model(verify_manifest(joined.manifest, *trusted), BlobCache(home.alliances / self.alliance))
        salt = alliance_salt(self.alliance, key, agreed.partner)
        return model, from_json(joined.terms, VerticalTerms), Party.beginning(salt=salt, secret=agreed.secret), table


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def check_same(two: TwoParties) -> None:
    """What the agents have is what undisturbed parties come to, bit for bit."""
    for party, name in zip(two.undisturbed(), two.parties, strict=True):
        _, standing = two.kept(name)
        assert from_msgpack(standing.party, PartyState) == party.standing
        assert standing.tensors == encode_tensors(party.half.tensors())


@pytest.mark.long
def test_two_organisations_train_what_undisturbed_ones_would(site: Site, tmp_path: Path, stack: ExitStack) -> None:
    two = TwoParties(site, tmp_path, stack, common=150, epochs=3)
    assert two.look()["reason_code"] == "alliances.needs_consent"
    two.agree()
    eventually(lambda: two.look()["epoch"] >= 1, within_s=WITHIN_S)
    two.restart("bank")
    two.restart("insurer")
    ended = two.finished()
    assert (ended["state"], ended["common"], ended["epoch"]) == ("finished", 150, 3)
    assert ended["accuracy"] is not None
    check_same(two)
    two.parties["insurer"].predictions.unlink()
    two.restart("insurer")
    assert two.finished() == ended, "what has ended stays so, and its predictions are written again"
    predicted = two.parties["insurer"].predicted()
    known = set(two.population.bank.identifiers)
    assert predicted and set(predicted) <= known
    relayed = (site.platform.state / "coterie.sqlite3").read_bytes() + site.platform.log().encode()
    for identifier in list(predicted)[:20]:
        assert identifier.encode() not in relayed


@pytest.mark.long
def test_parties_and_platform_killed_many_times_change_nothing(site: Site, tmp_path: Path, stack: ExitStack) -> None:
    two = TwoParties(site, tmp_path, stack, common=400, epochs=30)
    two.agree()
    draw = random.Random(4)
    for number in range(12):
        time.sleep(draw.uniform(0.2, 2))
        if number % 4 == 3:
            site.platform.kill_server()
        else:
            two.restart(draw.choice(["bank", "insurer"]))
    assert two.finished()["state"] == "finished"
    check_same(two)
