"""Kinds of other packages: listed, loaded once they are signed off, and then kinds as any other."""

from pathlib import Path

import msgspec
import pytest

from tests.coterie_learning.other_environment import ACME_KINDS, ROOT, OtherEnvironment

PLAN = '{"local": {"kind": "acme_warm_up"}, "merge": {"kind": "acme_decaying"}}'
PARSE = """
import sys
from coterie_learning.plan import parse_plan
from coterie_wire.errors import WireError
from coterie_wire.structs import from_json
try:
    plan = parse_plan(from_json(sys.argv[1], dict[str, object]))
    print(plan.local.slot, plan.local.name, plan.merge.slot, plan.merge.name)
except WireError as error:
    print(error.code, error.detail)
"""
NEGOTIATE = """
from coterie_learning.kind_names import own_kinds
assert "acme_warm_up" in own_kinds()["local"]
import sys
assert "numpy" not in sys.modules
from coterie_learning.negotiation import kinds_lacked
def lacked(told):
    return [(kind.name, kind.distribution) for kind in kinds_lacked(told) if kind.distribution]
assert lacked(own_kinds()) == []
without = {slot: tuple(name for name in names if not name.startswith("acme")) for slot, names in own_kinds().items()}
assert lacked(without) == lacked({}) == [("acme_warm_up", "acme-kinds")]
"""
LAWS = (
    "tests/coterie_learning/merge/test_every_merge.py",
    "tests/coterie_learning/client/test_round.py",
    "tests/coterie_learning/test_misfit.py",
)
BROKEN = """
from coterie_learning.merge import Merge

class Elsewhere(Merge, frozen=True, tag="another_name"):
    reads = "sums"

class Incomplete(Merge, frozen=True, tag="incomplete"):
    pass
"""
BAD = {
    "merge.fed_avg": "bad_kinds:Elsewhere",
    "merge.acme_decaying": "bad_kinds:Elsewhere",
    "merge.renamed": "bad_kinds:Elsewhere",
    "merge.incomplete": "bad_kinds:Incomplete",
    "local.of_another_slot": "bad_kinds:Elsewhere",
    "codec.broken": "bad_kinds_that_are_missing:Kind",
    "nowhere.at_all": "bad_kinds:Elsewhere",
    "merge.Wrong-Name": "bad_kinds:Elsewhere",
}


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> OtherEnvironment:
    """An environment in which the package of the how-to is installed and signed off."""
    environment = OtherEnvironment(tmp_path_factory.mktemp("acme"))
    environment.install(ACME_KINDS)
    done = environment.run("-m", "coterie", "kinds", "allow", "ACME_kinds")
    assert done.returncode == 0, done.stderr
    return environment


def listed(environment: OtherEnvironment) -> dict[str, tuple[str, str]]:
    """By kind and package, its state and why."""
    told = environment.run("-m", "coterie", "kinds").stdout.splitlines()
    assert told[0] == "kind\tpackage\tstate\twhy"
    cells = (line.split("\t") for line in told[1:])
    return {f"{kind} of {package}": (state, why) for kind, package, state, why in cells}


def test_what_is_not_signed_off_is_listed_and_not_loaded(tmp_path: Path) -> None:
    environment = OtherEnvironment(tmp_path / "environment")
    marker = tmp_path / "was-imported"
    module = f"from pathlib import Path\nPath({str(marker)!r}).touch()\n"
    entries = {"local.acme_warm_up": "eager:Kind"}
    environment.write_package("eager-kinds", entry_points=entries, modules={"eager": module})
    ((kind, (state, why)),) = listed(environment).items()
    assert (kind, state) == ("local.acme_warm_up of eager-kinds 1.0", "kinds.not_signed_off")
    assert "coterie kinds allow eager-kinds" in why
    told = environment.run("-c", PARSE, PLAN).stdout
    assert told.startswith("plan.unknown_kind slot local has no kind 'acme_warm_up' that is loaded: eager-kinds 1.0")
    assert "coterie kinds allow eager-kinds" in told
    assert not marker.exists()
    assert environment.run("-m", "coterie", "kinds", "allow", "eager-kinds").returncode == 0
    assert listed(environment)[kind][0] == "kinds.cannot_load"
    assert marker.exists()


def test_what_is_not_installed_cannot_be_signed_off(tmp_path: Path) -> None:
    done = OtherEnvironment(tmp_path / "environment").run("-m", "coterie", "kinds", "allow", "nobody-knows")
    assert (done.returncode, "[kinds.not_installed]" in done.stderr) == (1, True)


