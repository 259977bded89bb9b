"""crumple map: which I/O model serves requests best that wait, compute and come from so many users."""

import math
from collections.abc import Sequence
from pathlib import Path

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.drawing import report_text
from crumple.errors import NotStored, UsageError
from crumple.load import typed_values
from crumple.model_map import map_data, map_document, map_picture, map_report
from crumple.model_map.map_data import MapData
from crumple.model_map.model_map import ModelMap
from crumple.run import map_of_run, store
from crumple.study.map_points import MapPoint

# Where a project may keep a map, measured on the machine that it names.
KEPT = Path("studies") / "wait-or-compute.json"
# A screen that is as wide has the blocks of four models beside each other.
WIDTH_MAX = 130


def say(name: str | None, wait: str | None, compute: str | None, users: str | None, as_json: bool) -> int:
    """Print what the map says of a request, or all of it; return 0. Raises UsageError, NotStored."""
    data, is_kept = _data(name)
    drawn = ModelMap(data)
    asked = map_report.USERS_SHOWN if users is None else typed_values.read_count("--users", users)
    _inside("--users", users or "", asked, data.users, "users")
    if (wait is None) != (compute is None):
        raise UsageError(
            "a request needs --wait and --compute", "write for instance --wait 80ms --compute 3ms --users 500"
        )
    if wait is None or compute is None:
        shown = map_picture.nearest_users(asked, drawn.data.users)
        spot, report = None, map_report.of_map(drawn, shown)
    else:
        (spot,) = drawn.at([_point(drawn.data, wait, compute, asked)])
        report = map_report.of_request(drawn, spot)
    if is_kept:
        output.say(f"of another machine, as none is measured here: crumple run wait-or-compute ({data.run})")
    if as_json:
        output.models(map_document.document(drawn, spot))
    else:
        output.drawn(report_text.text(report, width_max=WIDTH_MAX))
    return 0


def _data(name: str | None) -> tuple[MapData, bool]:
    """Return what the map is made of, and whether it is the one that the project keeps.

    It is the named run or file, or the latest run that has a map, or else the project's. Raises NotStored.
    """
    here = Project.here()
    if name is not None and name.endswith(".json"):
        return map_data.read(Path(name)), False
    found = store.find(here.runs, name) if name is not None else map_of_run.latest(here.runs)
    if found is not None:
        return map_of_run.of_store(found), False
    kept = here.root / KEPT
    if not kept.is_file():
        raise NotStored(
            "no map is stored", "measure one in a quarter of an hour: crumple run wait-or-compute"
        )
    return map_data.read(kept), True


def _point(data: MapData, wait: str, compute: str, users: int) -> MapPoint:
    """Return the point of a request. Raises UsageError, also where it lies beyond the map."""
    wait_ms, compute_us = _ns("--wait", wait) / 1e6, _ns("--compute", compute) / 1e3
    _inside("--wait", wait, wait_ms, data.wait_ms, "ms")
    _inside("--compute", compute, compute_us / 1e3, [each / 1e3 for each in data.compute_us], "ms")
    return MapPoint(
        wait_ms=_whole("--wait", wait, wait_ms, "ms"),
        compute_us=_whole("--compute", compute, compute_us, "us"),
        users=users,
    )


def _inside(flag: str, text: str, value: float, span: Sequence[float], unit: str) -> None:
    """Raise UsageError for a value beyond the map."""
    if span[0] <= value <= span[-1]:
        return
    # A number without a unit is one of seconds, which is easily forgotten.
    is_plain = text.strip() in (f"{value:g}", f"{value:g}{unit}")
    read = "" if is_plain else f", which is {value:,.10g} {unit},"
    remedy = f"the map reaches from {span[0]:g} to {span[-1]:,.10g} {unit}"
    raise UsageError(f"{flag} {text}{read} is beyond the map", remedy)


def _whole(flag: str, text: str, value: float, unit: str) -> int:
    """Return a value of which the map has whole ones. Raises UsageError."""
    # A float is no further off than that.
    if abs(value - round(value)) > 1e-6:
        low = math.floor(value)
        remedy = f"write {flag} {low}{unit} or {flag} {low + 1}{unit}"
        raise UsageError(f"{flag} {text}: the map has whole {unit}", remedy)
    return round(value)


def _ns(flag: str, text: str) -> float:
    """Return a duration in ns, which may be 0. Raises UsageError."""
    return (
        0.0 if text.strip() in ("0", "0us", "0ms", "0s") else typed_values.read_duration_s(flag, text) * 1e9
    )
