"""Commands for a running platform's resources: lists, single resources, and actions on them.

A row of `RESOURCES` is a command with sub-commands ``list``, ``show`` and one for each action, each with ``--json``.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import click
import msgspec

from coterie.cli.connection import Connection, chosen_transport
from coterie.cli.failures import Failed, failures_shown
from coterie.cli.login import read_login
from coterie.cli.output import JSON, Fields, print_fields, print_json, print_rows
from coterie_wire.structs import from_json

PAGE_ROWS = 100
_NO_ROWS: Sequence[Fields] = ()


class Taken(NamedTuple):
    """A field of a request's body: JSON, or a text where it is none."""

    name: str
    says: str
    required: bool = False


class Action(NamedTuple):
    """An action on a resource: ``POST /api/RESOURCE/ID/PATH/``, or ``POST /api/PATH/`` with the ID in the body."""

    name: str
    says: str
    path: str
    method: str = "POST"
    takes: tuple[Taken, ...] = ()
    """Fields of the request that are options."""
    id_in: str = ""
    """The field of the body that holds the ID; blank: the path holds it."""


class Resource(NamedTuple):
    """A kind of resource of the REST API."""

    name: str
    says: str
    path: str
    columns: tuple[str, ...]
    """Fields of a thing that its row in a list shows."""
    filters: tuple[str, ...]
    """Query parameters of its list that are options."""
    named_by: str = ""
    """The field by which people call one, beside its ID; blank: none."""
    actions: tuple[Action, ...] = ()
    changes: tuple[str, ...] = ()
    """Texts that ``change`` sets, each an option."""
    sets: tuple[Taken, ...] = ()
    """Other fields that it sets: JSON, or a text where it is none."""
    begins: Action | None = None
    """Makes one: ``POST /api/RESOURCE/``."""
    removable: bool = False


ARCHIVE = (
    Action("archive", "Leave it out of lists.", "archive"),
    Action("restore", "Have lists show it again.", "restore"),
)


class _Page(msgspec.Struct, frozen=True):
    """A page of a list."""

    count: int
    results: Sequence[Fields] = _NO_ROWS


DATASET = Taken("dataset", "the ID of the data set", required=True)
OF_DISTILLATION = (
    Taken("distil_epochs", "most passes, for the device model"),
    Taken("distil_learning_rate", "step size of the device model"),
    Taken("label_weight", "weight of the labels for the device model; the rest is the cloud model's"),
    Taken("seed", "seeds initial order and held-back samples"),
    Taken("team", "whose quota of the cluster it uses"),
    Taken("priority", "0 to 9: a higher one has its team's lower ones make room"),
)
IS_ARCHIVED = Taken("archived", "true, or false to take it back")
IS_ACTIVE = Taken("is_active", "true, or false to pause it")
OF_RULES = (
    Taken("threshold", "a share of 1, hours or rounds, as its kind says"),
    Taken("code", "of repairs, or their kind; blank: any"),
    Taken("least", "of repairs: error, or warning for both"),
    Taken("severity", "of what it finds: error or warning; repairs bring their own"),
    Taken("federation", "ID of the only one that is looked at"),
)
OF_CHANNELS = (
    Taken("recipients", 'addresses of e-mail: ["ada@example.org"]'),
    Taken("url", "of the others; it is never shown again"),
    Taken("quiet_from", "when its quiet hours begin: 22:00"),
    Taken("quiet_until", "when they end: 07:00"),
    Taken("time_zone", "whose clocks count: Europe/Berlin"),
)
ROLE_IN_A_PLACE = (
    Taken("role", "viewer, operator or administrator"),
    Taken("custom_role", "ID of a role of the organisation's own, instead"),
    Taken("project", "ID of the project"),
    Taken("organisation", "ID of the organisation, whose projects all are meant"),
)

WHY = Taken("why", "stands in its reason")
LEAKED = Taken("leaked", "true: the former credential is refused once the next is used, not a day later")

OF_LOGS = (
    Taken("hours", "the last so many; 24 where it is left out, at most a week"),
    Taken("why", "what it is wanted for; the device's owner reads it"),
)

