import base64

from django.db import migrations, models


def write_as_base64(apps, schema_editor):
    """The key stays the same bytes; only how it is written changes."""
    webhooks = apps.get_model("webhooks", "Webhook").objects.using(schema_editor.connection.alias)
    for webhook in webhooks.exclude(secret__startswith="whsec_"):
        webhook.secret = "whsec_" + base64.b64encode(webhook.secret.encode()).decode()
        webhook.save(update_fields=["secret"])


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhook',
            name='held_until',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.RunPython(write_as_base64, migrations.RunPython.noop, elidable=True),
    ]
