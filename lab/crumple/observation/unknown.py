"""Stands for a figure that is not known, with the reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unknown:
    """Why a figure is not known, and what would show it."""

    why: str
