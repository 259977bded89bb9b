"""The answer of a comparison of versions: which is better, in what, by how much, and how sure it is. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from crumple.drawing import numerals
from crumple.drawing.report_parts import Answer, Charts, Phrase, sentence, sure
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_figures import VersusFigures

# Between these a label has pieces, of which only those that differ name a version.
_BETWEEN = re.compile(r"([ /?&,]+)")


def of(result: VersusFigures, picture: Charts | None) -> Answer:
    """Return the answer."""
    return Answer(
        asked=asked(result),
        found=[sentence(said) for said in found(result)],
        sure=how_sure(result),
        subjects=[f"{letter}: {label}" for letter, label in result.labels.items()],
        picture=picture,
    )


def title(result: VersusFigures) -> str:
    """Return the result in a few words: the first that was found."""
    return found(result)[0].replace(numerals.NARROW, " ")


def asked(result: VersusFigures) -> str:
    """Return what was asked, in a sentence that names versions by what differs between them."""
    names = apart(result.labels)
    first, *others = (f"{letter} ({name})" if name else letter for letter, name in names.items())
    return f"How {'does' if len(others) == 1 else 'do'} {' and '.join(others)} compare with {first}?"


def apart(labels: Mapping[str, str]) -> dict[str, str]:
    """Return letter → what of its label differs from the others; the whole label if that is nothing."""
    pieces = [_BETWEEN.split(label) for label in labels.values()]
    front = _alike(pieces)
    back = _alike([each[front:][::-1] for each in pieces])
    own = ["".join(each[front : len(each) - back]) for each in pieces]
    return dict(zip(labels, own if all(own) else labels.values(), strict=True))


def _alike(rows: Sequence[Sequence[str]]) -> int:
    """Return how many pieces at the beginning are those of all rows."""
    return sum(1 for _ in takewhile(lambda each: len({*each}) == 1, zip(*rows, strict=False)))


def found(result: VersusFigures) -> list[str]:
    """Return what was found, the strongest difference first; of several versions a sentence each."""
    gone = [result.compared.gone] if result.compared.gone else []
    if gone or len(result.others) > 1:
        return [*gone, *(say.headline(result, letter) for letter in result.others)]
    (letter,) = result.others
    return [*_different(result, letter), *_alike_in(result, letter), *_open(result, letter)]


def _different(result: VersusFigures, letter: str) -> Iterator[str]:
    if ratios := say.differences(result, letter):
        yield "; ".join(map(say.difference, ratios))


def _alike_in(result: VersusFigures, letter: str) -> Iterator[str]:
    alike = result.answered(letter, "alike")
    if len(alike) == len(result.ratios(letter)) and alike:
        yield f"{letter} and {FIRST} are alike: no figure differs by {say.tolerance(result)} or more"
    elif alike:
        yield f"they are alike in {say.listed(alike)}: less than {say.tolerance(result)} apart"


def _open(result: VersusFigures, letter: str) -> Iterator[str]:
    """Yield what is not decided, with what is known of it, and what would decide it."""
    ratios = result.answered(letter, "undecided")
    if not ratios:
        yield from () if result.ratios(letter) else [f"nothing was compared of {letter} and {FIRST}"]
        return
    known = [
        f"{say.NAMES[each.figure]} {numerals.with_interval(each.interval, of='block')}"
        for each in ratios
        if each.interval is not None
    ]
    why = [say.without_ratio(result), say.so_far_apart(result, letter), say.to_decide(result)]
    said = "; ".join([*known, *filter(None, why)])
    of_all = len(ratios) == len(result.ratios(letter))
    yield f"{say.undecided(letter) if of_all else 'not decided'}: {said}"


def how_sure(result: VersusFigures) -> Phrase:
    """Return how sure it is: whether all is decided, what counts, and whether A differs from itself."""
    ratios = result.compared.ratios
    decided = [each for each in ratios if each.is_decided]
    reasons = "; ".join(filter(None, [say.blocks_counted(result), say.control(result)]))
    if result.compared.gone:
        return sure("ended early", "bad", reasons)
    if result.compared.ending == "interrupted":
        return sure("interrupted", "bad", reasons)
    if any(each.twin_differs for each in ratios):
        return sure("doubtful", "doubtful", reasons)
    if ratios and len(decided) == len(ratios):
        return sure("decided", "good", reasons)
    return sure("partly decided" if decided else "not decided", "doubtful", reasons)
