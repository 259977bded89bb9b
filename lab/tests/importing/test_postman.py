"""Collections of Postman: requests, folders, variables, bodies; what is not in them is left out by kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from crumple.errors import UsageError
from crumple.importing import conversion, postman
from crumple.importing.conversion import Converted

URL = "http://shop.example.org"


def item(name: str = "a", url: Any = f"{URL}/a", /, **asked: Any) -> dict[str, Any]:
    return {"name": name, "request": {"method": "GET", "url": url, **asked}}


def of(folder: Path, *items: dict[str, Any], **collection: Any) -> Converted:
    file = folder / "shop.json"
    schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    file.write_text(json.dumps({"info": {"name": "Shop", "schema": schema}, "item": items, **collection}))
    return conversion.convert(file, "postman", None, 100)


def one(folder: Path, item: dict[str, Any], **collection: Any) -> Any:
    (found,) = of(folder, item, **collection).chosen.kinds
    return found.request


def why(folder: Path, given: dict[str, Any], **collection: Any) -> str:
    found = of(folder, item("kept"), given, **collection)
    assert [each.request.name for each in found.chosen.kinds] == ["kept"]
    return found.said[1]


def test_requests_of_folders_are_read_in_their_order(tmp_path: Path) -> None:
    raw = {"raw": f"{URL}/orders?page=1", "host": ["shop", "example", "org"], "path": ["orders"]}
    inner = {"name": "inner", "item": [item("c", f"{URL}/c", method="DELETE")]}
    found = of(
        tmp_path, item("a", raw), {"name": "folder", "item": [inner, {"name": "b", "request": f"{URL}/b"}]}
    )
    assert [(each.request.name, each.request.method, each.request.path) for each in found.chosen.kinds] == [
        ("a", "GET", "/orders?page=1"),
        ("c", "DELETE", "/c"),
        ("b", "GET", "/b"),
    ]
    assert found.said == ("shop.json (postman): 3 of 3 requests",)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ({"protocol": "http", "host": ["shop", "example", "org"], "path": ["a", "b"], "port": "80"}, "/a/b"),
        ({"host": "shop.example.org", "path": "/a", "query": [{"key": "q", "value": "1 2"}]}, "/a?q=1%202"),
        ({"raw": f"{URL}/:id/x:y?t=:id", "variable": [{"key": "id", "value": "7"}]}, "/7/x:y?t=:id"),
        ({"raw": f"{URL}/:none"}, "/:none"),
        ("shop.example.org/a", "/a"),
        ("shop.example.org?next=http://b/", "/?next=http://b/"),
    ],
)
def test_the_url_is_what_postman_makes_of_its_parts(url: Any, path: str, tmp_path: Path) -> None:
    found = one(tmp_path, item("a", url))
    assert (found.origin, found.path) == (URL, path)


def test_variables_have_the_values_of_the_collection_and_its_folders(tmp_path: Path) -> None:
    variables = [
        {"key": "base", "value": "{{scheme}}://shop.example.org"},
        {"key": "scheme", "value": "http"},
        {"key": "off", "value": "x", "disabled": True},
    ]
    folder = {"name": "f", "variable": [{"key": "id", "value": 7}], "item": [item("a", "{{base}}/{{ id }}")]}
    assert one(tmp_path, folder, variable=variables).path == "/7"
    sent = {"mode": "raw", "raw": '{"of": "{{id}}"}'}
    folder["item"] = [
        item("a", "{{base}}/", method="POST", body=sent, header=[{"key": "X-{{id}}", "value": "{{id}}"}])
    ]
    found = one(tmp_path, folder, variable=variables)
    assert (found.body, found.headers) == ('{"of": "7"}', (("X-7", "7"), ("Content-Type", "text/plain")))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            item("b", "{{base}}/b"),
            "with a variable whose value the collection does not hold; give it one there, first b ({{base}})",
        ),
        (item("b", f"{URL}/{{{{off}}}}"), "first b ({{off}})"),
        (item("b", f"{URL}/{{{{empty}}}}"), "first b ({{empty}})"),
        (item("b", f"{URL}/{{{{$guid}}}}"), "with a value that Postman makes up, first b ({{$guid}})"),
        (item("b", f"{URL}/{{{{round}}}}"), "with a variable that stands for itself"),
        (item("b", f"{URL}/{{{{bomb}}}}"), "with more than 256 KiB"),
        (
            item("b", {"raw": f"{URL}/:id", "variable": [{"key": "id", "value": ""}]}),
            "with a part of the path that has no value, first b (:id)",
        ),
        (item("b", ""), "without a URL, first b"),
        (
            item("b", f"{URL}/b", method="POST", body={"mode": "file", "file": {"src": "/a"}}),
            "with a file as its body",
        ),
        (
            item(
                "b",
                f"{URL}/b",
                method="POST",
                body={"mode": "formdata", "formdata": [{"key": "f", "type": "file"}]},
            ),
            "with a multipart body, whose files are not in it",
        ),
        (
            item(
                "b",
                f"{URL}/b",
                method="POST",
                body={"mode": "graphql", "graphql": {"query": "{a}", "variables": "{"}},
            ),
            "with variables of GraphQL that are no JSON",
        ),
        (item("b", "ws://shop.example.org/b"), "to open a WebSocket"),
    ],
)
def test_what_cannot_be_made_is_left_out_by_kind(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    variables = [
        {"key": "off", "value": "x", "disabled": True},
        {"key": "empty", "value": ""},
        {"key": "round", "value": "a{{round}}"},
        {"key": "bomb", "value": "x{{bomb}}" * 9_000},
    ]
    line = why(tmp_path, given, variable=variables)
    assert line.startswith("left out: 1 request ") and said in line


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ({"mode": "raw", "raw": "{}", "options": {"raw": {"language": "json"}}}, "application/json", "{}"),
        ({"mode": "raw", "raw": "<a/>", "options": {"raw": {"language": "xml"}}}, "application/xml", "<a/>"),
        ({"mode": "raw", "raw": "a"}, "text/plain", "a"),
        (
            {
                "mode": "urlencoded",
                "urlencoded": [{"key": "a b", "value": "1&2"}, {"key": "c", "disabled": True}],
            },
            "application/x-www-form-urlencoded",
            "a%20b=1%262",
        ),
        (
            {"mode": "graphql", "graphql": {"query": "{ a }", "variables": '{"b": 1}'}},
            "application/json",
            '{"query": "{ a }", "variables": {"b": 1}}',
        ),
        (
            {"mode": "formdata", "formdata": [{"key": "a", "value": "1", "type": "text"}]},
            "multipart/form-data; boundary=crumple-part-of-a-form",
            '--crumple-part-of-a-form\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
            "--crumple-part-of-a-form--\r\n",
        ),
    ],
)
def test_bodies_are_written_as_postman_writes_them(
    body: dict[str, Any], kind: str, text: str, tmp_path: Path
) -> None:
    found = one(tmp_path, item("a", method="POST", body=body))
    assert (found.body, dict(found.headers)) == (text, {"Content-Type": kind})


def test_the_header_that_is_typed_counts(tmp_path: Path) -> None:
    body = {"mode": "raw", "raw": "{}"}
    header = [
        {"key": "content-type", "value": "a/b"},
        {"key": "User-Agent", "value": "me"},
        {"key": "X", "value": "1", "disabled": True},
    ]
    found = one(tmp_path, item("a", method="POST", body=body, header=header))
    assert found.headers == (("content-type", "a/b"), ("User-Agent", "me"))
    assert one(tmp_path, item("a", header="A: 1\nB: 2\n")).headers == (("A", "1"), ("B", "2"))


def test_a_get_has_a_body_only_where_postman_sends_it(tmp_path: Path) -> None:
    body = {"mode": "raw", "raw": "{}"}
    assert one(tmp_path, item("a", body=body)).body is None
    asked = item("a", body=body) | {"protocolProfileBehavior": {"disableBodyPruning": True}}
    assert one(tmp_path, asked).body == "{}"
    assert one(tmp_path, item("a", method="POST", body=body | {"disabled": True})).body is None


def test_authorization_and_scripts_are_left_out_and_said(tmp_path: Path) -> None:
    bearer = {"type": "bearer", "bearer": [{"key": "token", "value": "verysecret"}]}
    script = [{"listen": "test", "script": {"exec": ["pm.test('a')"]}}]
    found = of(tmp_path, item("a"), item("b", f"{URL}/b", auth={"type": "noauth"}), auth=bearer, event=script)
    assert found.said[1:] == (
        "left out: headers that hold secrets or belong to one client: Authorization (1); add some with -H",
        "left out: scripts, which may set variables and headers; none is run",
    )
    assert "verysecret" not in found.toml("x") + found.json()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"info": {}, "item": []', "is no JSON"),
        (
            "[]",
            "is no collection of Postman: it has no info and item; export it from Postman as Collection v2.1",
        ),
        ('{"a": 1}', "is no collection of Postman"),
        ('{"info": {}, "item": 5}', "holds no request that can be repeated"),
        ('{"info": {}, "item": [' + '{"item": [' * 90_000, "is no JSON"),
    ],
)
def test_what_is_no_collection_is_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(UsageError, match=said):
        conversion.convert(tmp_path / "a", "postman", None, 100)


def test_its_size_and_the_depth_of_folders_are_bounded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep: dict[str, Any] = item("deep")
    for _ in range(postman.DEPTH_MAX + 2):
        deep = {"name": "f", "item": [deep]}
    assert "in a folder more than 50 levels deep" in why(tmp_path, deep)
    monkeypatch.setattr(postman, "BYTES_MAX", 10)
    with pytest.raises(UsageError, match=r"is longer than 0 MiB; export its folders one by one"):
        of(tmp_path, item())


def test_a_value_may_hold_values_only_so_often(tmp_path: Path) -> None:
    chain = [{"key": f"v{n}", "value": f"{{{{v{n + 1}}}}}"} for n in range(postman.ROUNDS_MAX + 1)]
    assert "stands for itself" in why(tmp_path, item("b", f"{URL}/{{{{v0}}}}"), variable=chain)
