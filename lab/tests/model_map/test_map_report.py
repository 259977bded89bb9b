"""The pictures, the lines and the document of a map."""

import dataclasses
from itertools import pairwise
from typing import Any, get_args

import made_maps
import pytest
from crumple.drawing import report_page, report_text
from crumple.drawing.plot import Area, Dot, Graph, Picture
from crumple.drawing.report_parts import plain
from crumple.drawing.theme import CONTEXT, MODELS
from crumple.model_map import map_document, map_lines, map_picture, map_report
from crumple.model_map.map_words import MODELS as NAMES
from crumple.model_map.model_map import ModelMap, Rank
from crumple.subject.server_toml import IoModel
from made_maps import begun, point


def marks(picture: Picture, kind: type[Any]) -> list[list[Any]]:
    """The marks of that kind in each panel."""
    graphs = [panel.drawn for panel in picture.panels]
    return [
        [mark for mark in graph.marks if isinstance(mark, kind)]
        for graph in graphs
        if isinstance(graph, Graph)
    ]


def test_who_serves_most_has_a_panel_for_each_number_of_users_and_a_cell_for_each_point() -> None:
    picture = map_picture.winners(begun())
    assert [panel.title for panel in picture.panels] == ["8 users", "60 users", "500 users", "2,000 users"]
    assert [len(each) for each in marks(picture, Area)] == [36] * 4
    rings = sum(len(each) for each in marks(picture, Dot))
    assert rings == len(begun().cells) - begun().decided
    assert "measured" not in [key.label for key in picture.keys], "it has no dot"


def test_a_cell_has_the_colour_of_the_model_that_serves_most_and_is_pale_if_that_is_not_decided() -> None:
    areas = [area for panel in marks(map_picture.winners(begun()), Area) for area in panel]
    for area, spot in zip(areas, begun().spots, strict=True):
        assert area.title.startswith(spot.point.said)
        if spot.winner is None and spot.is_decided:
            assert area.colour == CONTEXT
        else:
            assert area.colour == MODELS[spot.servers[0].server.io_model]
        assert area.opacity == (1.0 if spot.is_decided else map_picture.PALE)


def test_the_shade_of_a_cell_is_how_much_of_the_most_a_model_serves() -> None:
    picture = map_picture.shaded(begun(), 500, map_picture.share_of)
    assert len(picture.panels) == len(made_maps.NATURES)
    pool = next(at for at, each in enumerate(picture.panels) if each.title == "process pool of 150")
    where = (made_maps.COMPUTE_US.index(0), made_maps.WAIT_MS.index(500))
    (cell,) = [
        area
        for area in marks(picture, Area)[pool]
        if (area.low, area.left) == (float(where[0]), float(where[1]))
    ]
    # 150 workers for 500 users, who all wait: three tenths.
    assert cell.opacity == dict(map_picture.SHARES)[0.25].opacity
    # Of the first points two have 500 users.
    assert {len(each) for each in marks(picture, Dot)} == {2}


def test_shades_differ_enough_to_be_told_apart() -> None:
    opacities = [shade.opacity for _, shade in map_picture.SHARES]
    assert all(more > 1.4 * less for more, less in pairwise(opacities))


@pytest.mark.parametrize(("users", "of"), [(8, 8), (20, 8), (25, 60), (150, 60), (200, 500), (5_000, 2_000)])
def test_a_point_is_shown_at_the_nearest_number_of_users(users: int, of: int) -> None:
    assert map_picture.nearest_users(users, made_maps.USERS) == of


def test_every_model_has_a_colour_and_a_name() -> None:
    assert set(MODELS) == set(NAMES) == {*get_args(IoModel)}


@pytest.mark.parametrize("columns", [60, 100, 130])
def test_a_terminal_shows_each_model_as_a_block(columns: int) -> None:
    text = report_text.text(map_report.of_map(begun(), 500), columns, styled=False, width_max=columns)
    assert max(map(len, text.splitlines())) <= columns
    for name in ("event loop per core", "process pool of 150", "thread pool of 200"):
        assert name in text
    # Below each of eight blocks the waits.
    assert text.count("0   5   20  80  200 500") == 8
    assert "500 users" in text


