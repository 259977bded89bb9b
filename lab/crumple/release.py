"""Which crumple this is: its version, and the commit that its wheel was built from."""

from importlib import metadata
from pathlib import Path

# That of engine/Cargo.toml when this was installed: engine and lab have the same.
VERSION = metadata.version("crumple")
# In a wheel only.
_COMMIT = Path(__file__).with_name("commit.txt")


def carried_commit() -> str:
    """Return the commit that the wheel was built from; empty in a checkout, and if it was not known."""
    try:
        return _COMMIT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
