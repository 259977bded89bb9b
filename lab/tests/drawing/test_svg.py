"""Charts as SVG: each mark lies at its value, nothing a server wrote is markup, and a file needs no page."""

import xml.etree.ElementTree as ET

import pytest
from crumple.drawing import scale, svg, svg_rows, theme
from crumple.drawing.chart import Chart
from crumple.drawing.plot import (
    Area,
    Band,
    ChartKey,
    ChartRow,
    Dot,
    Graph,
    Guide,
    Label,
    Line,
    Panel,
    Picture,
    RowChart,
    RowPoint,
    Segment,
    Step,
    Steps,
    Strip,
    Whisker,
    picture,
)
from crumple.drawing.scale import AxisScale

SVG = "{http://www.w3.org/2000/svg}"


def elements(drawn: Graph | RowChart) -> ET.Element:
    """Return a chart of a page as XML."""
    return ET.fromstring(svg.inline(drawn, "what it shows"))


def titled(root: ET.Element, title: str) -> ET.Element:
    """Return the mark with a title."""
    return next(each for each in root.iter() if each.findtext("title") == title)


def graph(*marks: object, low: float = 0.0, high: float = 10.0, log: bool = False) -> Graph:
    """Return a graph of 200 px over ten seconds."""
    y = scale.count_axis(AxisScale(low, high, log))
    return Graph(scale.seconds_axis(10), y, marks)  # type: ignore[arg-type]


def test_a_dot_lies_at_its_value():
    dot = titled(elements(graph(Dot(2.5, 7.5, theme.INK, "here"))), "here")
    assert dot.get("cx") == "25%"
    assert dot.get("cy") == "50"


def test_a_dot_on_a_logarithmic_axis_lies_at_the_logarithm():
    dot = titled(elements(graph(Dot(5, 10, theme.INK, "here"), low=1, high=100, log=True)), "here")
    assert dot.get("cy") == "100"


def test_a_step_reaches_over_its_stretch_only():
    step = titled(elements(graph(Steps([Step(2, 4, 5, "p99")], theme.INK))), "p99")
    assert [step.get(each) for each in ("x1", "x2", "y1", "y2")] == ["20%", "40%", "100", "100"]


def test_a_line_is_interrupted_where_a_point_is_missing():
    path = titled(elements(graph(Line([(0, 0), (1, 1), None, (3, 1), (4, 0)], theme.INK, "p50"))), "p50")
    assert path.get("d") == "M0 200L100 180M300 180L400 200"


def test_a_point_without_a_neighbour_is_seen():
    root = elements(graph(Line([(0, 0), (1, 1), None, (5, 5), None], theme.INK, "p50")))
    (dot,) = root.iter("circle")
    assert (dot.get("cx"), dot.get("cy"), dot.findtext("title")) == ("50%", "100", "p50")
    only = elements(graph(Line([(5, 5)], theme.INK, "p50")))
    assert len([*only.iter("circle")]) == 1


def test_what_lies_beyond_the_end_of_time_is_not_drawn_at_it():
    marks = [
        Line([(0, 0), (10, 1), (11, 2), (12, 3)], theme.INK, "p50"),
        Band([(0, 1, 2), (10, 1, 2), (12, 1, 2)], theme.INK, title="band"),
        Dot(12, 1, theme.INK, "late"),
    ]
    root = elements(graph(*marks))
    assert titled(root, "p50").get("d") == "M0 200L1000 180"
    assert titled(root, "band").get("d") == "M0 160L1000 160L1000 180L0 180Z"
    assert not [*root.iter("circle")]


def test_an_interval_that_is_cut_says_so_at_the_end():
    row = ChartRow("Go", [Whisker(-5, 700, title="wide")])
    root = elements(RowChart(scale.count_axis(AxisScale(0, 50)), [row]))
    arrows = [
        (each.get("x"), "".join(each.itertext())[-1])
        for each in root.iter("text")
        if each.find("title") is not None
    ]
    assert arrows == [("0%", "‹"), ("100%", "›")]


def test_a_band_is_closed():
    path = titled(elements(graph(Band([(0, 2, 4), (10, 2, 4)], theme.INK, title="p50 to p99"))), "p50 to p99")
    assert path.get("d") == "M0 120L1000 120L1000 160L0 160Z"


def test_rows_have_their_marks_at_shares_of_the_width():
    marks = [Segment(0, 30, theme.INK, "bar"), Whisker(20, 40, title="interval"), RowPoint(25, "start")]
    root = elements(RowChart(scale.count_axis(AxisScale(0, 50)), [ChartRow("Go", marks, "30 /s")]))
    assert titled(root, "bar").get("width") == "60%"
    assert (titled(root, "interval").get("x1"), titled(root, "interval").get("x2")) == ("40%", "80%")
    assert titled(root, "start").get("cx") == "50%"


