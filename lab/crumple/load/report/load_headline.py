"""What a load came to, in a line."""

from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.load.report import load_sentences as say
from crumple.load.report import server_sentences
from crumple.words import lost_sentences

if TYPE_CHECKING:
    from crumple.load.report.load_document import LoadDocument


def headline(load: "LoadDocument") -> str:
    """Return what the load came to, in a line: "valid; 9,500 /s ok, p50 3.10 ms, p99 9.20 ms".

    An overload is named first.
    """
    spread = load.times["response_time"]
    parts = [f"{numerals.rate(load.throughput_per_s)} ok"]
    parts += [f"{say.quantile(q)} {say.time_at(spread, q)}" for q in (0.5, 0.99) if q in spread.quantile_ns]
    lost = say.losses(load)
    first = f"{server_sentences.overload(load)}; " if load.overload else ""
    if load.lost is not None:
        first, figures = f"{lost_sentences.sentence(load.lost)}; ", parts if load.throughput_per_s else []
        return f"{first}{', '.join([say.validity(load), *figures])}"
    return f"{first}{say.validity(load)}{f', {lost}' if lost else ''}; {', '.join(parts)}"
