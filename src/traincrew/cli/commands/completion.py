"""`traincrew completion`: print the completion script of a shell."""

from __future__ import annotations

import click

from traincrew.cli.render import terminal


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell: verbs, options, kinds, job names, replicas, images and environments.

    Job names come from the cluster and the namespace on the command line.

    \b
    echo 'source <(traincrew completion bash)' >> ~/.bashrc
    echo 'source <(traincrew completion zsh)' >> ~/.zshrc                # after compinit
    traincrew completion fish > ~/.config/fish/completions/traincrew.fish
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    script = get_completion_class(shell)
    assert script is not None
    terminal.echo_unchanged(script(root, {}, "traincrew", "_TRAINCREW_COMPLETE").source())
