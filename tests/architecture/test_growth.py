"""Every table stays small, is tidied, or grows for ever: whoever adds one says which, in the how-to, too."""

from importlib.util import find_spec

from django.apps import apps

OF_PEOPLE = """
accounts.ApiToken accounts.CustomRole accounts.Grant accounts.Operator accounts.Organisation accounts.Passkey
accounts.Project accounts.RecoveryCode accounts.SavedFilter accounts.SecondFactor accounts.SignOnRole
agent_rollouts.AgentRollout alerts.Channel alerts.Rule alliances.Alliance alliances.Party analytics.Question
cluster.Host device_logs.DeviceLog exports.ExportedUntil federations.Federation federations.Group federations.Split
fleet.CredentialRenewal fleet.DeviceAuthority fleet.EnrolmentToken fleet.FleetSize fleet.PresenceKept
fleet.SigningKeyChange fleet_evaluation.Evaluation owners.Forgetting owners.Rebuild privacy.Account registry.Alias
registry.Dataset registry.ModelPair registry.Withdrawal repairs.Mute rollouts.Rollout rounds.Steering
simulation_runs.SimulatedFleet webhooks.Webhook
"""
"""As many rows as people have made, or one for each of those."""
OF_DEVICES = """
federations.Membership fleet.Device fleet.DeviceAgent fleet.DeviceCertificate fleet.DeviceLatency
fleet.OtherCredential fleet.Presence privacy.Budget transfer.DeviceProfile transfer.PersonalFigures
"""
"""So many a device, or a device and federation, however long it is there."""
PASSING = """
accounts.BrowserSession accounts.PasskeyChallenge alliances.Letter fleet.PathSignal rounds.Upload
"""
"""Gone when it was taken or is over."""
FOR_A_TIME = """
alerts.Incident alerts.Message alerts.Notice cluster.Gang cluster.GangShare device_logs.DeviceLogLine fleet.Observation
rounds.RoundEvent simulation_runs.SimulationRun transfer.ReportedDay webhooks.Delivery
"""
"""Days that the platform has fixed."""
HISTORY = """
agent_rollouts.DeviceUpdate analytics.Part cloud_training.JobLine cloud_training.TrainingJob exports.Exported
fleet_evaluation.Part rollouts.Trial rounds.Assignment rounds.Route
speeds.SpeedDay transfer.HelpRequest transfer.Transfer twin.Forecast
"""
"""``COTERIE_KEEP_HISTORY_DAYS``, as the app's ``pruning`` says (ADR 121)."""
FOR_EVER = """
audit.Entry merging.Merge merging.Partial merging.Update privacy.Charge privacy.StreamRelease registry.Blob
registry.Description registry.ModelVersion registry.TeacherWeights registry.Variant registry.VersionDifference
rounds.Fold rounds.Round secure_sums.Identity secure_sums.Party secure_sums.SecureSum
"""
"""How versions came to be, what was spent of privacy, and who did what."""
KEPT = [table.split() for table in (OF_PEOPLE, OF_DEVICES, PASSING, FOR_A_TIME, HISTORY, FOR_EVER)]


def test_each_table_is_kept_in_one_way() -> None:
    ours = {model._meta.label for model in apps.get_models() if model.__module__.startswith("coterie.")}
    named = [name for names in KEPT for name in names]
    assert sorted(named) == sorted(ours), "say here and in docs/how-to/operator.md how long its rows are kept"


def test_what_is_history_is_pruned_by_its_app() -> None:
    apps_of_history = {name.partition(".")[0] for name in HISTORY.split()}
    assert {label for label in apps_of_history if find_spec(f"coterie.{label}.pruning") is None} == set()
