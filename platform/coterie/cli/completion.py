"""``coterie completion``: a script that lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Let your shell complete commands.")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script for SHELL, for example: coterie completion bash >> ~/.bashrc."""
    from coterie.cli.command import coterie

    found = get_completion_class(shell)
    assert found is not None, "click has all of them"
    click.echo(found(coterie, {}, "coterie", "_COTERIE_COMPLETE").source())
