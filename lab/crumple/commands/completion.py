"""crumple completion: prints what a shell needs to complete the words of a command line."""

from crumple.commands import output
from crumple.errors import NotFound
from crumple.parsing import did_you_mean
from crumple.shell import scripts


def show(shell: str) -> int:
    """Print the completion of a shell. Raises NotFound."""
    if shell not in scripts.SHELLS:
        raise NotFound(f'no completion for "{shell}"', did_you_mean(shell, scripts.SHELLS))
    output.plain(scripts.script(shell))
    return 0