RESOURCES = (
    Resource(
        "devices",
        "The devices of the fleet.",
        "devices",
        ("name", "status", "last_seen_at", "tags", "id"),
        ("status", "state", "tag", "reason", "renewal", "renews", "certified", "archived", "search", "sort"),
        "name",
        (
            Action("why", "Why it does not train now.", "why", "GET"),
            Action("timeline", "What happened to it.", "timeline", "GET"),
            Action("export", "All that is known of it, as one document.", "export", "GET"),
            Action("pause", "Give it no work until it is resumed.", "pause"),
            Action("resume", "Give it work again.", "resume"),
            Action("revoke", "Shut it out for good.", "revoke"),
            Action(
                "renew-credential",
                "Have it take another credential, without joining again.",
                "renew-credential",
                takes=(LEAKED,),
            ),
            Action(
                "ask-log",
                "Ask it for its log, which its owner allows or refuses; `coterie logs` shows what came.",
                "device-logs",
                takes=OF_LOGS,
                id_in="device",
            ),
            Action("forget", "Shut it out and remove what is kept of it, as its owner wants it.", "forget"),
            Action("forgetting", "What has become of that, as a receipt for the owner.", "forgetting", "GET"),
            *ARCHIVE,
        ),
        ("name", "notes"),
    ),
    Resource(
        "credential-renewals",
        "Orders that devices take another credential.",
        "credential-renewals",
        ("ordered_at", "tag", "leaked", "devices", "waiting", "unable", "id"),
        ("tag", "sort"),
        begins=Action(
            "order",
            "Have the whole fleet, or a tag's devices, renew their credentials.",
            "",
            takes=(Taken("tag", "whose devices; left out: the whole fleet's"), LEAKED),
        ),
    ),
    Resource(
        "logs",
        "Logs of devices, which operators ask for and owners allow.",
        "device-logs",
        ("device_name", "hours", "state", "reason_sentence", "line_count", "created_at", "id"),
        ("device", "state", "active", "search", "sort"),
        actions=(Action("cancel", "Ask for it no longer.", "cancel"),),
        begins=Action(
            "ask",
            "Ask a device for its log, which its owner allows or refuses.",
            "",
            takes=(Taken("device", "the ID of the device", required=True), *OF_LOGS),
        ),
    ),
    Resource(
        "federations",
        "The federations and their plans.",
        "federations",
        ("name", "slug", "state", "members", "rounds_wanted", "id"),
        ("state", "pair", "archived", "search", "sort"),
        "slug",
        (
            Action("start", "Begin, or go on after a pause.", "start"),
            Action("pause", "Open no further round.", "pause"),
            Action("finish", "End it for good.", "finish"),
            *ARCHIVE,
        ),
        ("name", "notes"),
    ),
    Resource(
        "rounds",
        "The rounds of the federations.",
        "rounds",
        ("federation_slug", "number", "state", "devices", "updates", "reason_sentence", "id"),
        ("federation", "state", "active", "search", "sort"),
        actions=(
            Action("timeline", "What happened in it.", "timeline", "GET"),
            Action("merge-again", "Merge the updates of an abandoned one once more.", "merge-again"),
        ),
    ),
    Resource(
        "rebuilds",
        "Lineages that are made again without a device that was forgotten.",
        "rebuilds",
        ("federation_slug", "state", "base_number", "result_number", "sentence", "asked_at", "id"),
        ("federation", "state", "sort"),
    ),
    Resource(
        "models",
        "The model pairs.",
        "pairs",
        ("name", "slug", "state", "batch_size", "reason_sentence", "id"),
        ("state", "archived", "search", "sort"),
        "slug",
        (
            Action(
                "bootstrap",
                "Train its cloud model on a data set, then distil its first device model from it.",
                "bootstrap",
                takes=(
                    DATASET,
                    Taken("strategy", """how training is spread over processes: {"kind": "local_sgd", "workers": 4}"""),
                    Taken("launcher", "who starts the workers: any, here, kubernetes or slurm"),
                    Taken("device", "what the workers compute on: auto, cores or gpus"),
                    Taken("precision", "of matrix products in training: float32 or bf16"),
                    Taken("compiled", "true: passes are compiled by torch.compile"),
                    Taken("epochs", "most passes over the data, for the cloud model"),
                    Taken("learning_rate", "step size of the cloud model's AdamW"),
                    Taken("batch_size", "samples in a step of the cloud model"),
                    Taken("least_gain", "share of its loss that the remaining epochs must promise, or it ends"),
                    *OF_DISTILLATION,
                ),
            ),
            Action(
                "distill",
                "Distil its next device model from the cloud model in use.",
                "distill",
                takes=(DATASET, *OF_DISTILLATION),
            ),
            Action(
                "use-version",
                "Give its devices another version: the one that the version in use came of, or a named one.",
                "champion",
                takes=(
                    Taken("version", "its ID; without, that from which the one in use came"),
                    Taken("lineage", "a federation's or a group's; without, the pair's own"),
                    Taken("why", "stands in the audit log, and beside the mark on the federation's charts"),
                ),
            ),
            *ARCHIVE,
        ),
        ("name", "notes"),
    ),
    Resource(
        "versions",
        "The versions of the model pairs.",
        "versions",
        ("role", "lineage", "number", "name", "champion", "size_bytes", "created_at", "id"),
        ("pair", "role", "lineage", "origin", "archived", "search", "sort"),
        actions=(
            Action(
                "evaluate",
                "Have a sample of devices measure it on samples that they hold out.",
                "evaluations",
                takes=(
                    Taken("devices", "how many are asked; 50 where it is left out"),
                    Taken("reports", "how many must have measured it, else it fails; 1 where it is left out"),
                    Taken("tag", "only devices that carry it"),
                    Taken("within_s", "seconds that devices have; a day where it is left out"),
                    Taken("federation", "the ID of the federation whose devices are asked"),
                ),
                id_in="version",
            ),
            Action("variants", "Its smaller forms as they were measured, or why there are none.", "variants", "GET"),
            *ARCHIVE,
        ),
        changes=("name", "notes"),
    ),
    Resource(
        "evaluations",
        "Federated evaluations: how versions do on devices' own samples.",
        "evaluations",
        ("federation_slug", "version_number", "state", "reason_sentence", "created_at", "id"),
        ("version", "pair", "federation", "state", "active", "search", "sort"),
        actions=(Action("cancel", "Stop it.", "cancel"),),
    ),
    Resource(
        "blobs",
        "The stored files, by their SHA-256.",
        "blobs",
        ("sha256", "size_bytes", "verified_at", "damaged_at"),
        ("damaged", "search", "sort"),
        actions=(Action("repair", "Read it again, and replace it by a copy where it is damaged.", "repair"),),
    ),
    Resource(
        "jobs",
        "Pre-flights, bootstraps, distillations and quantisations.",
        "jobs",
        ("kind", "pair_slug", "state", "progress_sentence", "error_sentence", "id"),
        ("kind", "state", "pair", "search", "sort"),
        actions=(
            Action("log", "What it has told.", "log", "GET"),
            Action("curve", "The epochs of the cloud model's training so far.", "curve", "GET"),
            Action("cancel", "End it.", "cancel", takes=(WHY,)),
            Action("retry", "Do it once more.", "retry"),
        ),
    ),
    Resource(
        "simulations",
        "Runs of simulated fleets, as `coterie simulate --on platform` asks for them.",
        "simulation-runs",
        (
            *("created_at", "pair_name", "data_name", "state", "progress", "accuracy", "device_accuracy_median"),
            *("device_accuracy_worst_decile", "bytes_per_device", "joules_per_device", "asked_by", "id"),
        ),
        ("fleet", "state", "active", "search", "sort"),
        actions=(Action("cancel", "Stop it; asked for again, it goes on where it was.", "cancel", takes=(WHY,)),),
    ),
    Resource(
        "tried-plans",
        "Plans of federations that were tried on simulated fleets; `coterie jobs cancel ID` stops one.",
        "plan-forecasts",
        (
            *("created_at", "federation_name", "dataset_name", "state", "progress", "accuracy"),
            *("device_accuracy_median", "device_accuracy_worst_decile", "bytes_per_device", "joules_per_device"),
            *("asked_by", "id"),
        ),
        ("federation", "state", "active", "search", "sort"),
    ),
    Resource(
        "alerts",
        "What alert channels were told, and whether it arrived.",
        "alert-notices",
        ("created_at", "change", "severity", "sentence", "channel_name", "state", "problem", "id"),
        ("channel", "incident", "change", "state", "search", "sort"),
    ),
    Resource(
        "alert-rules",
        "What alerts watch for, and whom they tell.",
        "alert-rules",
        ("name", "kind", "threshold", "code", "federation_slug", "firing", "is_active", "id"),
        ("search", "sort"),
        "name",
        sets=(Taken("channels", "IDs of the channels that it tells: [1, 2]"), *OF_RULES, IS_ACTIVE),
        begins=Action(
            "create",
            "Make a rule.",
            "",
            takes=(
                Taken("name", "what people call it", required=True),
                Taken(
                    "kind", "repair, job_failed, accuracy_below, online_below, unpublished_for, rounds_left_below", True
                ),
                Taken("channels", "IDs of the channels that it tells: [1, 2]", required=True),
                *OF_RULES,
            ),
        ),
        removable=True,
    ),
    Resource(
        "alert-channels",
        "Where alerts are told.",
        "alert-channels",
        ("name", "kind", "place", "recipients", "quiet_from", "quiet_until", "time_zone", "held", "is_active", "id"),
        ("search", "sort"),
        "name",
        (Action("test", "Send it a test message at once.", "test"),),
        sets=(*OF_CHANNELS, IS_ACTIVE),
        begins=Action(
            "create",
            "Make a channel.",
            "",
            takes=(
                Taken("name", "what people call it", required=True),
                Taken("kind", "email, slack, teams or webhook", required=True),
                *OF_CHANNELS,
            ),
        ),
        removable=True,
    ),
    Resource(
        "alliances",
        "Two devices with different columns about the same people, which train one network.",
        "alliances",
        ("name", "state", "common", "epoch", "accuracy", "reason_sentence", "id"),
        ("state", "device", "active", "search", "sort"),
        "name",
        (Action("cancel", "Stop it.", "cancel"),),
        begins=Action(
            "begin",
            "Have two devices train one network, once the owners of both agree.",
            "",
            takes=(
                Taken("name", "what people call it", required=True),
                Taken("columns_device", "the ID of the device with columns alone", required=True),
                Taken("columns_version", "the ID of the version that is the lower half", required=True),
                Taken("labels_device", "the ID of the device with the labels", required=True),
                Taken("labels_version", "the ID of the version that is the upper half", required=True),
                Taken("terms", """how they train: {"epochs": 30, "learning_rate": 0.02, "noise": 1}"""),
            ),
        ),
    ),
    Resource(
        "rollouts",
        "Versions on their way to devices through canary groups.",
        "rollouts",
        ("federation_slug", "version_number", "state", "phase", "phases", "reason_sentence", "created_at", "id"),
        ("federation", "pair", "version", "state", "active", "search", "sort"),
        actions=(
            Action("promote", "Give it to every device now, whatever was reported.", "promote", takes=(WHY,)),
            Action(
                "pass-phase",
                "Go on without waiting for the devices of the present phase.",
                "pass-phase",
                takes=(WHY,),
            ),
            Action("cancel", "Have the canary group go back to the version in use.", "cancel", takes=(WHY,)),
        ),
        begins=Action(
            "start",
            "Have a growing share of the devices try a version.",
            "",
            takes=(
                Taken("version", "the ID of the version", required=True),
                Taken(
                    "terms",
                    """how: {"share": 0.01, "phases": [{"share": 0.5, "hold_s": 7200}], "threshold": 0.02}""",
                ),
                Taken("why", "stands in the audit log"),
            ),
        ),
    ),
    Resource(
        "agent-rollouts",
        "Releases of the agent on their way to devices.",
        "agent-rollouts",
        ("version", "state", "phase", "tag", "reason_sentence", "created_at", "id"),
        ("version", "state", "active", "search", "sort"),
        actions=(
            Action("pause", "Ask no further device until it is resumed.", "pause", takes=(WHY,)),
            Action("resume", "Go on.", "resume"),
            Action("pass-phase", "Begin the next phase without waiting for this one.", "pass-phase", takes=(WHY,)),
            Action("stop", "Ask nobody else; devices that have it keep it.", "stop", takes=(WHY,)),
            Action("roll-back", "Have devices go back to the agent before.", "roll-back", takes=(WHY,)),
        ),
        begins=Action(
            "begin",
            "Ask a growing share of devices to install a release of the agent.",
            "",
            takes=(
                Taken("version", "a release of the repository", required=True),
                Taken("tag", "only devices that carry it"),
                Taken("device", "the ID of the only one"),
                Taken("phases", "shares of the devices; [0.05, 0.25, 1] where it is left out"),
                Taken("hold_s", "seconds for which each phase is watched; a day where it is left out"),
                Taken("probation_s", "seconds that the new agent has to check in; 600 where it is left out"),
                Taken("absent_s", "seconds that a phase waits for its first device; a week where it is left out"),
                Taken("most_failures", "share of failing devices that is borne; 0.1 where it is left out"),
            ),
        ),
    ),
    Resource(
        "agent-updates",
        "Devices' parts in roll-outs of the agent.",
        "agent-updates",
        ("device_name", "state", "former", "version", "reason_sentence", "changed_at", "id"),
        ("rollout", "device", "state", "search", "sort"),
    ),
    Resource(
        "organisations",
        "Organisations, which have projects.",
        "organisations",
        ("name", "created_at", "id"),
        ("archived", "search", "sort"),
        "name",
        changes=("name",),
        sets=(IS_ARCHIVED,),
        begins=Action("create", "Make one.", "", takes=(Taken("name", "what people call it", required=True),)),
    ),
    Resource(
        "projects",
        "Projects, whose devices, models and federations are kept apart.",
        "projects",
        ("name", "organisation_name", "created_at", "id"),
        ("organisation", "archived", "search", "sort"),
        "name",
        changes=("name",),
        sets=(IS_ARCHIVED,),
        begins=Action(
            "create",
            "Make one.",
            "",
            takes=(
                Taken("organisation", "ID of its organisation", required=True),
                Taken("name", "what people call it", required=True),
            ),
        ),
    ),
    Resource(
        "roles",
        "Roles of people in projects and organisations.",
        "grants",
        ("username", "role", "custom_role_name", "project", "organisation", "given_at", "id"),
        ("project", "organisation", "operator", "search", "sort"),
        begins=Action(
            "give",
            "Give a person a role in a project or organisation.",
            "",
            takes=(
                Taken("username", "of the person", required=True),
                *ROLE_IN_A_PLACE,
            ),
        ),
        removable=True,
    ),
    Resource(
        "custom-roles",
        "Roles of an organisation's own.",
        "custom-roles",
        ("name", "organisation_name", "actions", "made_at", "id"),
        ("organisation", "search", "sort"),
        "name",
        changes=("name",),
        sets=(Taken("actions", """what it lets people do: ["fleet.pause_device"]"""),),
        begins=Action(
            "create",
            "Make one.",
            "",
            takes=(
                Taken("organisation", "ID of the organisation", required=True),
                Taken("name", "what people call it", required=True),
                Taken("actions", """what it lets people do: ["fleet.pause_device"]""", required=True),
            ),
        ),
        removable=True,
    ),
    Resource(
        "sign-on-roles",
        "Roles in projects and organisations that groups of the OpenID Connect provider give.",
        "sign-on-roles",
        ("claim_value", "role", "custom_role_name", "project", "organisation", "made_at", "id"),
        ("project", "organisation", "search", "sort"),
        begins=Action(
            "give",
            "Have a group of the provider's give a role in a project or organisation.",
            "",
            takes=(
                Taken("claim_value", "the group, or *: whoever the provider lets in", required=True),
                *ROLE_IN_A_PLACE,
            ),
        ),
        removable=True,
    ),
    Resource(
        "analytics",
        "Questions to fleets, which only sums answer.",
        "analytics",
        ("title", "federation_slug", "state", "devices", "epsilon", "reason_sentence", "id"),
        ("federation", "state", "search", "sort"),
        actions=(Action("cancel", "End it without an answer.", "cancel"),),
        begins=Action(
            "ask",
            "Ask the devices of a federation.",
            "",
            takes=(
                Taken("federation", "the ID of the federation", required=True),
                Taken("content", """what is counted: {"count": {"kind": "classes", "classes": 10}}""", required=True),
                Taken("epsilon", "what it may tell of a device; null: exact, where owners agree", required=True),
                Taken("devices", "devices that are summed at most", required=True),
                Taken("within_s", "seconds within which devices join"),
                Taken("title", "what it is called in lists"),
            ),
        ),
    ),
)


