"""The command's entry: one group of commands, each imported when it is wanted, and one way to fail.

`compile` works without Django, a command's help without a state directory, and nothing is made by looking.
"""

from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

import click

from coterie.cli.failures import Failed

SECTIONS = {
    "Try it": {
        "demo": "coterie.cli.local:demo",
        "recipe": "coterie.cli.recipe:recipe",
        "simulate": "coterie.cli.local:simulate",
        "plan": "coterie.cli.plan:plan",
        "audit-privacy": "coterie.cli.local:audit_privacy",
        "compile": "coterie.cli.local:compile_model",
        "kinds": "coterie.cli.kinds:kinds",
        "capacity": "coterie.cli.capacity:capacity",
    },
    "Run a platform on this machine": {
        "up": "coterie.cli.local:up",
        "serve": "coterie.cli.local:serve",
        "migrate": "coterie.cli.local:migrate",
        "token": "coterie.cli.local:token",
        "sign-in-link": "coterie.cli.local:sign_in_link",
        "createsuperuser": "coterie.cli.local:createsuperuser",
        "changepassword": "coterie.cli.local:changepassword",
        "change-role": "coterie.cli.local:change_role",
        "rotate-signing-key": "coterie.cli.local:rotate_signing_key",
        "device-authority": "coterie.cli.local:device_authority",
        "reset-second-factor": "coterie.cli.local:reset_second_factor",
        "doctor": "coterie.cli.local:doctor",
        "answer-stun": "coterie.cli.local:answer_stun",
        "backup": "coterie.cli.backups:backup",
        "restore": "coterie.cli.backups:restore",
        "scrub": "coterie.cli.local:scrub",
        "collect-blobs": "coterie.cli.local:collect_blobs",
        "prune-history": "coterie.cli.local:prune_history",
        "releases": "coterie.cli.releases:releases",
        "seed-fleet": "coterie.cli.local:seed_fleet",
    },
    "Speak to a running platform": {
        "login": "coterie.cli.login:login",
        "logout": "coterie.cli.login:logout",
        "overview": "coterie.cli.resources:overview",
        "repairs": "coterie.cli.resources:repairs",
        "devices": "coterie.cli.resources:devices",
        "agent-rollouts": "coterie.cli.resources:agent_rollouts",
        "agent-updates": "coterie.cli.resources:agent_updates",
        "credential-renewals": "coterie.cli.resources:credential_renewals",
        "logs": "coterie.cli.logs:logs",
        "federations": "coterie.cli.resources:federations",
        "rounds": "coterie.cli.resources:rounds",
        "rebuilds": "coterie.cli.resources:rebuilds",
        "models": "coterie.cli.resources:models",
        "versions": "coterie.cli.resources:versions",
        "rollouts": "coterie.cli.resources:rollouts",
        "evaluations": "coterie.cli.resources:evaluations",
        "blobs": "coterie.cli.resources:blobs",
        "jobs": "coterie.cli.resources:jobs",
        "simulations": "coterie.cli.resources:simulations",
        "tried-plans": "coterie.cli.resources:tried_plans",
        "cluster": "coterie.cli.cluster:cluster",
        "alerts": "coterie.cli.resources:alerts",
        "alert-rules": "coterie.cli.resources:alert_rules",
        "alert-channels": "coterie.cli.resources:alert_channels",
        "twin": "coterie.cli.twin:twin",
        "alliances": "coterie.cli.resources:alliances",
        "analytics": "coterie.cli.resources:analytics",
        "organisations": "coterie.cli.resources:organisations",
        "projects": "coterie.cli.resources:projects",
        "roles": "coterie.cli.resources:roles",
        "custom-roles": "coterie.cli.resources:custom_roles",
        "sign-on-roles": "coterie.cli.resources:sign_on_roles",
        "api": "coterie.cli.resources:api",
    },
    "This command": {
        "completion": "coterie.cli.completion:completion",
        "help": "coterie.cli.command:help_",
    },
}
"""By section, where each command is defined."""
PLACES = {name: place for section in SECTIONS.values() for name, place in section.items()}
LATER = {
    "plan": "Propose plans for a goal, from simulations.",
    "kinds": "List, allow or withdraw kinds that packages bring.",
    "twin": "What a plan would have done, from a fleet's past.",
}
"""Short help of commands that take long to import, which is not done to list them."""
ON_THIS_MACHINE = {"demo", "simulate", "audit-privacy", *SECTIONS["Run a platform on this machine"]}
"""What needs Django; the rest works with `coterie[sdk]` alone."""


def imported(name: str) -> click.Command:
    """The command of this name, from where it is defined."""
    module, attribute = PLACES[name].split(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, click.Command)
    return found


class Commands(click.Group):
    """Commands by section; underscores in their names are hyphens, as they were once called."""

    def list_commands(self, _context: click.Context) -> list[str]:
        """All, in the order in which they are shown."""
        return list(PLACES)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """The command, imported now."""
        name = name.replace("_", "-")
        return imported(name) if name in PLACES else None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first of `arguments` names; where there is none, those that it may have meant."""
        name = arguments[0]
        if not name.startswith("-") and name.replace("_", "-") not in PLACES:
            near = get_close_matches(name, PLACES, n=2)
            meant = f" Did you mean {' or '.join(f'`coterie {one}`' for one in near)}?" if near else ""
            context.fail(f"There is no command {name!r}.{meant}")
        if name.replace("_", "-") in ON_THIS_MACHINE and find_spec("django") is None:
            raise Failed("cli.no_platform", f"`{name}` needs the platform: pip install 'coterie[platform]'.")
        return super().resolve_command(context, arguments)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Each section with a line for each of its commands."""
        for section, names in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, LATER.get(name) or imported(name).get_short_help_str(90)) for name in names])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("coterie"), prog_name="coterie")
def coterie() -> None:
    """Devices that learn from the company they keep: a platform for fleets of edge devices that learn together."""


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
def help_(names: tuple[str, ...]) -> None:
    """Explain a command: `coterie help up` is `coterie up --help`."""
    coterie.main([*names, "--help"], prog_name="coterie", standalone_mode=False)


def main() -> None:
    """Run the command that the arguments name."""
    coterie(prog_name="coterie")
