"""What is wrong with a plan that is typed."""

from coterie.federations.previewing import PlanProblem, problems_of
from coterie_learning.plan import plan_document, presets


def test_no_preset_has_a_problem() -> None:
    assert [problem for plan in presets().values() for problem in problems_of(plan_document(plan))] == []


def test_each_slot_is_read_by_itself() -> None:
    problems = problems_of({"pace": {"kind": "sync", "target_updates": 0}, "colour": {"kind": "red"}})
    assert [(problem.slot, problem.field) for problem in problems] == [("pace", "target_updates"), ("", "")]


def test_kinds_that_do_not_work_with_one_another_are_told_by_their_slots() -> None:
    problems = problems_of({"groups": {"kind": "affinity"}, "rollout": {"kind": "canary"}})
    assert [(problem.slot, problem.code) for problem in problems] == [("groups", "plan.needs_outputs")]
    problems = problems_of({"merge": {"kind": "distill"}, "rollout": {"kind": "canary"}})
    assert [(type(problem), problem.slot, problem.code) for problem in problems] == [
        (PlanProblem, "rollout", "plan.needs_single_versions")
    ]