def connected() -> Connection:
    return Connection(read_login(), chosen_transport())


def _group(resource: Resource) -> click.Group:
    group = click.Group(resource.name, help=resource.says)
    group.add_command(_list(resource))
    group.add_command(_show(resource))
    if resource.begins is not None:
        group.add_command(_begin(resource, resource.begins))
    for action in resource.actions:
        group.add_command(_act(resource, action))
    if resource.changes or resource.sets:
        group.add_command(_change(resource))
    if resource.removable:
        group.add_command(_remove(resource))
    return group


def _list(resource: Resource) -> click.Command:
    @failures_shown
    def run(as_json: bool, page: int, **filters: str | None) -> None:
        query = {name: value for name, value in filters.items() if value is not None}
        query |= {"page": str(page), "page_size": str(PAGE_ROWS)}
        content = connected().request("GET", f"{resource.path}/", query=query)
        if as_json:
            print_json(content)
            return
        found = from_json(content, _Page)
        print_rows(resource.columns, found.results)
        shown = (page - 1) * PAGE_ROWS + len(found.results)
        if shown < found.count:
            click.echo(f"{shown} of {found.count}; --page {page + 1} shows more", err=True)

    command = click.command("list", help=f"{resource.says} {PAGE_ROWS} at a time.", short_help="List them.")
    decorated = command(JSON(run))
    decorated.params.append(click.Option(["--page"], type=click.IntRange(1), default=1, help="which page of the list"))
    decorated.params.extend(
        click.Option([f"--{name}"], metavar="VALUE", help=f"as the REST API's {name}") for name in resource.filters
    )
    return decorated


