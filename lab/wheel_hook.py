"""Part of building the lab's wheel: what it holds beside the sources, and for which machines it is.

`make wheels` (build_wheels.py) says so by variables. Without them, as where the lab is installed from a
checkout, the wheel has the sources only, and is for any machine.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# A folder: package/ has what belongs into crumple/, share/ what belongs into the environment's share/.
ADDED, PLATFORMS = "CRUMPLE_WHEEL_ADDED", "CRUMPLE_WHEEL_PLATFORMS"


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds what build_wheels.py has made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say what to add; hatchling calls it before it builds. `version`: "editable" or "standard"."""
        if version == "editable" or ADDED not in os.environ:
            return
        added = Path(os.environ[ADDED])
        places = (("package", "force_include", "crumple"), ("share", "shared_data", "share"))
        for kind, into, prefix in places:
            for file in sorted(each for each in (added / kind).rglob("*") if each.is_file()):
                build_data[into][str(file)] = f"{prefix}/{file.relative_to(added / kind)}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ[PLATFORMS]}"
