"""``coterie-agent``: the command line."""

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, Protocol, cast

import msgspec

from coterie_agent import VERSION
from coterie_agent.commands import Arguments, Output
from coterie_agent.errors import MEANINGS, AgentError, Exit
from coterie_agent.home import DEFAULT_HOME
from coterie_agent.versions.launching import ON_TRIAL, run_current
from coterie_wire.errors import WireError
from coterie_wire.structs import from_values


class Command(Protocol):
    """A module of `coterie_agent.commands`."""

    def run(self, arguments: Arguments) -> Output: ...


class Failure(msgspec.Struct, frozen=True):
    """What ``--json`` prints when a command fails."""

    code: str
    detail: str
    exit_code: int


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command; the exit code is one of `Exit`."""
    run_current(sys.argv[1:] if argv is None else argv)
    arguments = from_values(vars(_parser().parse_args(argv)), Arguments)
    arguments = msgspec.structs.replace(arguments, home=arguments.home.expanduser().absolute())
    command = cast(Command, importlib.import_module(f"coterie_agent.commands.{arguments.command}"))
    try:
        output = command.run(arguments)
    except AgentError as error:
        _fail(Failure(error.code, error.detail, error.exit_code), as_json=arguments.json)
    except WireError as error:
        _fail(Failure(error.code, error.detail, Exit.FAILED), as_json=arguments.json)
    except OSError as error:
        from coterie_agent.store.database import failure_of_file  # only here: it loads SQLite

        failed = failure_of_file(arguments.home, error)
        if failed is None:
            raise
        _fail(Failure(failed.code, failed.detail, failed.exit_code), as_json=arguments.json)
    except KeyboardInterrupt:
        _end_interrupted()
    if arguments.json:
        sys.stdout.write(msgspec.json.encode(output.json).decode() + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in output.lines))
    sys.exit(Exit.OK)


def _end_interrupted() -> NoReturn:
    """End by SIGINT, without a traceback; a shell then ends the script that it runs, too."""
    sys.stderr.write("\n")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
    raise AssertionError  # it has ended


def _fail(failure: Failure, *, as_json: bool) -> NoReturn:
    if as_json:
        sys.stdout.write(msgspec.json.encode(failure).decode() + "\n")
    else:
        sys.stderr.write(f"coterie-agent: {failure.detail} [{failure.code}]\n")
    sys.exit(failure.exit_code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coterie-agent",
        description="Trains a small model on this device's own data, when its owner's conditions hold.",
        epilog="exit codes:\n" + "\n".join(f"  {code:2d}  {meaning}" for code, meaning in MEANINGS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, metavar="DIR", help=f"default: {DEFAULT_HOME}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, about: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("--json", action="store_true", help="answer in JSON, for programs")
        return command

    join = add("join", "join a platform with a one-time token")
    join.add_argument("url", metavar="URL", help="the platform's address, or a link for phones, which holds the token")
    join.add_argument("token", metavar="TOKEN", nargs="?", default="")
    join.add_argument("--name", default="", help="what the device is called; default: its host name")
    join.add_argument(
        "--yes",
        action="store_true",
        help="agree to what the platform asks of the device, as it is printed, without being asked",
    )
    join.add_argument(
        "--page-on-network", action="store_true", help="let your phone open the owner's page, on this device's network"
    )
    run = add("run", "train when conditions hold, until stopped")
    relay = add("relay", "run, and sum the updates of the neighbours, so that one sum leaves the site")
    for running in (run, relay):
        running.add_argument(ON_TRIAL, action="store_true", help=argparse.SUPPRESS)  # the former agent says so
    add("unit", "print a systemd unit that keeps the agent running")
    add("status", "what the device is, holds, does, and has sent")
    page = add("page", "the address of the owner's page, while the agent runs; after forget: how far that is")
    page.add_argument("--sign-out", action="store_true", help="let no phone in any more that has opened it")
    add("why", "what keeps the device from training now")
    ingest = add("ingest", "add samples from a .csv, .npz or .jsonl file")
    ingest.add_argument("file", type=Path, metavar="FILE")
    ingest.add_argument("--replace", action="store_true", help="drop the samples that are on the device first")
    predict = add("predict", "ask the model on the device about the samples of a file")
    predict.add_argument("file", type=Path, metavar="FILE")
    add("serve", "answer programs on this device with the model that it holds, until stopped")
    kinds = add("kinds", "list the kinds that other packages bring, or let this device load them")
    choice = kinds.add_mutually_exclusive_group()
    choice.add_argument("--allow", default="", metavar="PACKAGE", help="load them; they run with the agent's rights")
    choice.add_argument("--withdraw", default="", metavar="PACKAGE", help="load them no more")
    ally = add("ally", "train with another party that has other columns about the same people, until that is done")
    ally.add_argument("alliance", nargs="?", default="", metavar="ALLIANCE", help="none: print this device's key")
    ally.add_argument("--partner", default="", metavar="KEY", help="the other party's key; the first time")
    ally.add_argument("--table", type=Path, default=Path(), metavar="FILE", help="a .csv with a header; the first time")
    ally.add_argument("--identifier", default="id", metavar="COLUMN", help="which column says who it is; default: id")
    ally.add_argument("--label", default="", metavar="COLUMN", help="which column is learned, where this party has it")
    ally.add_argument(
        "--predictions", type=Path, default=Path(), metavar="FILE", help="a .csv to write those predicted to"
    )
    agree = add("agree", "what federations ask beyond your word: that more leaves this device, or may be told of it")
    agree.add_argument(
        "federation", nargs="?", default="", metavar="FEDERATION", help="agree to what it asks; none: list all"
    )
    agree.add_argument("--yes", action="store_true", help="agree to all that is asked, without being asked")
    consent = add("consent", "what you have agreed to, part by part; take a part back, or give it again")
    changed = consent.add_mutually_exclusive_group()
    changed.add_argument(
        "--take-back",
        default="",
        metavar="PART",
        help="federation:NAME, readable, noised, summed, help or labels; the device stops at its next check-in",
    )
    changed.add_argument("--give-again", default="", metavar="PART", help="let what was taken back hold again")
    updates = add("updates", "which agents are installed, how updates went, and the owner's word on the next one")
    updates.add_argument("--allow", default="", metavar="VERSION", help="let that one be installed")
    updates.add_argument("--trust", type=Path, default=Path(), metavar="FILE", help="pin the keys that FILE names")
    logs = add("logs", "who asks for this device's log, what was sent of it, and the owner's word on it")
    said = logs.add_mutually_exclusive_group()
    said.add_argument("--allow", default="", metavar="REQUEST", help="let the platform have what was asked for")
    said.add_argument("--refuse", default="", metavar="REQUEST", help="send nothing")
    add("identities", "list the keys that devices sign with in secure sums, as this device has read them")
    export = add("export", "print all that is known of this device, here and at the platform, as JSON")
    export.add_argument("--offline", action="store_true", help="leave out what the platform knows; ask nobody")
    leave = add("leave", "leave the platform; the samples stay")
    leave.add_argument("--force", action="store_true", help="forget the platform even if it does not answer")
    forget = add("forget", "leave, and have the platform forget this device; again: how far that is")
    forget.add_argument("--force", action="store_true", help="remove what is here even if the platform does not agree")
    for parting in (leave, forget):
        parting.add_argument("--yes", action="store_true", help="do it without being asked")
    return parser