def _show(resource: Resource) -> click.Command:
    @click.command("show", help=f"One of the {resource.name}.", short_help="Show one.")
    @click.argument("which", metavar=_called(resource))
    @JSON
    @failures_shown
    def run(which: str, as_json: bool) -> None:
        connection = connected()
        content = connection.request("GET", f"{resource.path}/{_find(connection, resource, which)}/")
        print_json(content) if as_json else print_fields(content)

    return run


def _act(resource: Resource, action: Action) -> click.Command:
    @click.command(action.name, help=action.says)
    @click.argument("which", metavar=_called(resource))
    @JSON
    @failures_shown
    def run(which: str, as_json: bool, **given: str | None) -> None:
        connection = connected()
        found = _find(connection, resource, which)
        path = f"{action.path}/" if action.id_in else f"{resource.path}/{found}/{action.path}/"
        if action.id_in:
            given[action.id_in] = found
        body = _body(given) if action.method == "POST" else None
        content = connection.request(action.method, path, body=body)
        if as_json:
            print_json(content)
        elif content:
            print_fields(content)
        else:
            click.echo("done")

    run.params.extend(map(_option, action.takes))
    return run


def _begin(resource: Resource, action: Action) -> click.Command:
    @click.command(action.name, help=action.says)
    @JSON
    @failures_shown
    def run(as_json: bool, **given: str | None) -> None:
        content = connected().request("POST", f"{resource.path}/", body=_body(given))
        print_json(content) if as_json else print_fields(content)

    run.params.extend(map(_option, action.takes))
    return run


