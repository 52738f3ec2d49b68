"""Which devices were asked may go; how many were, and how many declined, stays with the question."""

from collections import Counter
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from coterie.analytics.models import Part, Question
from coterie.core.pruning import OldRows, parts_of


def old_parts(before: datetime) -> QuerySet[Part]:
    """Of questions that have ended."""
    return parts_of(Question.objects.filter(ended_at__lt=before), Part, "question")


def count_into_questions(parts: QuerySet[Part]) -> None:
    """Add parts that are about to go to what their questions say of such."""
    gone: dict[UUID, Counter[str]] = {}
    for key, code in parts.order_by().values_list("question", "declined_code"):
        gone.setdefault(key, Counter())[code] += 1
    for question in Question._base_manager.select_for_update(no_key=True).filter(pk__in=list(gone)).order_by("pk"):
        question.removed_parts = dict(Counter(question.removed_parts) + gone[question.pk])
        question.save(update_fields=["removed_parts"])


OLD_ROWS = (OldRows("parts of questions", old_parts, fold=count_into_questions),)
