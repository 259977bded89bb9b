"""Which crumple this is: its version, and the commit that its wheel was built from."""

from pathlib import Path

# Engine and lab have the same version. The build reads this line.
VERSION = "0.1.0"
# In a wheel only.
_COMMIT = Path(__file__).with_name("commit.txt")


def carried_commit() -> str:
    """Return the commit that the wheel was built from; empty in a checkout, and if it was not known."""
    try:
        return _COMMIT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