def _body(given: Mapping[str, str | None]) -> bytes:
    return msgspec.json.encode({name: _value(text) for name, text in given.items() if text is not None})


def _remove(resource: Resource) -> click.Command:
    @click.command("remove", help=f"Remove one of the {resource.name}.")
    @click.argument("which", metavar=_called(resource))
    @JSON
    @failures_shown
    def run(which: str, as_json: bool) -> None:
        connection = connected()
        content = connection.request("DELETE", f"{resource.path}/{_find(connection, resource, which)}/")
        print_json(content) if as_json else click.echo("done")

    return run


def _option(field: Taken) -> click.Option:
    name = f"--{field.name.replace('_', '-')}"
    return click.Option([name, field.name], metavar="VALUE", help=field.says, required=field.required)


def _value(text: str) -> object:
    """JSON, or the text itself where it is none."""
    try:
        return from_json(text.encode(), object)
    except msgspec.DecodeError:
        return text


def _change(resource: Resource) -> click.Command:
    settable = [_option(field) for field in (*(Taken(name, "") for name in resource.changes), *resource.sets)]

    @failures_shown
    def run(which: str, as_json: bool, **given: str | None) -> None:
        changes = {
            name: text if name in resource.changes else _value(text) for name, text in given.items() if text is not None
        }
        if not changes:
            options = " or ".join(option.opts[0] for option in settable)
            raise Failed("cli.nothing_to_change", f"Say what is to change: {options}.")
        connection = connected()
        path = f"{resource.path}/{_find(connection, resource, which)}/"
        content = connection.request("PATCH", path, body=msgspec.json.encode(changes))
        print_json(content) if as_json else print_fields(content)

    command = click.command("change", help=f"Change one of the {resource.name}; what is left out stays.")
    decorated = command(click.argument("which", metavar=_called(resource))(JSON(run)))
    decorated.params.extend(settable)
    return decorated


