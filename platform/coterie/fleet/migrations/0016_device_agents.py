"""The agents of enrolled devices get a table of their own, from what the devices have told."""

from collections.abc import Iterator
from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import coterie.core.separation

AT_ONCE = 2000


def take_agents(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    agents = apps.get_model("fleet", "DeviceAgent")
    enrolled = apps.get_model("fleet", "Device")._base_manager.filter(state="enrolled")
    told = enrolled.values_list("pk", "project", "capabilities").iterator(AT_ONCE)
    agents._base_manager.bulk_create(_agents(agents, told), batch_size=AT_ONCE)


def _agents(agents: Any, told: Any) -> Iterator[Any]:
    for device, project, capabilities in told:
        updates = capabilities.get("updates")
        refuses = "updates.unknown" if updates is None else (updates.get("refuses") or {}).get("code", "")
        version = capabilities.get("agent", "")
        yield agents(device_id=device, project_id=project, version=version, refuses_updates=refuses)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_organisations_and_projects"), ("fleet", "0015_device_certificates")]

    operations = [
        migrations.CreateModel(
            name="DeviceAgent",
            fields=[
                (
                    "device",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="agent",
                        serialize=False,
                        to="fleet.device",
                    ),
                ),
                ("version", models.CharField(max_length=40)),
                ("refuses_updates", models.CharField(blank=True, max_length=64)),
                (
                    "project",
                    models.ForeignKey(
                        default=coterie.core.separation.acting_project,
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.project",
                    ),
                ),
            ],
            options={
                "ordering": ["device"],
                "indexes": [
                    models.Index(
                        fields=["project", "version", "refuses_updates", "device"], name="agent_by_version"
                    )
                ],
            },
        ),
        migrations.RunPython(take_agents, migrations.RunPython.noop, elidable=True),
    ]