def test_signs_on_a_terminal_are_no_shades() -> None:
    fills = [*map_lines.FILLS.values()]
    assert len({*fills, map_lines.MEASURED, map_lines.UNDECIDED}) == len(map_picture.SHARES) + 2


def test_a_terminal_marks_cells_that_were_measured_and_those_that_are_undecided() -> None:
    drawn = begun()
    lines = [str(line) for line in map_lines.plot(drawn, 500).draw(20)]
    # One model below another: its name, six rows, the waits, and an empty line.
    assert len(lines) == 9 * len(drawn.beliefs) + 3
    for at, belief in enumerate(drawn.beliefs):
        rows = [f"{line[4:]:24}" for line in lines[9 * at + 1 : 9 * at + 7]]
        cells = {(x, 5 - up): row[4 * x : 4 * x + 3] for up, row in enumerate(rows) for x in range(6)}
        dotted = {where for where, cell in cells.items() if map_lines.MEASURED in cell}
        # Of the first points two have 500 users: waits of 80 and 200 ms.
        assert dotted == {(3, 3), (4, 0)}
        asked = {where for where, cell in cells.items() if map_lines.UNDECIDED in cell}
        assert asked == {
            (x, y)
            for spot, (x, y) in map_picture.cells(drawn, 500)
            if not spot.is_decided and belief.server in [each.server for each in spot.front]
        }
    assert "• measured in this cell   ? undecided" in lines[-1]


def test_a_request_is_a_table_with_the_answer_below() -> None:
    (spot,) = begun().at([point(80, 3_000, 500)])
    text = report_text.text(map_report.of_request(begun(), spot), 120, styled=False, width_max=120)
    assert "80 ms of waiting, 3 ms of computing, 500 users" in text.splitlines()[0]
    assert "For your requests: " in text
    assert text.count("measured") >= 8


@pytest.mark.parametrize(
    ("rank", "measured", "word"),
    [
        ("behind", (1, 2), "Measured"),
        ("behind", (0, 1), "Partly measured"),
        ("behind", (0, 0), "Predicted"),
        ("open", (1, 1), "Partly sure"),
    ],
)
def test_what_is_said_of_a_request_is_measured_or_predicted(
    rank: Rank, measured: tuple[int, int], word: str
) -> None:
    (spot,) = begun().at([point(80, 3_000, 500)])
    ranks: tuple[Rank, Rank] = ("best", rank)
    servers = tuple(
        dataclasses.replace(each, rank=stands, measured=trials)
        for each, stands, trials in zip(spot.servers[:2], ranks, measured, strict=True)
    )
    found = map_report.of_request(begun(), dataclasses.replace(spot, servers=servers))
    assert found.answer is not None and plain(found.answer.sure).startswith(f"{word} ")


def test_a_map_says_on_how_many_cores_it_was_measured_if_the_machine_has_more() -> None:
    many = begun().data.model_copy(update={"machine": {"cpu_model": "Made CPU", "cores": 64}})
    for data, said in (
        (many, "64 cores of Made, 2 cores used"),
        (begun().data, "2 cores of Made, L"),
    ):
        found = map_report.of_request(ModelMap(data), begun().spots[0])
        assert found.answer is not None and said in plain(found.answer.sure)


def test_a_page_has_all_pictures_and_each_cell_in_words() -> None:
    html = report_page.html(map_report.of_map(begun(), 500))
    assert html.count('<figure class="chart') == 1 + 2 * len(made_maps.USERS)
    assert "500 ms of waiting, 50 ms of computing, 2,000 users" in html


def test_the_document_has_all_cells_or_one_request() -> None:
    whole = map_document.document(begun(), None)
    assert (len(whole.cells), whole.request) == (144, None)
    (spot,) = begun().at([point(80, 3_000, 500)])
    asked = map_document.document(begun(), spot)
    assert asked.cells == () and asked.request is not None
    assert [each.server for each in asked.request.servers] == [each.server.label for each in spot.servers]
