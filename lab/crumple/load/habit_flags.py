"""The flags of hey and oha that change nothing in crumple: taken if they ask for what it does anyway."""

from crumple.errors import Mistakes
from crumple.load.load_flags import HabitFlags


def check(flags: HabitFlags) -> None:
    """Return unless a flag that changes nothing asks for something. Raises UsageError."""
    mistakes = Mistakes()
    redirects = (flags.redirect or "0").strip()
    if not redirects.isdecimal():
        mistakes.add(
            f"-r {redirects}: that is no number of redirects",
            "write -r 0, or leave it out; errors stop no load, as with ab's -r",
        )
    elif int(redirects):
        mistakes.add(
            f"-r {redirects}: redirects are not followed", "load the URL where it leads; --debug shows that"
        )
    if flags.http_version is not None and flags.http_version.strip() != "1.1":
        mistakes.add(f"--http-version {flags.http_version}: only HTTP/1.1 is spoken", "leave it out")
    mistakes.none()
