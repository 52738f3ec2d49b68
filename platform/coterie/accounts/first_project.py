"""The project that an installation begins with: whoever has only that one need not know of it."""

from django.apps import apps as every_app
from django.apps.registry import Apps
from django.db.models import Model
from django.utils import timezone

NAME = "Default"


def add_first_project(organisations: type[Model], projects: type[Model]) -> None:
    """Make it where there is none."""
    if not projects._base_manager.exists():
        now = timezone.now()
        organisation = organisations._base_manager.create(name=NAME, created_at=now)
        projects._base_manager.create(organisation=organisation, name=NAME, created_at=now)


def make_first_project(apps: Apps = every_app, **_: object) -> None:
    """After tables were made, as far as `apps` knows them, or emptied."""
    if "project" in apps.all_models["accounts"]:
        add_first_project(apps.get_model("accounts", "Organisation"), apps.get_model("accounts", "Project"))
