"""Rows of a project are visible only to actors in it: one filter in the default manager of every such model.

A model states by `project_path` how its rows reach their project. The filter is part of every query and is evaluated
when the query runs, so that neither a view that forgets to filter nor a query that was built earlier shows rows of
another project. Relations from a row to its parent are not filtered: an actor who may see a row may see what it belongs
to (ADR 94).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar

from django.apps import apps
from django.core.exceptions import FullResultSet
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, F
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler

from coterie.core.acting import ProjectNeeded, acting_as, current_actor
from coterie.core.errors import CoterieError, ErrorKind

M = TypeVar("M", bound=models.Model)
Sql = tuple[str, list[Any]]
"""A statement and its parameters. Any: values as the database's driver takes them."""


class OtherProject(CoterieError):
    """Fields: what. Two things that must belong together are of different projects."""

    code = "separation.other_project"
    kind = ErrorKind.INVALID
    sentence = "All of it must be in one project: {what} is in another."


class InActingProject(Expression):
    """True for rows of the project in which the actor acts; for all rows where it acts in all projects."""

    conditional = True

    def __init__(self, column: str, through: type[models.Model] | None, rest: str) -> None:
        """`column` is the project, or a key of `through`, whose rows reach it by `rest`."""
        super().__init__(output_field=models.BooleanField())
        self.column: Any = F(column)
        self.through = through
        self.rest = rest

    def get_source_expressions(self) -> list[Any]:
        """The column."""
        return [self.column]

    def set_source_expressions(self, exprs: Any) -> None:  # noqa: ANN401 - as Django declares it
        """The column as a query has it."""
        (self.column,) = exprs

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Sql:  # type: ignore[override]
        """The condition for the current actor. Raises FullResultSet, which omits it."""
        project = current_actor().project
        if project is None:
            raise FullResultSet
        column, values = compiler.compile(self.column)
        if self.through is None:
            return f"{column} = %s", [*values, project]
        # Without an order: PostgreSQL would sort the rows each time, and join them in no other way than one by one.
        rows = self.through._base_manager.filter(**{self.rest: project}).order_by().values("pk")
        inner, inner_values = rows.query.get_compiler(connection=connection).as_sql()
        return f"{column} IN ({inner})", [*values, *inner_values]


def _condition(model: type[models.Model], path: str) -> InActingProject:
    column, _, rest = path.partition("__")
    through = model._meta.get_field(column).related_model if rest else None
    assert through is None or (isinstance(through, type) and issubclass(through, models.Model)), path
    return InActingProject(column, through, rest)


@cache
def _visible(model: type["Separated"]) -> Query:
    """The query of all rows but those of other projects. To be copied: building it takes longer than many a query."""
    either = models.Q()
    for path in (model.project_path,) if isinstance(model.project_path, str) else model.project_path:
        either |= models.Q(_condition(model, path))
    return model._base_manager.filter(either).query


class ProjectManager(models.Manager[M], Generic[M]):
    """The rows of the project in which the current actor acts."""

    def get_queryset(self) -> models.QuerySet[M]:
        """All rows, with the condition that filters out those of other projects."""
        rows = super().get_queryset()
        rows.query = _visible(self.model).chain()
        return rows


class Separated(models.Model):
    """A row that belongs to one project."""

    project_path: ClassVar[str | tuple[str, ...]]
    """From the row to its project, as look-ups write it; several where one of them is set."""

    objects: ClassVar[ProjectManager[Self]] = ProjectManager()

    class Meta:
        abstract = True


def acting_project() -> int:
    """Key of the project for new rows: the actor's, or the only one. Raises ProjectNeeded where there are several."""
    project = current_actor().project
    if project is not None:
        return project
    known = apps.get_model("accounts", "Project")._base_manager.filter(archived_at=None).values_list("pk", flat=True)
    if len(found := list(known[:2])) != 1:
        raise ProjectNeeded
    return int(found[0])


class ProjectRoot(Separated):
    """A row that is created in a project; others belong to it."""

    project_path = "project"

    project_id: int
    project = models.ForeignKey(
        "accounts.Project", on_delete=models.PROTECT, related_name="+", default=acting_project, editable=False
    )

    class Meta:
        abstract = True


def project_of(row: models.Model) -> int | None:
    """Key of the project that a row belongs to; None: it is of the installation."""
    paths = getattr(row, "project_path", ())
    for path in (paths,) if isinstance(paths, str) else paths:
        value: Any = row
        for name in path.split("__"):
            value = None if value is None else getattr(value, f"{name}_id" if name == "project" else name)
        if value is not None:
            return int(value)
    return None


def check_together(first: models.Model, *others: models.Model | None) -> None:
    """Check that `others`, where given, are in the project of `first`. Raises OtherProject."""
    for other in others:
        if other is not None and project_of(other) != project_of(first):
            raise OtherProject(what=str(other))


@contextmanager
def acting_in(project: int | None) -> Iterator[None]:
    """Let the current actor act in one project within the block."""
    actor = current_actor()
    with acting_as(replace(actor, project=project, in_installation=actor.installation_role())):
        yield