def test_a_cell_of_a_table_has_its_marks_on_the_axis_of_its_column():
    axis = scale.ratio_axis(AxisScale(0.1, 10, log=True))
    marks = [Whisker(1, 10, title="interval"), RowPoint(1, "measured"), RowPoint(50, "far")]
    root = ET.fromstring(svg.strip(Strip(axis, marks, [Guide(theme.MUTED, x=1)]), "it is alike"))
    assert (root.get("aria-label"), root.get("width")) == ("it is alike", "100%")
    assert (titled(root, "interval").get("x1"), titled(root, "interval").get("x2")) == ("50%", "100%")
    assert titled(root, "measured").get("cx") == "50%"
    assert "›" in "".join(titled(root, "far").itertext())
    assert not [each for each in root.iter() if each.text == "1"]
    heading = ET.fromstring(svg.strip(Strip(axis, has_ticks=True), ""))
    assert next(each.get("x") for each in heading.iter() if each.text == "1") == "50%"
    assert heading.get("aria-hidden") == "true"


def test_a_value_beyond_the_axis_has_an_arrow_at_its_end():
    row = ChartRow("Go", [RowPoint(700, "700 /s")])
    arrow = titled(elements(RowChart(scale.count_axis(AxisScale(0, 50)), [row])), "700 /s")
    assert arrow.get("x") == "100%"
    assert "›" in "".join(arrow.itertext())


def test_words_are_left_out_where_a_narrow_screen_or_a_bar_has_no_room():
    marks = [Segment(0, 5, theme.INK, "", "x" * 40), Segment(5, 25, theme.INK, "", "x" * 40)]
    root = elements(RowChart(scale.count_axis(AxisScale(0, 50)), [ChartRow("Go", marks)]))
    found = [each for each in root.iter() if each.text == "x" * 40]
    assert [each.get("class") for each in found] == ["w"]


@pytest.mark.parametrize("text", ['<script>alert("x")</script>', "a & b", "\x1b[31mred", "]]>"])
def test_what_a_server_wrote_is_text(text: str):
    drawn = RowChart(
        scale.count_axis(AxisScale(0, 1), text),
        [ChartRow(text, [Segment(0, 1, theme.INK, text, text)], text, text)],
        [Guide(theme.INK, x=0.5, label=text)],
        [Area(theme.SHADE, title=text)],
    )
    shown = graph(Dot(1, 1, theme.INK, text), Label(1, text, theme.INK), Guide(theme.INK, y=1, label=text))
    for each in (drawn, shown):
        found = svg.inline(each, text)
        assert ET.fromstring(found).get("aria-label")
        assert "<script" not in found
        assert "\x1b" not in found
    file = svg.file(Picture([Panel(drawn, text, [text])], text, [ChartKey(text, theme.INK)]), text, 400)
    assert "<script" not in file
    ET.fromstring(file)


def test_a_long_name_is_broken_and_cut():
    names = " ".join(f"setting{number}=1" for number in range(40))
    root = elements(RowChart(scale.count_axis(AxisScale(0, 1)), [ChartRow(names, [])]))
    lines = [each.text or "" for each in root.iter() if (each.text or "").startswith("setting")]
    assert len(lines) == svg_rows.NAME_LINES
    assert all(len(line) <= svg_rows.NAME_LETTERS for line in lines)
    assert lines[-1].endswith("…")


def test_a_file_has_title_keys_and_panels_each_in_its_place():
    panels = [Panel(graph(Dot(1, 1, theme.INK, "dot")), f"server {at}") for at in range(3)]
    chart = Chart[int](
        "name", "The title", "", lambda _: Picture(panels, "", [ChartKey("p50", theme.INK)], 2)
    )
    file = chart.of(0, of="experiment").file()
    assert file is not None
    root = ET.fromstring(file)
    places = [(each.get("x"), each.get("y")) for each in root.findall(f"{SVG}svg")]
    assert len(set(places)) == 3
    assert places[0][1] == places[1][1] != places[2][1]
    assert {"The title", "p50", "server 2"} <= {each.text for each in root.iter()}


def test_a_chart_without_a_picture_has_no_file():
    assert Chart[int]("name", "title", "", lambda _: None).of(0).file() is None


def test_the_description_says_what_a_chart_shows():
    assert elements(graph()).get("aria-label") == "what it shows"
    assert picture(graph(), "it grows").says == "it grows"


def test_a_drawing_says_from_where_to_where_its_axes_reach_so_that_a_value_can_be_read_off():
    line = Line([(0, 1), (2.5, 3.333), (10, 10)], theme.INK, "p50")
    drawn = elements(graph(line, low=1, high=10, log=True))
    assert (drawn.get("data-x"), drawn.get("data-y")) == ("0 10 even s", "1 10 log")
    path = next(drawn.iter("path")).get("d") or ""
    across, down = (float(each) for each in path.split("L")[1].split(" "))
    assert across / 1000 * 10 == pytest.approx(2.5)
    assert 10 ** (1 - down / 200) == pytest.approx(3.333, rel=1e-3)
    times = Graph(scale.seconds_axis(10), scale.time_axis(AxisScale(0, 2e6)), [line], is_time=True)
    assert (elements(times).get("data-y"), elements(times).get("class")) == ("0 2000000 even ns", "in time")
