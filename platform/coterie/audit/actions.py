"""Everything that operators can do, as data: who may do it, and with which scope a token.

Services name their action (`coterie.audit.recording.audited`), the console greys out what one may not, the reference
lists it, and a test holds that each action belongs to one service.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from coterie.core.acting import NOWHERE, Actor, OperatorRole, Scope
from coterie.core.errors import CoterieError


@dataclass(frozen=True)
class Action:
    """One thing that can be done."""

    needs: OperatorRole
    scope: Scope
    title: str
    """What it does, as a button or an entry of the audit log says it."""
    of_installation: bool = False
    """It concerns all projects: only for who has the role in the whole installation."""
    makes_session: bool = False
    """Who does it can sign in as a person: only for an API token that may do everything and does not expire."""


VIEWER, OPERATOR, ADMINISTRATOR = OperatorRole

ACTIONS: Mapping[str, Action] = {
    "accounts.sign_in": Action(VIEWER, Scope.READ, "Sign in"),
    "accounts.fail_sign_in": Action(VIEWER, Scope.READ, "Sign-in failed"),
    "accounts.sign_out": Action(VIEWER, Scope.READ, "Sign out"),
    "accounts.create_operator": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Let a person in", of_installation=True, makes_session=True
    ),
    "accounts.change_operator": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Change a person's role, or shut one out", of_installation=True
    ),
    "accounts.issue_sign_in_link": Action(
        ADMINISTRATOR,
        Scope.SETTINGS,
        "Make a one-time sign-in link for a person",
        of_installation=True,
        makes_session=True,
    ),
    "accounts.change_password": Action(VIEWER, Scope.SETTINGS, "Change one's password", makes_session=True),
    "accounts.set_second_factor": Action(
        VIEWER, Scope.SETTINGS, "Set one's second factor up, or take it away", makes_session=True
    ),
    "accounts.reset_second_factor": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Take a person's second factor away", of_installation=True, makes_session=True
    ),
    "accounts.add_passkey": Action(VIEWER, Scope.SETTINGS, "Register a passkey of one's own", makes_session=True),
    "accounts.remove_passkey": Action(VIEWER, Scope.SETTINGS, "Remove a passkey of one's own", makes_session=True),
    "accounts.refuse_passkey": Action(VIEWER, Scope.READ, "Passkey refused: its counter went back"),
    "accounts.end_session": Action(VIEWER, Scope.SETTINGS, "End a session of one's own", makes_session=True),
    "accounts.create_organisation": Action(ADMINISTRATOR, Scope.SETTINGS, "Make an organisation", of_installation=True),
    "accounts.change_organisation": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Rename or archive an organisation", of_installation=True
    ),
    "accounts.create_project": Action(ADMINISTRATOR, Scope.SETTINGS, "Make a project", makes_session=True),
    "accounts.change_project": Action(ADMINISTRATOR, Scope.SETTINGS, "Rename or archive a project"),
    "accounts.give_role": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Give a person a role in a project or organisation", makes_session=True
    ),
    "accounts.take_role": Action(ADMINISTRATOR, Scope.SETTINGS, "Take a role in a project or organisation away"),
    "accounts.create_custom_role": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Make a role of an organisation's own", makes_session=True
    ),
    "accounts.change_custom_role": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Change a role of an organisation's own", makes_session=True
    ),
    "accounts.remove_custom_role": Action(ADMINISTRATOR, Scope.SETTINGS, "Remove a role of an organisation's own"),
    "accounts.map_claim": Action(
        ADMINISTRATOR,
        Scope.SETTINGS,
        "Have single sign-on give a role in a project or organisation",
        of_installation=True,
        makes_session=True,
    ),
    "accounts.unmap_claim": Action(
        ADMINISTRATOR, Scope.SETTINGS, "No longer have single sign-on give a role", of_installation=True
    ),
    "webhooks.create_webhook": Action(ADMINISTRATOR, Scope.SETTINGS, "Make a webhook"),
    "webhooks.change_webhook": Action(ADMINISTRATOR, Scope.SETTINGS, "Change a webhook"),
    "webhooks.remove_webhook": Action(ADMINISTRATOR, Scope.SETTINGS, "Remove a webhook"),
    "webhooks.try_webhook": Action(ADMINISTRATOR, Scope.SETTINGS, "Try a webhook"),
    "webhooks.retry_delivery": Action(ADMINISTRATOR, Scope.SETTINGS, "Deliver to a webhook once more"),
    "alerts.create_channel": Action(ADMINISTRATOR, Scope.SETTINGS, "Make a channel for alerts"),
    "alerts.change_channel": Action(ADMINISTRATOR, Scope.SETTINGS, "Change a channel for alerts"),
    "alerts.remove_channel": Action(ADMINISTRATOR, Scope.SETTINGS, "Remove a channel for alerts"),
    "alerts.try_channel": Action(OPERATOR, Scope.SETTINGS, "Send a test alert"),
    "alerts.create_rule": Action(OPERATOR, Scope.SETTINGS, "Make an alert rule"),
    "alerts.change_rule": Action(OPERATOR, Scope.SETTINGS, "Change an alert rule"),
    "alerts.remove_rule": Action(OPERATOR, Scope.SETTINGS, "Remove an alert rule"),
    "accounts.save_filter": Action(VIEWER, Scope.SETTINGS, "Save a filter"),
    "accounts.remove_filter": Action(VIEWER, Scope.SETTINGS, "Remove a saved filter"),
    "accounts.issue_token": Action(VIEWER, Scope.SETTINGS, "Make an API token"),
    "accounts.revoke_token": Action(VIEWER, Scope.SETTINGS, "End an API token"),
    "fleet.create_enrolment_token": Action(OPERATOR, Scope.FLEET, "Make an enrolment token"),
    "fleet.revoke_enrolment_token": Action(OPERATOR, Scope.FLEET, "Withdraw an enrolment token"),
    "fleet.change_device": Action(OPERATOR, Scope.FLEET, "Rename or tag a device, or write notes"),
    "fleet.archive_device": Action(OPERATOR, Scope.FLEET, "Archive a device that was revoked or has left"),
    "fleet.restore_device": Action(OPERATOR, Scope.FLEET, "Take a device back from the archive"),
    "fleet.pause_device": Action(OPERATOR, Scope.FLEET, "Pause a device"),
    "fleet.resume_device": Action(OPERATOR, Scope.FLEET, "Resume a device, or release it from quarantine"),
    "fleet.quarantine_device": Action(OPERATOR, Scope.FLEET, "Put a device into quarantine"),
    "fleet.pin_device": Action(OPERATOR, Scope.FLEET, "Keep a device on one version, or let it follow again"),
    "fleet.revoke_device": Action(OPERATOR, Scope.FLEET, "Revoke a device"),
    "fleet.renew_credential": Action(OPERATOR, Scope.FLEET, "Have a device renew its credential"),
    "fleet.renew_credentials": Action(OPERATOR, Scope.FLEET, "Have many devices renew their credentials"),
    "fleet.take_over_credential": Action(OPERATOR, Scope.FLEET, "A device has renewed its credential"),
    "fleet.issue_certificate": Action(OPERATOR, Scope.FLEET, "A device has been given a certificate"),
    "fleet.draw_device_authority": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Draw the next key that signs devices' certificates", of_installation=True
    ),
    "fleet.use_device_authority": Action(
        ADMINISTRATOR, Scope.SETTINGS, "Sign devices' certificates with the next key", of_installation=True
    ),
    "fleet.rotate_signing_key": Action(ADMINISTRATOR, Scope.SETTINGS, "Replace the signing key", of_installation=True),
    "cloud_answers.answer_device": Action(OPERATOR, Scope.FLEET, "Answer samples that a device has sent"),
    "owners.forget_device": Action(OPERATOR, Scope.FLEET, "Forget a device, as its owner wants it"),
    "registry.submit_pair": Action(OPERATOR, Scope.MODELS, "Submit a model pair"),
    "registry.describe_pair": Action(OPERATOR, Scope.MODELS, "Rename a pair, or write notes"),
    "registry.archive_pair": Action(OPERATOR, Scope.MODELS, "Archive a pair"),
    "registry.restore_pair": Action(OPERATOR, Scope.MODELS, "Take a pair back from the archive"),
    "registry.describe_version": Action(OPERATOR, Scope.MODELS, "Name a version, or write notes"),
    "registry.archive_version": Action(OPERATOR, Scope.MODELS, "Archive a version"),
    "registry.restore_version": Action(OPERATOR, Scope.MODELS, "Take a version back from the archive"),
    "registry.use_uploaded_weights": Action(OPERATOR, Scope.MODELS, "Use the uploaded weights of a pair"),
    "registry.roll_back": Action(OPERATOR, Scope.MODELS, "Use another version"),
    "analytics.ask_question": Action(OPERATOR, Scope.FEDERATIONS, "Ask a fleet a question"),
    "analytics.cancel_question": Action(OPERATOR, Scope.FEDERATIONS, "Cancel a question to a fleet"),
    "rollouts.start_rollout": Action(OPERATOR, Scope.MODELS, "Roll a version out through a canary group"),
    "rollouts.promote_rollout": Action(OPERATOR, Scope.MODELS, "Promote a roll-out now"),
    "rollouts.pass_phase": Action(OPERATOR, Scope.MODELS, "Pass a phase of a roll-out"),
    "rollouts.cancel_rollout": Action(OPERATOR, Scope.MODELS, "Stop a roll-out"),
    "agent_rollouts.start_agent_rollout": Action(ADMINISTRATOR, Scope.FLEET, "Roll out a release of the agent"),
    "agent_rollouts.pause_agent_rollout": Action(OPERATOR, Scope.FLEET, "Pause a roll-out of the agent"),
    "agent_rollouts.resume_agent_rollout": Action(ADMINISTRATOR, Scope.FLEET, "Resume a roll-out of the agent"),
    "agent_rollouts.pass_phase": Action(ADMINISTRATOR, Scope.FLEET, "Pass a phase of a roll-out of the agent"),
    "agent_rollouts.stop_agent_rollout": Action(OPERATOR, Scope.FLEET, "Stop a roll-out of the agent"),
    "agent_rollouts.roll_back_agent_rollout": Action(OPERATOR, Scope.FLEET, "Have devices go back to the agent before"),
    "fleet_evaluation.start_evaluation": Action(OPERATOR, Scope.MODELS, "Have devices evaluate a version"),
    "fleet_evaluation.cancel_evaluation": Action(OPERATOR, Scope.MODELS, "Stop an evaluation"),
    "device_logs.ask_for_log": Action(OPERATOR, Scope.FLEET, "Ask for the log of a device"),
    "device_logs.cancel_log": Action(OPERATOR, Scope.FLEET, "Ask no longer for the log of a device"),
    "alliances.begin_alliance": Action(OPERATOR, Scope.MODELS, "Begin an alliance of two devices"),
    "alliances.cancel_alliance": Action(OPERATOR, Scope.MODELS, "Stop an alliance"),
    "registry.repair_blob": Action(OPERATOR, Scope.MODELS, "Repair a stored file", of_installation=True),
    "registry.add_dataset": Action(OPERATOR, Scope.MODELS, "Upload a data set"),
    "cloud_training.bootstrap_pair": Action(OPERATOR, Scope.MODELS, "Bootstrap a pair"),
    "cloud_training.distill_pair": Action(OPERATOR, Scope.MODELS, "Distil a pair's device model"),
    "cloud_training.quantise_version": Action(OPERATOR, Scope.MODELS, "Quantise a version"),
    "twin.try_plan": Action(OPERATOR, Scope.FEDERATIONS, "Try a plan on a simulated fleet"),
    "simulation_runs.keep_fleet": Action(OPERATOR, Scope.MODELS, "Upload a simulated fleet"),
    "simulation_runs.ask_for_runs": Action(OPERATOR, Scope.MODELS, "Ask for runs of a simulated fleet"),
    "simulation_runs.cancel_run": Action(OPERATOR, Scope.MODELS, "Cancel a run of a simulated fleet"),
    "simulation_runs.remove_fleet": Action(OPERATOR, Scope.MODELS, "Remove a simulated fleet and its runs"),
    "cloud_training.cancel_job": Action(OPERATOR, Scope.MODELS, "Cancel a job"),
    "cloud_training.retry_job": Action(OPERATOR, Scope.MODELS, "Try a job again"),
    "federations.create_federation": Action(OPERATOR, Scope.FEDERATIONS, "Create a federation"),
    "federations.change_plan": Action(OPERATOR, Scope.FEDERATIONS, "Change a federation's plan"),
    "federations.change_terms": Action(OPERATOR, Scope.FEDERATIONS, "Change how a federation judges candidates"),
    "federations.describe_federation": Action(OPERATOR, Scope.FEDERATIONS, "Rename a federation, or write notes"),
    "federations.archive_federation": Action(OPERATOR, Scope.FEDERATIONS, "Archive a federation"),
    "federations.restore_federation": Action(OPERATOR, Scope.FEDERATIONS, "Take a federation back from the archive"),
    "federations.start_federation": Action(OPERATOR, Scope.FEDERATIONS, "Start a federation"),
    "federations.pause_federation": Action(OPERATOR, Scope.FEDERATIONS, "Pause a federation"),
    "federations.adopt_versions": Action(OPERATOR, Scope.MODELS, "Make a federation's own versions the pair's"),
    "privacy.change_federation_budget": Action(
        ADMINISTRATOR, Scope.FEDERATIONS, "Change how much a federation may tell of any device"
    ),
    "privacy.change_device_budget": Action(
        ADMINISTRATOR, Scope.FEDERATIONS, "Change how much all federations may tell of a device"
    ),
    "repairs.mute_repair": Action(OPERATOR, Scope.SETTINGS, "Ignore or snooze a fault"),
    "repairs.restore_repair": Action(OPERATOR, Scope.SETTINGS, "Show a fault again"),
    "rounds.merge_again": Action(OPERATOR, Scope.FEDERATIONS, "Merge an abandoned round's updates again"),
    "federations.finish_federation": Action(OPERATOR, Scope.FEDERATIONS, "Finish a federation"),
}


def check_action(name: str, actor: Actor) -> None:
    """Return if `actor` may do it.

    Raises NobodyActs, NoProject, RoleNeeded, InstallationRoleNeeded, ScopeNeeded, TokenOfProject or TokenExpires.
    """
    action = ACTIONS[name]
    if action.of_installation and actor.project not in (None, NOWHERE):
        actor.require_in_installation(action.needs)
        actor.require(VIEWER, action.scope)
    else:
        actor.require(VIEWER if name in actor.also else action.needs, action.scope)
    if action.makes_session:
        actor.require_everything()


def why_not(name: str, actor: Actor) -> CoterieError | None:
    """Why `actor` may not do it; None: it may."""
    try:
        check_action(name, actor)
    except CoterieError as error:
        return error
    return None
