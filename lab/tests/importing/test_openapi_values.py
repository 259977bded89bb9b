"""Values for the schemas of OpenAPI documents satisfy them, or their request is left out and named."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from crumple.errors import UsageError
from crumple.importing import openapi_document
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator
from made_openapi import asked, described, imported, left_out, sending

OBJECT = "object"
A = {"type": OBJECT, "properties": {"a": {"type": "integer"}}, "required": ["a"]}
B = {"type": OBJECT, "properties": {"b": {"type": "string"}}, "required": ["b"]}
# A schema, and what is sent for it. All versions read it alike.
ALIKE: list[tuple[dict[str, Any], Any]] = [
    ({"allOf": [{"type": "string", "enum": ["new", "paid"]}]}, "new"),
    ({"allOf": [{"type": "string"}], "description": "d"}, "text"),
    ({"allOf": [{"type": "array", "items": {"type": "integer"}}]}, [1]),
    ({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 3}]}, 3),
    ({"allOf": [A, B]}, {"a": 1, "b": "text"}),
    ({"allOf": [{"type": OBJECT, "properties": {"a": {"minLength": 6}}},
                {"properties": {"a": {"type": "string"}}}]}, {"a": "textxx"}),
    ({"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, "b"),
    ({"type": OBJECT, "properties": {"s": {"allOf": [{"enum": [4, 5]}], "default": 5}}}, {"s": 5}),
    ({"enum": [2, 1]}, 2),
    ({"type": "string", "enum": ["x"], "example": "y"}, "x"),
    ({"type": "integer", "minimum": 7}, 7),
    ({"type": "integer", "maximum": -3}, -3),
    ({"type": "integer", "minimum": 2, "multipleOf": 5}, 5),
    ({"type": "number", "minimum": 0.1, "maximum": 0.2}, 0.1),
    ({"type": "number", "multipleOf": 0.01, "minimum": 0.05, "maximum": 0.07}, 0.05),
    ({"type": "string", "minLength": 6, "maxLength": 6}, "textxx"),
    ({"type": "string", "maxLength": 2}, "te"),
    ({"type": "string", "maxLength": 0}, ""),
    ({"type": "string", "pattern": "^[A-Z]{2}\\d{3}$"}, "AA000"),
    ({"type": "string", "pattern": "^(GET|PUT)$"}, "GET"),
    ({"type": "string", "pattern": "^\\+?[1-9]\\d{1,14}$"}, "10"),
    ({"type": "string", "pattern": "^[a-z]*$", "minLength": 5}, "aaaaa"),
    ({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d).{6,}$"}, "A0aaaa"),
    ({"type": "string", "format": "date"}, "2026-01-01"),
    ({"type": "string", "format": "email", "maxLength": 8}, "a@b.org"),
    ({"type": "string", "format": "uuid", "example": "an id"}, "00000000-0000-4000-8000-000000000000"),
    ({"type": "string", "format": "date-time", "example": "yesterday"}, "2026-01-01T00:00:00Z"),
    ({"type": "string", "example": 5}, "5"),
    ({"type": "integer", "example": "5"}, 5),
    ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["text", "text"]),
    ({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}, ["text", "text2"]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 0, 2]),
    ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True}, ["a", "b"]),
    ({"type": "array", "items": {"type": "string"}, "maxItems": 0}, []),
    ({"type": OBJECT, "minProperties": 2, "additionalProperties": {"type": "integer"}},
     {"name1": 1, "name2": 1}),
    ({"type": OBJECT, "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "maxProperties": 1,
      "required": ["b"]}, {"b": 1}),
    ({"type": OBJECT, "required": ["x"], "additionalProperties": {"type": "boolean"}}, {"x": True}),
    ({"oneOf": [A, B]}, {"a": 1}),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}, 0.5),
    ({"anyOf": [{"type": "string", "enum": []}, B]}, {"b": "text"}),
    ({"type": OBJECT, "properties": A["properties"], "anyOf": [{"required": ["z"]}, {"required": ["a"]}]},
     {"a": 1, "z": "text"}),
    ({**A, "properties": {**A["properties"], "x": {"type": "string"}}, "not": {"required": ["x"]}}, {"a": 1}),
    ({"type": "string", "not": {"enum": ["text"]}}, "text2"),
    # What is no schema says nothing.
    ({"type": OBJECT, "properties": {"a": {"type": "string", "required": True, "minLength": "x"}}},
     {"a": "text"}),
]  # fmt: skip


@pytest.mark.parametrize("version", ["2.0", "3.0.3", "3.1.0"])
@pytest.mark.parametrize(("schema", "value"), ALIKE)
def test_what_is_sent_satisfies_its_schema(schema: Any, value: Any, version: str, tmp_path: Path) -> None:
    _, _, headers, body = asked(sending(schema, version), tmp_path)
    assert json.loads(body) == value and headers == {"Content-Type": "application/json"}
    if "required" not in str(schema.get("properties")):
        (Draft202012Validator if version == "3.1.0" else Draft4Validator)(schema).validate(json.loads(body))


@pytest.mark.parametrize(
    ("version", "schema", "value"),
    [
        ("3.0.3", {"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2),
        ("3.0.3", {"type": "number", "maximum": 0, "exclusiveMaximum": True}, -1),
        ("3.1.0", {"type": "integer", "exclusiveMinimum": 1}, 2),
        ("3.1.0", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ("3.1.0", {"const": {"x": 1}}, {"x": 1}),
        ("3.1.0", {"type": ["null", "integer"]}, 1),
        ("3.1.0", {"type": "null"}, None),
        ("3.1.0", {"type": ["string", "null"], "examples": ["a"]}, "a"),
        ("3.1.0", {"anyOf": [{"type": "null"}, {"type": "string", "format": "ipv4"}]}, None),
        ("3.1.0", {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, ["text", 1]),
        ("3.1.0", {"type": "array", "prefixItems": [{"const": 1}], "items": False}, [1]),
        ("3.1.0", {"type": "array", "contains": {"const": 5}}, [5]),
        (
            "3.1.0",
            {"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 7}, "minItems": 2},
            [7, 1],
        ),
        ("3.1.0", {"$ref": "#/components/schemas/s", "minLength": 6}, "textxx"),
        ("3.0.3", {"$ref": "#/components/schemas/s", "minLength": 6}, "text"),
        (
            "3.1.0",
            {"type": "object", "properties": {"a": {"const": 1}},
             "patternProperties": {"^x-": {"type": "integer"}},
             "additionalProperties": False, "minProperties": 2},
            {"a": 1, "x-": 1},
        ),
        (
            "3.1.0",
            {"allOf": [A], "properties": {"c": {"type": "boolean"}}, "unevaluatedProperties": False},
            {"c": True, "a": 1},
        ),
        (
            "3.1.0",
            {**A, "properties": {**A["properties"], "b": {"const": 2}},
             "if": {"required": ["b"]}, "then": {"required": ["c"]}},
            {"a": 1},
        ),
        ("3.0.3", {"type": "string", "nullable": True, "enum": [None, "a"]}, "a"),
        ("3.0.3", {"type": "string", "nullable": True, "example": None}, "text"),
    ],
)  # fmt: skip
def test_each_version_has_its_dialect(version: str, schema: Any, value: Any, tmp_path: Path) -> None:
    assert json.loads(asked(sending(schema, version, s={"type": "string"}), tmp_path)[3]) == value


@pytest.mark.parametrize("form", [
    "date", "date-time", "time", "duration", "uuid", "email", "uri", "uri-reference", "hostname", "ipv4",
    "ipv6", "byte", "binary", "password", "int64", "decimal", "unheard-of",
])  # fmt: skip
def test_each_format_has_a_text_of_its_own(form: str, tmp_path: Path) -> None:
    schema = {"type": "string", "format": form}
    value = json.loads(asked(sending(schema, "3.1.0"), tmp_path)[3])
    checker = Draft202012Validator.FORMAT_CHECKER
    Draft202012Validator(schema, format_checker=checker).validate(value)
    assert form in ("binary", "password", "unheard-of") or value != "text"


def test_what_only_answers_have_is_not_sent(tmp_path: Path) -> None:
    schema = {
        "type": "object", "required": ["id", "a"],
        "properties": {
            "id": {"type": "integer", "readOnly": True}, "a": {"type": "string", "writeOnly": True},
        },
    }  # fmt: skip
    assert json.loads(asked(sending(schema), tmp_path)[3]) == {"a": "text"}
    # Required elsewhere, it must be there for the schema to be satisfied.
    apart = {"allOf": [{"properties": schema["properties"]}, {"required": ["id"]}]}
    assert json.loads(asked(sending(apart), tmp_path)[3]) == {"id": 1}
    besides = {
        "type": "object",
        "required": ["x"],
        "additionalProperties": {"type": "integer", "readOnly": True},
    }
    assert json.loads(asked(sending(besides), tmp_path)[3]) == {"x": 1}
    # In 3.1 it is required like any other.
    assert json.loads(asked(sending(schema, "3.1.0"), tmp_path)[3]) == {"id": 1, "a": "text"}
    drf = {"properties": {"id": {"allOf": [{"type": "integer"}], "readOnly": True}, "a": {"type": "integer"}}}
    assert json.loads(asked(sending(drf), tmp_path)[3]) == {"a": 1}


def test_a_schema_that_leads_back_to_itself_ends(tmp_path: Path) -> None:
    node = {
        "type": "object", "required": ["name", "children"],
        "properties": {
            "name": {"type": "string"},
            "next": {"$ref": "#/components/schemas/Node"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        },
    }  # fmt: skip
    document = sending({"$ref": "#/components/schemas/Node"}, Node=node)
    assert json.loads(asked(document, tmp_path)[3]) == {"name": "text", "children": []}
    endless = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"$ref": "#/components/schemas/Node"}},
    }
    said = left_out(sending({"$ref": "#/components/schemas/Node"}, Node=endless), tmp_path)
    assert "for which no value was found that satisfies the schema, first POST /a (a: it leads back" in said
    around = {"allOf": [{"$ref": "#/components/schemas/Node"}]}
    said = left_out(sending({"$ref": "#/components/schemas/Node"}, Node=around), tmp_path)
    assert "for which no value was found that satisfies the schema" in said


PETS = {
    "Cat": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
    "Dog": {"type": "object", "required": ["kind", "bark"],
            "properties": {"kind": {"type": "string"}, "bark": {"type": "boolean"}}},
}  # fmt: skip
PET = [{"$ref": f"#/components/schemas/{name}"} for name in PETS]


@pytest.mark.parametrize(
    ("discriminator", "kind"),
    [
        ({"propertyName": "kind"}, "Cat"),
        ({"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}}, "cat"),
        ({"propertyName": "kind", "mapping": {"cat": "Cat"}}, "cat"),
    ],
)
def test_the_property_that_names_a_branch_names_the_one_that_is_sent(
    discriminator: Any, kind: str, tmp_path: Path
) -> None:
    schema = {"oneOf": PET, "discriminator": discriminator}
    # A cat's table is a dog's as well but for what a dog needs.
    assert json.loads(asked(sending(schema, **PETS), tmp_path)[3]) == {"kind": kind}


def test_a_base_names_the_kind_that_is_sent(tmp_path: Path) -> None:
    base = {
        "type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}},
        "discriminator": {"propertyName": "kind", "mapping": {"dog": "#/components/schemas/Dog"}},
    }  # fmt: skip
    dog = {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"bark": {"type": "boolean"}}}]}
    for name in ("Pet", "Dog"):
        document = sending({"$ref": f"#/components/schemas/{name}"}, Pet=base, Dog=dog)
        assert json.loads(asked(document, tmp_path)[3]) == {"kind": "dog", "bark": True}
    old = {**base, "discriminator": "kind"}
    document = sending({"$ref": "#/definitions/Pet"}, "2.0", Pet=old)
    assert json.loads(asked(document, tmp_path)[3]) == {"kind": "Pet"}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string", "pattern": "^a$", "minLength": 3}, "no value was found"),
        ({"type": "string", "pattern": "^\\p{L}$"}, "no value was found"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no value was found"),
        ({"type": "integer", "format": "int32", "minimum": 2**31}, "no value was found"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "no value was found"),
        ({"not": {}}, "no value was found"),
        ({"type": "date"}, "with a schema of a type that JSON has not, first POST /a (date)"),
        ({"$ref": "other.json#/a"}, "with a $ref to another document (other.json)"),
        (
            {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": True},
            "no value was found",
        ),
    ],
)
def test_what_cannot_be_satisfied_is_left_out_with_the_reason(schema: Any, why: str, tmp_path: Path) -> None:
    assert why in left_out(sending(schema), tmp_path)


def test_an_optional_property_that_cannot_be_made_is_not_sent(tmp_path: Path) -> None:
    properties = {"a": {"type": "integer"}, "b": {"type": "string", "pattern": "^\\p{L}$"}}
    assert json.loads(asked(sending({"type": "object", "properties": properties}), tmp_path)[3]) == {"a": 1}


@pytest.mark.parametrize("level", ["media", "examples", "schema"])
def test_an_example_that_does_not_satisfy_its_schema_is_not_sent_and_named(
    level: str, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}}
    wrong = {"n": 1}
    said = {
        "media": {"example": wrong},
        "examples": {"examples": {"one": {"value": wrong}}},
        "schema": {"schema": {**schema, "example": wrong}},
    }[level]
    document = described({"requestBody": {"content": {"application/json": {"schema": schema, **said}}}})
    assert json.loads(asked(document, tmp_path)[3]) == {"n": 5}
    why = "POST /a: n: 1 is less than the minimum of 5"
    line = f"1 example does not satisfy its schema and is not sent, first {why}"
    assert line in imported(document, tmp_path).said


@pytest.mark.parametrize(
    ("media", "sent"),
    [
        ({"example": {"n": 6}}, {"n": 6}),
        ({"examples": {"wrong": {"value": 1}, "right": {"value": {"n": 7}}}}, {"n": 7}),
        ({"examples": {"led": {"$ref": "#/components/examples/E"}}}, {"n": 8}),
        ({"example": {"$ref": "#/components/examples/E"}}, {"n": 8}),
        ({"example": '{"n": 9}'}, {"n": 9}),
        ({"examples": {"away": {"externalValue": "http://example.org/e.json"}}}, {"n": 5}),
    ],
)
def test_an_example_is_sent_as_it_is_given(media: Any, sent: Any, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}}
    content = {"application/json": {"schema": schema, **media}}
    document = described(
        {"requestBody": {"content": content}}, components={"examples": {"E": {"value": {"n": 8}}}}
    )
    found = imported(document, tmp_path)
    (request,) = [each.request for each in found.chosen.kinds if each.request.path == "/a"]
    assert json.loads(str(request.body)) == sent
    assert bool(request.made_up) is (sent == {"n": 5})


def test_what_is_made_up_is_known_of_each_request(tmp_path: Path) -> None:
    given = {"type": "object", "properties": {"a": {"type": "integer", "example": 3}, "b": {"enum": ["x"]}}}
    for schema, is_made_up in (
        (given, False),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, True),
    ):
        kinds = imported(sending(schema), tmp_path).chosen.kinds
        (request,) = [each.request for each in kinds if each.request.path == "/a"]
        assert bool(request.made_up) is is_made_up


@pytest.mark.parametrize("pattern", ["^(?!b)(a+)+$", "^(?!b)(a|aa)*$", "(?!b)(.*)(.*)(.*)(.*)x"])
def test_a_pattern_that_takes_too_long_is_left_out(pattern: str, tmp_path: Path) -> None:
    schema = {"type": "string", "pattern": pattern, "example": "a" * 900 + "!"}
    assert "with a pattern that cannot be checked" in left_out(sending(schema), tmp_path)


@pytest.mark.parametrize("pattern", ["[", "^(a+)+$"])
@pytest.mark.parametrize(
    "place", [lambda one: one, lambda one: {"allOf": [{"$ref": "#/components/schemas/P"}]}]
)
def test_patterns_beside_unevaluated_properties_are_bounded_too(
    pattern: str, place: Any, tmp_path: Path
) -> None:
    by_pattern = {"patternProperties": {pattern: {}}}
    schema = {**place(by_pattern), "unevaluatedProperties": False, "example": {"a" * 60 + "!": 1}}
    said = left_out(sending(schema, "3.1.0", P=by_pattern), tmp_path)
    assert "with a pattern that cannot be checked" in said
    odd = {"type": "object", "patternProperties": "[", "unevaluatedProperties": False, "required": ["x"]}
    assert "with a schema that cannot be read" in left_out(
        sending({**odd, "const": {"x": 1}}, "3.1.0"), tmp_path
    )


@pytest.mark.long
def test_a_schema_that_multiplies_without_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openapi_document, "STEPS_MAX", 1_000_000)
    schemas: dict[str, Any] = {
        f"s{at}": {"allOf": [{"not": {"$ref": f"#/components/schemas/s{at + 1}"}} for _ in range(4)]}
        for at in range(40)
    }
    schemas["s40"] = {"type": "integer"}
    with pytest.raises(UsageError, match="takes more than 1,000,000 steps to read; split it by paths"):
        imported(sending({"$ref": "#/components/schemas/s0"}, **schemas), tmp_path)


def schemas() -> st.SearchStrategy[Any]:
    """Schemas of 3.1 with keywords that go together, and some that contradict each other."""
    few, small = st.integers(0, 4), st.integers(-5, 5)
    number = st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": small, "maximum": small, "exclusiveMinimum": small,
            "multipleOf": st.sampled_from([1, 2, 0.5]),
        },
    )  # fmt: skip
    text = st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": few, "maxLength": st.integers(2, 30),
            "enum": st.lists(st.sampled_from("abc"), min_size=1),
            "format": st.sampled_from(["date", "uuid", "email", "date-time", "uri"]),
            "pattern": st.sampled_from(["^[a-z]+$", "\\d{2,}", "^(a|bc)*$", "^x?[^x]{3}$"]),
        },
    )  # fmt: skip
    example = st.sampled_from([{"example": 1}, {"default": "a"}, {"examples": [2, "b"]}, {"const": 3}, {}])

    def further(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        named = st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
        table = st.fixed_dictionaries(
            {"type": st.just("object"), "properties": named},
            optional={
                "required": st.lists(st.sampled_from("abcde"), max_size=2),
                "minProperties": few, "maxProperties": few,
                "additionalProperties": st.booleans() | inner, "not": st.just({"required": ["a"]}),
            },
        )  # fmt: skip
        array = st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": few, "maxItems": few, "uniqueItems": st.booleans(), "contains": inner},
        )
        several = st.lists(inner, min_size=1, max_size=3)
        joined = st.sampled_from(["allOf", "anyOf", "oneOf"]).flatmap(
            lambda key: several.map(lambda of: {key: of})
        )
        return table | array | joined | st.tuples(joined, inner).map(lambda both: {**both[0], **both[1]})

    leaves = st.tuples(number | text | st.just({"type": ["boolean", "null"]}), example)
    return st.recursive(leaves.map(lambda both: {**both[0], **both[1]}), further, max_leaves=6)


@pytest.mark.long
def test_whatever_the_schema_what_is_sent_satisfies_it() -> None:
    made = [0, 0]

    @settings(derandomize=True, max_examples=300, database=None, deadline=None)
    @given(schemas())
    def tried(schema: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            kinds = imported(sending(schema, "3.1.0"), Path(folder)).chosen.kinds
        bodies = [str(each.request.body) for each in kinds if each.request.path == "/a"]
        made[len(bodies)] += 1
        for body in bodies:
            checker = Draft202012Validator.FORMAT_CHECKER
            Draft202012Validator(schema, format_checker=checker).validate(json.loads(body))

    tried()
    # What is left out contradicts itself, as most of these schemas do not.
    assert made[1] > made[0]


@pytest.mark.parametrize(
    ("version", "schema", "said"),
    [
        ("3.0.3", {"type": "integer", "minimum": "1e3"}, 'minimum: "1e3"'),
        ("3.0.3", {"type": "string", "pattern": None}, "pattern: null"),
        ("3.0.3", {"type": "string", "nullable": "true"}, 'nullable: "true"'),
        ("3.0.3", {"type": "array", "items": [{}]}, "items: a list or a table"),
        ("3.1.0", {"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "exclusiveMinimum: true"),
        ("2.0", {"type": "string", "required": True}, "required: true"),
    ],
)
def test_a_keyword_of_the_wrong_type_is_ignored_and_said(
    version: str, schema: dict[str, Any], said: str, tmp_path: Path
) -> None:
    line = f"1 keyword of schemas has a value of the wrong type and is ignored, first POST /a: {said}"
    assert line in imported(sending(schema, version), tmp_path).said


def test_flags_that_a_dialect_has_are_heeded_and_not_said(tmp_path: Path) -> None:
    one = {
        "in": "formData",
        "name": "n",
        "type": "integer",
        "required": True,
        "exclusiveMinimum": True,
        "minimum": 4,
    }
    for document in (
        sending({"type": "integer", "minimum": 4, "exclusiveMinimum": True}),
        described({"parameters": [one]}, version="2.0"),
    ):
        assert asked(document, tmp_path)[3].endswith("5")
        assert "keyword" not in "".join(imported(document, tmp_path).said)
