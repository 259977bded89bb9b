"""Golden files: the text of a format that was read and approved.

After an intended change: CRUMPLE_WRITE_GOLDEN=1 pytest lab/tests, then read the difference.
"""

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def as_golden(name: str, said: str) -> str:
    """Return the golden file's text; if CRUMPLE_WRITE_GOLDEN is set, first replace the text by `said`."""
    file = GOLDEN / name
    if os.environ.get("CRUMPLE_WRITE_GOLDEN"):
        file.write_text(said, encoding="utf-8")
    return file.read_text(encoding="utf-8")


def alike(found: object, wanted: object, where: str = "") -> None:
    """Assert equality, except for the last digits of floats, which numpy's releases round differently."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), where
        assert found.keys() == wanted.keys(), where
        for key in wanted:
            alike(found[key], wanted[key], f"{where}.{key}")
    elif isinstance(wanted, list):
        assert isinstance(found, list), where
        assert len(found) == len(wanted), where
        for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
            alike(one, other, f"{where}[{index}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-9), where
    else:
        assert found == wanted, where
