"""Keeps the map of a stored run in studies/wait-or-compute.json, and draws the README's picture of it.

    .venv/bin/python docs/images/map.py [RUN]

RUN is a run's name or folder. Without it: of the latest run that has a map. With --drawn only the picture is
drawn, of what is kept.
"""

import argparse
from pathlib import Path

from crumple import project
from crumple.commands.which_model import KEPT
from crumple.drawing import svg
from crumple.drawing.chart import WIDE_PX
from crumple.model_map import map_data, map_picture, map_report
from crumple.model_map.map_data import MapData
from crumple.model_map.model_map import ModelMap
from crumple.run import map_of_run, store
from crumple.words import circumstances

HERE = Path(__file__).parent


def drawn(data: MapData) -> str:
    """The picture: of 500 users, how much of the most each model serves."""
    picture = map_picture.shaded(ModelMap(data), map_report.USERS_SHOWN, map_picture.share_of)
    where = ", ".join([*circumstances.where(data.machine), data.began[:10]])
    title = f"How much of the most each model serves to {map_report.USERS_SHOWN} users ({where})"
    return svg.file(picture, title, WIDE_PX)


def main() -> None:
    parser = argparse.ArgumentParser(description="the map of a run")
    parser.add_argument("run", nargs="?")
    parser.add_argument("--drawn", action="store_true")
    asked = parser.parse_args()
    root = project.root()
    kept = root / KEPT
    if not asked.drawn:
        folder = project.runs(root)
        found = store.find(folder, asked.run) if asked.run else map_of_run.latest(folder)
        assert found is not None, "no run has a map"
        kept.write_text(map_of_run.of_store(found).model_dump_json(indent=None) + "\n", encoding="utf-8")
    picture = HERE / "map.svg"
    picture.write_text(drawn(map_data.read(kept)), encoding="utf-8")
    print(kept, picture)


if __name__ == "__main__":
    main()
