import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_custom_roles'),
    ]

    operations = [
        migrations.AddField(
            model_name='grant',
            name='by_sign_on',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='SignOnRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('claim_value', models.CharField(max_length=200)),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('operator', 'operator'), ('administrator', 'administrator')], max_length=15)),
                ('made_at', models.DateTimeField()),
                ('custom_role', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.customrole')),
                ('organisation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.organisation')),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.project')),
            ],
            options={
                'ordering': ['claim_value', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('organisation', None), ('project__isnull', False)), models.Q(('organisation__isnull', False), ('project', None)), _connector='OR'), name='sign_on_role_in_one'), models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'operator', 'administrator'])), name='sign_on_role_known'), models.UniqueConstraint(fields=('claim_value', 'project'), name='sign_on_role_once_in_a_project'), models.UniqueConstraint(fields=('claim_value', 'organisation'), name='sign_on_role_once_in_an_organisation')],
            },
        ),
    ]
