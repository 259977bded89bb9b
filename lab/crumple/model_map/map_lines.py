"""A map for a terminal: for each model a block of cells, shaded by how much of the most it serves.

The picture of `map_picture.shaded`, made of characters; it also marks cells in which it is undecided whether
the model is among those that serve most.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from rich.text import Text

from crumple.drawing.report_parts import Plot
from crumple.model_map import map_picture, map_words
from crumple.model_map.map_data import MapServer
from crumple.model_map.map_picture import SHARES
from crumple.model_map.model_map import ModelMap

# How many characters a cell is wide, and how many are between two blocks.
CELL, BETWEEN = 4, 3
# The character of each shade: that of the least is a blank, which looks like no sign.
FILLS = dict(zip((shade for _, shade in SHARES), "█▓▒░ ", strict=True))
# The signs in a cell: measured there, and undecided.
MEASURED, UNDECIDED = "•", "?"


def plot(drawn: ModelMap, users: int) -> Plot:
    """Return the map at so many users."""
    return Plot(partial(_lines, drawn, users))


def _lines(drawn: ModelMap, users: int, columns: int) -> Sequence[Text]:
    labels = [f"{each / 1e3:g}" for each in drawn.data.compute_us]
    left = max(map(len, labels)) + 1
    servers = [each.server for each in drawn.beliefs]
    wide = max(left + CELL * len(drawn.data.wait_ms), *(len(map_words.model(each)) for each in servers))
    beside = max(1, (columns + BETWEEN) // (wide + BETWEEN))
    found = []
    for at in range(0, len(servers), beside):
        blocks = [[*_block(drawn, users, each, left)] for each in servers[at : at + beside]]
        found += [
            Text((" " * BETWEEN).join(f"{line:{wide}}" for line in row).rstrip())
            for row in zip(*blocks, strict=True)
        ]
        found.append(Text())
    fills = "   ".join(f"{fill.replace(' ', 'blank:')} {shade.label}" for shade, fill in FILLS.items())
    signs = f"{MEASURED} measured in this cell   {UNDECIDED} undecided whether it is among the best"
    return [
        *found,
        Text(f"across: ms of waiting; up: ms of computing; {users:,} users"),
        Text(fills),
        Text(signs),
    ]


def _block(drawn: ModelMap, users: int, server: MapServer, left: int) -> Iterator[str]:
    """Yield the lines of one model: its name, its rows from the top, and the waits."""
    yield map_words.model(server)
    rows = [[""] * len(drawn.data.wait_ms) for _ in drawn.data.compute_us]
    measured = {(int(x), int(y)) for _, (x, y) in map_picture.measured(drawn, users, server)}
    for spot, (x, y) in map_picture.cells(drawn, users):
        each = next(each for each in spot.servers if each.server == server)
        fill = FILLS[map_picture.share_of(each)]
        is_open = each in spot.front and not spot.is_decided
        rows[y][x] = fill + (MEASURED if (x, y) in measured else fill) + (UNDECIDED if is_open else fill)
    for compute_us, row in reversed([*zip(drawn.data.compute_us, rows, strict=True)]):
        yield f"{compute_us / 1e3:>{left - 1}g} " + " ".join(row)
    yield " " * left + "".join(f"{each:<{CELL}}" for each in drawn.data.wait_ms)
