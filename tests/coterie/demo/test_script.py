from hypothesis import given
from hypothesis import strategies as st

from coterie.demo.script import ScriptedEvent, draw_script


@given(devices=st.integers(1, 40), rounds=st.integers(1, 30), seed=st.integers(0, 1000))
def test_the_fleet_never_shrinks_by_more_than_a_quarter_and_one_is_killed(devices: int, rounds: int, seed: int) -> None:
    away: set[int] = set()
    script = draw_script(devices=devices, rounds=rounds, seed=seed)
    for act in script:
        if act.event == "came back":
            away.remove(act.device)
        elif act.event != "killed":
            assert act.device not in away
            away.add(act.device)
        assert len(away) <= devices // 4
        assert 1 <= act.round <= rounds
    assert [act.event for act in script].count("killed") == 1


def test_a_seed_writes_one_script() -> None:
    script = draw_script(devices=8, rounds=10, seed=0)
    assert script == draw_script(devices=8, rounds=10, seed=0)
    assert {act.event for act in script} == {"unplugged", "left Wi-Fi", "came back", "killed"}
    assert all(isinstance(act, ScriptedEvent) for act in script)
