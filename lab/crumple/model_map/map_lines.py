"""A map for a terminal: for each model a block of cells, shaded by how much of the most it serves.

The same picture as `map_picture.shaded`, made of characters.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.text import Text

from crumple.drawing.report_parts import Plot
from crumple.model_map import map_words
from crumple.model_map.map_data import MapServer
from crumple.model_map.map_picture import KEPT, SHARES, Shade, kept_of, share_of
from crumple.model_map.model_map import ModelMap, Standing

# How many characters a cell is wide, and how many are between two blocks.
CELL, BETWEEN = 4, 3


def plot(drawn: ModelMap, users: int, shade: Callable[[Standing], Shade] = share_of) -> Plot:
    """Return the map at so many users."""
    return Plot(partial(_lines, drawn, users, shade))


def _lines(drawn: ModelMap, users: int, shade: Callable[[Standing], Shade], columns: int) -> Sequence[Text]:
    labels = [f"{each / 1e3:g}" for each in drawn.data.compute_us]
    left = max(map(len, labels)) + 1
    servers = [each.server for each in drawn.beliefs]
    wide = max(left + CELL * len(drawn.data.wait_ms), *(len(map_words.model(each)) for each in servers))
    beside = max(1, (columns + BETWEEN) // (wide + BETWEEN))
    found = []
    for at in range(0, len(servers), beside):
        blocks = [[*_block(drawn, users, each, shade, left)] for each in servers[at : at + beside]]
        found += [
            Text((" " * BETWEEN).join(f"{line:{wide}}" for line in row).rstrip())
            for row in zip(*blocks, strict=True)
        ]
        found.append(Text())
    shades = KEPT.values() if shade is kept_of else [each for _, each in SHARES]
    key = "   ".join(f"{each.block} {each.label}" for each in shades)
    return [*found, Text(f"across: ms of waiting; up: ms of computing; {users:,} users"), Text(key)]


def _block(
    drawn: ModelMap, users: int, server: MapServer, shade: Callable[[Standing], Shade], left: int
) -> Iterator[str]:
    """Yield the lines of one model: its name, its rows from the top, and the waits."""
    yield map_words.model(server)
    ranks = {
        spot.point: next(each for each in spot.servers if each.server == server)
        for spot in drawn.spots
        if spot.point.users == users
    }
    for compute_us in reversed(drawn.data.compute_us):
        cells = [shade(ranks[point]).block * (CELL - 1) for point in ranks if point.compute_us == compute_us]
        yield f"{compute_us / 1e3:>{left - 1}g} " + " ".join(cells)
    yield " " * left + "".join(f"{each:<{CELL}}" for each in drawn.data.wait_ms)
