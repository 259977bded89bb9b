"""Every error that pydantic finds in a document of the lab is reported in our own words."""

from typing import Any

import pytest
from crumple import parsing
from pydantic import BaseModel, Field, ValidationError


class Part(BaseModel, extra="forbid"):
    name: str = ""
    many: int = Field(default=1, gt=0, lt=10)
    share: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    path: str = Field(default="/", pattern="^/", min_length=1)
    two: tuple[int, int] = (1, 2)
    any_of: int | str | None = None


class Whole(BaseModel, extra="forbid"):
    parts: tuple[Part, ...] = Field(min_length=1)


def _said(**part: Any) -> str:
    document = {"parts": [{}, part]}
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate(document, strict=False)
    found = parsing.first_fault(caught.value, document)
    return f"{found}; {found.remedy}"


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ({"many": 0}, "parts.entry 2.many: is 0; write a number above 0"),
        ({"many": 10}, "parts.entry 2.many: is 10; write a number below 10"),
        ({"share": -1}, "parts.entry 2.share: is -1; write 0 or more"),
        ({"share": 1.5}, "parts.entry 2.share: is 1.5; write 1 or less"),
        ({"share": float("nan")}, "parts.entry 2.share: is nan; write a finite number"),
        ({"path": "x"}, 'parts.entry 2.path: is "x"; write what ^/ matches'),
        ({"path": ""}, "parts.entry 2.path: is empty; write something"),
        ({"two": [1]}, "parts.entry 2.two.entry 2: is missing; add it"),
        ({"two": [1, 2, 3]}, "parts.entry 2.two: has 3; write 2 at most"),
        ({"any_of": []}, "parts.entry 2.any_of: is a list; write a number, or text in quotes"),
        ({"name": "x", "many": 0}, "parts.x.many: is 0; write a number above 0"),
        ({"nam": "x"}, "parts.entry 2.nam: unknown key; "),
    ],
)
def test_each_finding_is_reported_with_its_place_and_a_remedy(part: dict[str, Any], line: str) -> None:
    assert _said(**part) == line


@pytest.mark.parametrize("document", [3, [], {"parts": 3}])
def test_a_document_of_another_kind_is_named(document: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate(document)
    found = parsing.first_fault(caught.value, document)
    assert found.message in ("is 3", "is a list") and found.key in ("", "parts") and found.remedy


def test_without_the_document_entries_are_named_by_number() -> None:
    assert parsing.key_of(("claims", 0, "pairs", 2, "of"), None) == "claims.entry 1.pairs.entry 3.of"
