"""The database refuses to change or remove entries, whoever asks."""

from django.db import migrations

from coterie.core.append_only import append_only


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
    ]

    operations = [
        append_only("audit_entry", because="the audit log is append-only"),
    ]