def test_signed_off_kinds_are_loaded_until_they_are_withdrawn(acme: OtherEnvironment) -> None:
    assert {kind: state for kind, (state, _) in listed(acme).items()} == {
        "local.acme_warm_up of acme-kinds 1.0": "loaded",
        "merge.acme_decaying of acme-kinds 1.0": "loaded",
    }
    assert acme.run("-c", PARSE, PLAN).stdout == "local acme_warm_up merge acme_decaying\n"
    assert acme.run("-m", "coterie", "kinds", "withdraw", "acme-kinds").returncode == 0
    assert {state for state, _ in listed(acme).values()} == {"kinds.not_signed_off"}
    by_the_agent = acme.run("-m", "coterie_agent", "kinds", "--allow", "acme-kinds")
    assert by_the_agent.returncode == 0, by_the_agent.stderr
    assert acme.run("-m", "coterie_agent", "kinds").stdout.count(" of acme-kinds 1.0: loaded\n") == 2


def test_they_are_negotiated_as_any_other_and_found_without_loading_them(acme: OtherEnvironment) -> None:
    done = acme.run("-c", NEGOTIATE)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_they_keep_the_laws_of_their_slots_and_pass_their_own_tests(acme: OtherEnvironment) -> None:
    done = acme.run("-m", "pytest", "-p", "no:cacheprovider", "-v", "-k", "acme", *LAWS, str(ACME_KINDS / "tests"))
    assert done.returncode == 0, done.stdout[-4000:]
    assert "test_the_order_of_updates_changes_no_bit[acme_decaying] PASSED" in done.stdout
    assert "test_resumed_at_every_step_it_gives_the_same_update_and_states[acme_warm_up] PASSED" in done.stdout
    assert "test_without_decay_it_is_fed_avg PASSED" in done.stdout


@pytest.mark.long
def test_simulations_run_them_and_the_case_that_is_fed_avg_gives_its_bytes(
    acme: OtherEnvironment, tmp_path: Path
) -> None:
    ways = {
        "ours": '[local]\nkind = "sgd"\n[merge]\nkind = "fed_avg"\n',
        "theirs": '[local]\nkind = "acme_warm_up"\nwarm_up_steps = 1\n[merge]\nkind = "acme_decaying"\ndecay = 0\n',
        "warmed": '[local]\nkind = "acme_warm_up"\nwarm_up_steps = 50\n[merge]\nkind = "acme_decaying"\ndecay = 0.5\n',
    }
    shipped = (ROOT / "platform/coterie/simulation/scenarios/digits-stationary.toml").read_text(encoding="utf-8")
    (tmp_path / "short.toml").write_text(shipped.replace("batches = 120", "batches = 6"), encoding="utf-8")
    found = {}
    for name, plan in ways.items():
        (tmp_path / f"{name}.toml").write_text(plan + "[pace]\nkind = 'sync'\ntarget_updates = 5\nmin_updates = 3\n")
        out = tmp_path / f"{name}.json"
        options = ("--scenario", str(tmp_path / "short.toml"), "--json", str(out))
        done = acme.run("-m", "coterie", "simulate", str(tmp_path / f"{name}.toml"), *options)
        assert done.returncode == 0, done.stderr
        found[name] = msgspec.json.decode(out.read_bytes())
    assert found["theirs"]["devices"] == found["ours"]["devices"]
    assert found["warmed"]["devices"] != found["ours"]["devices"]


def test_what_is_no_kind_or_takes_anothers_name_is_refused_with_a_code(acme: OtherEnvironment) -> None:
    acme.write_package("bad-kinds", entry_points=BAD, modules={"bad_kinds": BROKEN})
    assert acme.run("-m", "coterie", "kinds", "allow", "bad-kinds").returncode == 0
    assert {kind: state for kind, (state, _) in listed(acme).items()} == {
        "codec.broken of bad-kinds 1.0": "kinds.cannot_load",
        "local.acme_warm_up of acme-kinds 1.0": "loaded",
        "local.of_another_slot of bad-kinds 1.0": "kinds.invalid",
        "merge.Wrong-Name of bad-kinds 1.0": "kinds.invalid",
        "merge.acme_decaying of acme-kinds 1.0": "kinds.name_taken",
        "merge.acme_decaying of bad-kinds 1.0": "kinds.name_taken",
        "merge.fed_avg of bad-kinds 1.0": "kinds.name_taken",
        "merge.incomplete of bad-kinds 1.0": "kinds.invalid",
        "merge.renamed of bad-kinds 1.0": "kinds.invalid",
        "nowhere.at_all of bad-kinds 1.0": "kinds.invalid",
    }
    told = acme.run("-c", PARSE, '{"merge": {"kind": "fed_avg"}}').stdout
    assert told == "local sgd merge fed_avg\n"
    twin = acme.run("-c", PARSE, PLAN).stdout
    assert twin.startswith("plan.unknown_kind") and "withdraw all but one" in twin


def test_the_page_shows_the_files_of_the_package() -> None:
    page = (ROOT / "docs/how-to/bring-your-own-kind.md").read_text(encoding="utf-8")
    for path in ("pyproject.toml", "acme_kinds/warm_up.py"):
        assert (ACME_KINDS / path).read_text(encoding="utf-8") in page