def _called(resource: Resource) -> str:
    return f"ID|{resource.named_by.upper()}" if resource.named_by else "ID"


def _find(connection: Connection, resource: Resource, which: str) -> str:
    """The ID of the thing that `which` names. Raises Failed where there is none, or more than one."""
    try:
        return str(UUID(which))
    except ValueError:
        if which.isdecimal() or not resource.named_by:
            return which
    page = connection.get(f"{resource.path}/", _Page, {"search": which, "page_size": str(PAGE_ROWS)})
    found = [str(row["id"]) for row in page.results if row[resource.named_by] == which]
    if len(found) != 1:
        many = "no" if not found else f"{len(found)}"
        raise Failed(
            "cli.not_one", f"There are {many} {resource.name} with {resource.named_by} {which!r}; name the ID."
        )
    return found[0]


def find_federation(connection: Connection, which: str) -> str:
    """The ID of the federation that an ID or a slug names. Raises Failed where there is none."""
    return _find(connection, next(one for one in RESOURCES if one.name == "federations"), which)


(
    devices,
    credential_renewals,
    logs,
    federations,
    rounds,
    rebuilds,
    models,
    versions,
    evaluations,
    blobs,
    jobs,
    simulations,
    tried_plans,
    alerts,
    alert_rules,
    alert_channels,
    alliances,
    rollouts,
    agent_rollouts,
    agent_updates,
    organisations,
    projects,
    roles,
    custom_roles,
    sign_on_roles,
    analytics,
) = (_group(resource) for resource in RESOURCES)


