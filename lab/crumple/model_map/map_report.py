"""The report of a map: of one request as a table, of all cells as a picture. Pure."""

from collections.abc import Iterator, Sequence
from functools import partial

from crumple.drawing import numerals
from crumple.drawing.chart import BoundChart
from crumple.drawing.report_parts import (
    FILES,
    Answer,
    Charts,
    Column,
    Fold,
    Only,
    Paragraph,
    Part,
    Report,
    Section,
    Table,
    Tone,
    Words,
    on_terminal,
    phrase,
    sure,
)
from crumple.model_map import map_lines, map_picture, map_words
from crumple.model_map.map_words import LIMIT_NAMES
from crumple.model_map.model_map import ModelMap, Spot, Standing
from crumple.words import circumstances

ASKED = "Which I/O model serves best, for how much waiting, computing and how many users?"
HOW_TO_READ = (
    "Each panel is a model; the darker a cell, the more of the most it serves there. Dots: measured there; "
    "all else is predicted by operational laws and measured costs, corrected by what was measured nearby."
)
# Of so many users a screen shows the map unless others are asked for: enough that what limits models shows.
USERS_SHOWN = 500


def of_request(drawn: ModelMap, spot: Spot) -> Report:
    """Return the report of one request."""
    found = map_words.of_spot(spot)
    return Report(
        verb="map",
        title=found[0],
        head=[],
        sections=[Section([_table(spot)]), Section([Paragraph(phrase(map_words.CARRIES_OVER, "dim"))])],
        answer=Answer(
            f"Which I/O model serves best: {spot.point.said}?",
            found,
            sure(*_sure(drawn, spot), _where(drawn)),
        ),
    )


def _sure(drawn: ModelMap, spot: Spot) -> tuple[str, Tone]:
    if not spot.is_decided or map_words.unknown(drawn):
        return "Partly sure", "doubtful"
    measured = [bool(each.measured) for each in spot.servers]
    if all(measured):
        return "Measured", "good"
    return ("Partly measured" if any(measured) else "Predicted"), "doubtful"


def of_map(drawn: ModelMap, users: int) -> Report:
    """Return the report of all cells; a terminal shows those of so many users."""
    return Report(
        verb="map",
        title="Which I/O model serves best",
        head=[],
        sections=sections(drawn, users),
        answer=Answer(
            ASKED,
            map_words.of_map(drawn),
            sure(*map_words.how_known(drawn), f"{_where(drawn)}; {map_words.sure(drawn)}"),
        ),
    )


def sections(drawn: ModelMap, users: int) -> list[Section]:
    """Return the map as parts of a report; a terminal shows the cells of so many users."""
    return [
        Section(
            [
                on_terminal(map_lines.plot(drawn, users)),
                Only(FILES, [Charts(charts(drawn)), *_cells(drawn)]),
            ],
            "The map",
            "map",
        ),
        Section(
            [
                Paragraph(map_words.CARRIES_OVER),
                on_terminal(Paragraph("Of your requests: crumple map --wait 80ms --compute 3ms --users 500")),
            ],
            "What carries over",
            "carries-over",
        ),
    ]


def charts(drawn: ModelMap) -> list[BoundChart]:
    """Return the charts of a map: who serves most; and for each number of users, each model."""
    found = [
        BoundChart(
            "Who serves most",
            "The model that serves most, by waiting, computing and users. Grey: several serve within a tenth "
            "of it. Pale, with a ring: the most likely one, not decided.",
            "map-winners",
            partial(map_picture.winners, drawn),
        )
    ]
    for users in drawn.data.users:
        found += [
            BoundChart(
                f"How much of the most each model serves: {users:,} users",
                HOW_TO_READ,
                f"map-shares-{users}",
                partial(map_picture.shaded, drawn, users, map_picture.share_of),
            ),
            BoundChart(
                f"Who keeps p99 below a second: {users:,} users",
                "Where users get no answer, p99 is not kept either.",
                f"map-kept-{users}",
                partial(map_picture.shaded, drawn, users, map_picture.kept_of),
            ),
        ]
    return found


def _where(drawn: ModelMap) -> str:
    data = drawn.data
    lacking = map_words.unknown(drawn)
    none = [f"no trial counts of {lacking}"] if lacking else []
    here = data.machine.get("cores") or data.cores
    less = [f"{numerals.count(data.cores, 'core')} used"] if data.cores < here else []
    return ", ".join([data.run, data.began[:10], *circumstances.where(data.machine), *less, *none])


def _cells(drawn: ModelMap) -> Iterator[Part]:
    """Yield each cell in words, for who cannot see the pictures."""
    rows = [(spot.point.said, _front(spot)) for spot in drawn.spots]
    table = Table(
        [
            Column("requests", [said for said, _ in rows]),
            Column("who serves most", [front for _, front in rows]),
        ]
    )
    yield Fold("Every cell in words", [table])


def _front(spot: Spot) -> str:
    names = ", ".join(map_words.model(each.server) for each in spot.front)
    if not spot.is_decided:
        return f"undecided between {names}"
    return names if spot.winner else f"alike: {names}"


def _table(spot: Spot) -> Table:
    def column(heading: str, cells: Sequence[Words | None]) -> Column:
        return Column(heading, cells, right=True, whole=True)

    return Table(
        [
            Column("model", [map_words.model(each.server) for each in spot.servers], whole=True),
            Column("server", [each.server.label for each in spot.servers], wide_from=110),
            column("answers /s", [numerals.with_interval(each.per_s) for each in spot.servers]),
            column("of the most", [_ratio(each) for each in spot.servers]),
            column("p99", [_p99(each) for each in spot.servers]),
            Column("limited by", [_limit(each) for each in spot.servers], whole=True),
            Column("", ["measured" if each.measured else "predicted" for each in spot.servers], whole=True),
        ],
        left_out_first=("limited by", ""),
    )


def _ratio(each: Standing) -> str:
    word = {"best": "most", "alike": "alike", "open": "undecided", "behind": ""}[each.rank]
    share = f"{each.ratio.estimate * 100:.0f}{numerals.NARROW}%"
    return word if each.rank == "best" else f"{share} {word}".rstrip()


def _limit(each: Standing) -> str:
    return numerals.ABSENT if each.limit is None else LIMIT_NAMES[each.limit]


def _p99(each: Standing) -> str:
    if each.p99_ms is None:
        return "no answer for some"
    word = {"yes": "", "no": "", "open": " ?"}[each.is_kept]
    return f"{numerals.duration(each.p99_ms.estimate * 1e6)}{word}"
