"""The file that replaces the probes."""

from pathlib import Path

from coterie_agent.conditions.override import OverrideFile
from coterie_agent.conditions.reader import conditions_reader
from coterie_wire.conditions import Conditions


def test_the_file_is_read_again_when_it_changes_and_ends_when_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "conditions.json"
    file = OverrideFile(path)
    assert file.read() is None
    path.write_text('{"charging": "no"}')
    assert file.read() == Conditions(charging="no")
    path.write_text('{"charging": "yes", "network": "wifi"}')
    assert file.read() == Conditions(charging="yes", network="wifi")
    path.unlink()
    assert file.read() is None


def test_a_broken_file_makes_everything_unknown(tmp_path: Path) -> None:
    path = tmp_path / "conditions.json"
    path.write_text('{"charging": "maybe"}')
    assert OverrideFile(path).read() == Conditions()


def test_probes_answer_where_there_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "conditions.json"
    read = conditions_reader(path)
    assert read(fresh=True).charging in ("yes", "no", "unknown")
    path.write_text('{"charging": "no", "network": "metered", "idle": "no", "temperature_c": 12}')
    assert read(fresh=False) == Conditions(charging="no", network="metered", idle="no", temperature_c=12)