@click.command(short_help="How the fleet stands.")
@JSON
@failures_shown
def overview(as_json: bool) -> None:
    """Show the fleet's state in one sentence; with --json everything that the console's first page shows."""
    content = connected().request("GET", "overview/")
    if as_json:
        print_json(content)
    else:
        click.echo(from_json(content, Mapping[str, object])["sentence"])


@click.command(short_help="What is wrong, and what repairs it.")
@JSON
@failures_shown
def repairs(as_json: bool) -> None:
    """Show what is wrong on the platform, and how to repair it."""
    content = connected().request("GET", "repairs/")
    if as_json:
        print_json(content)
        return
    found = from_json(content, Sequence[Fields])
    print_rows(("severity", "sentence", "advice", "since"), found)
    if not found:
        click.echo("Nothing waits for repair.")


@click.command(short_help="Any request of the REST API.")
@click.argument("method", type=click.Choice(["GET", "POST", "PATCH", "DELETE"], case_sensitive=False))
@click.argument("path")
@click.option("--data", metavar="JSON", help="the request's body; - reads it from standard input")
@failures_shown
def api(method: str, path: str, data: str | None) -> None:
    """Send a request to PATH of the REST API, such as `coterie api GET versions/?pair=...`, and print the answer."""
    text = sys.stdin.read() if data == "-" else data
    body = None if text is None else text.encode()
    print_json(connected().request(method.upper(), path.removeprefix("/").removeprefix("api/"), body=body))
