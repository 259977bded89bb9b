"""A format is known by the structure of the document or of its lines, wherever in the file that shows."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from crumple.errors import FileInvalid
from crumple.importing import conversion, guess, source
from crumple.importing.other_files import OTHER_FILES

HAR = {"log": {"version": "1.2", "entries": [{"request": {"method": "GET", "url": "http://a/b"}}]}}
OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "t"},
    "paths": {"/b": {"get": {}}},
    "servers": [{"url": "http://a"}],
}
SWAGGER = {"swagger": "2.0", "host": "a", "paths": {"/b": {"get": {}}}}
POSTMAN = {"info": {"name": "t"}, "item": [{"name": "b", "request": {"method": "GET", "url": "http://a/b"}}]}
TARGET = {"method": "GET", "url": "http://a/b"}
RECORD = {"method": "GET", "uri": "/b", "host": "a", "status": 200}
LONG = {f"S{number}": {"description": "padding " * 20} for number in range(1_000)}


def kind_of(text: str | bytes, folder: Path) -> str:
    file = folder / "given"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with source.open_file(file, lambda _: None) as found:
        kind = guess.format_of(found, None, file).name
        # All of the file is there to be read, whatever was read ahead.
        assert found.whole().read() == file.read_bytes().removeprefix(b"\xef\xbb\xbf")
    return kind


def read(text: str, folder: Path) -> str:
    """The format; the request that each of these holds is read by it."""
    found = conversion.convert(folder / "given", None, None, 100)
    assert [(each.request.method, each.request.path) for each in found.chosen.kinds] == [("GET", "/b")]
    return text


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (HAR, "har"),
        (OPENAPI, "openapi"),
        (SWAGGER, "openapi"),
        (POSTMAN, "postman"),
        ({"collection": POSTMAN}, "postman"),
        (TARGET, "vegeta-json"),
        # Keys of other formats, deeper down or before.
        ({"comment": "openapi: swagger", **HAR}, "har"),
        ({"log": {"pages": [{"openapi": 1, "swagger": 2}], **HAR["log"]}}, "har"),
        ({"components": {"schemas": {"log": {"entries": []}, **LONG}}, **OPENAPI}, "openapi"),
        ({"definitions": LONG, **SWAGGER}, "openapi"),
        ({"x-log": {"entries": 1}, **OPENAPI}, "openapi"),
        ({"event": [{"log": {"entries": 1}, "openapi": "3"}], **POSTMAN}, "postman"),
        ({"variable": [{"key": "openapi", "value": "x" * 70_000}], **POSTMAN}, "postman"),
    ],
)
def test_a_document_is_known_by_the_keys_at_its_top(
    document: dict[str, Any], kind: str, indent: int | None, end: str, tmp_path: Path
) -> None:
    if indent and kind == "vegeta-json":
        pytest.skip("a target is one line")
    assert kind_of(f"\ufeff{json.dumps(document, indent=indent)}{end}", tmp_path) == kind
    read(kind, tmp_path)


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (OPENAPI, "openapi"),
        (SWAGGER, "openapi"),
        ({"components": {"schemas": LONG}, **OPENAPI}, "openapi"),
        ({"definitions": {"log": {"entries": "http://a"}, **LONG}, **SWAGGER}, "openapi"),
    ],
)
@pytest.mark.parametrize("before", ["", "---\n", "# a comment: none\n\n%YAML 1.2\n---\n"])
def test_yaml_is_known_by_the_keys_at_its_top(
    document: dict[str, Any], kind: str, before: str, tmp_path: Path
) -> None:
    assert kind_of(before + yaml.safe_dump(document, sort_keys=True), tmp_path) == kind
    read(kind, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '"openapi": 3.0.0\ninfo: {title: |\n  openapi}\n',
        "  swagger: '2.0'\n  paths: {}\n",
        "info:\n- a\n- b\n'openapi': 3.1.0\n",
        "{openapi: 3.0.0, paths: {}}",
    ],
)
def test_yaml_may_be_written_in_other_ways(text: str, tmp_path: Path) -> None:
    assert kind_of(text, tmp_path) == "openapi"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("http://a/b\n", "urls"),
        ("# mine\n\n/b\n", "urls"),
        (":8080/b\n", "urls"),
        ("localhost:8080\n", "urls"),
        ("[::1]:80/b\n", "urls"),
        ("shop.example.org/b\n", "urls"),
        ("GET http://a/b\n", "vegeta"),
        ("GET http://:8080/b\n", "vegeta"),
        ("### first\nGET http://a/b\nX-A: 1\n@body.json\n", "vegeta"),
        (f"{json.dumps(TARGET)}\n{json.dumps(TARGET)}\n", "vegeta-json"),
        (f"{json.dumps(RECORD)}\n{json.dumps(RECORD)}\n", "access-log"),
        (f'{{"level": "info"}}\n{json.dumps(RECORD)}\n', "access-log"),
        (f"[{json.dumps(RECORD)}]", "access-log"),
        ('{"log": "GET /b HTTP/1.1", "method": "GET", "path": "/b"}', "access-log"),
    ],
)
def test_lines_are_known_by_their_form(text: str, kind: str, tmp_path: Path) -> None:
    assert kind_of(text, tmp_path) == kind


FILES = {
    "a script of k6": "import http from 'k6/http';\nexport default function () { http.get('http://a/b'); }\n",
    "a script of Locust": "from locust import HttpUser, task\n\nclass U(HttpUser):\n    pass\n",
    "a simulation of Gatling": "package a\nimport io.gatling.core.Predef._\n",
    "a test plan of JMeter": '<?xml version="1.0"?>\n<jmeterTestPlan version="1.2"><x path="/a"/>',
    "a session of Tsung": '<?xml version="1.0"?>\n<!DOCTYPE tsung SYSTEM "x">\n<tsung loglevel="notice">',
    "a project of SoapUI": '<?xml version="1.0"?>\n<con:soapui-project name="a">',
    "a script of wrk": 'wrk.method = "POST"\nwrk.body = "a=1"\n',
    "a hurl file": "GET http://a/b\nHTTP 200\n[Asserts]\nstatus == 200\n",
    "an .http file": "### list\nGET https://a/b HTTP/1.1\nAccept: */*\n\n###\nPOST http://a/b\n\n{}\n",
    "a list of siege with methods, bodies or variables": "http://a/b\nhttp://a/c POST x=1&y=2\n",
    "commands of curl": "curl -X POST http://a/b -d '{}'\n",
    "a session of mitmproxy": "5423:9:websocket;0:~8:response;",
    "a script of Artillery": "config:\n  target: http://a\n  phases: []\nscenarios:\n  - flow: []\n",
    "a configuration of Taurus": "execution:\n- concurrency: 1\nscenarios:\n  a: {requests: [http://a]}\n",
    "a plan of drill": "base: http://a\nplan:\n  - name: b\n",
    "a collection of Postman, version 1": '{"id": "1", "name": "a", "order": [], "requests": [{"a": 1}]}',
    "an environment of Postman": '{"name": "a", "values": [], "_postman_variable_scope": "environment"}',
    "an export of Insomnia": '{"_type": "export", "__export_format": 4, "resources": []}',
    "an export of Hoppscotch": '{"v": 2, "name": "a", "folders": [], "requests": []}',
    "a collection of Thunder Client": '{"client": "Thunder Client", "collectionName": "a", "requests": []}',
    "a Bruno file": "meta {\n  name: a\n}\nget {\n  url: http://a\n}\n",
    "a session of Charles": '[{"status": "COMPLETE", "method": "A", "protocolVersion": "1", "scheme": "a"}]',
    "a trace of Chrome": '{"traceEvents": []}',
    "a NetLog of Chrome": '{"constants": {}, "events": []}',
    "a document of Swagger 1": '{"swaggerVersion": "1.2", "apis": []}',
    "a document of AsyncAPI": "asyncapi: 2.6.0\ninfo: {title: a}\n",
    "a document of RAML": "#%RAML 1.0\ntitle: a\n",
    "an API Blueprint": "FORMAT: 1A\n# Shop\n",
    "a WSDL or WADL": '<wsdl:definitions xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/">',
    "a manifest of Kubernetes": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
    "a file of docker compose": "version: '3'\nservices:\n  web: {image: nginx}\n",
    "a summary of k6": '{"root_group": {}, "metrics": {}}',
    "an HTML page": "<!DOCTYPE html>\n<html></html>",
    "XML": '<?xml version="1.0"?>\n<a/>',
}


@pytest.mark.parametrize(("name", "text"), FILES.items(), ids=FILES)
def test_a_file_of_another_program_is_named_with_what_to_do(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(FileInvalid) as refused:
        kind_of(text, tmp_path)
    remedy = next(each.remedy for each in OTHER_FILES if each.name == name)
    assert str(refused.value) == f"{tmp_path / 'given'}: is {name}, which import does not read; {remedy}"


def test_each_kind_of_file_has_an_example() -> None:
    assert [each.name for each in OTHER_FILES] == list(FILES)


@pytest.mark.parametrize(
    "text",
    [
        "GET https://a/{{id}}\n",
        "@host = a\nGET http://{{host}}/b\n",
        "GET https://a/b HTTP/1.1\nAccept: */*\n",
        "POST {{url}}/b\nContent-Type: application/json\n\n{}\n",
        "# @name b\n###\n// note\nGET http://a/b HTTP/2\n",
    ],
)
def test_an_http_file_is_none_of_targets(text: str, tmp_path: Path) -> None:
    with pytest.raises(FileInvalid, match=r"is an \.http file, which import does not read"):
        kind_of(text, tmp_path)


@pytest.mark.parametrize(
    "magic", [b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh9", b"\xfd7zXZ\x00", b"\xd4\xc3\xb2\xa1"]
)
def test_a_binary_file_is_named_with_what_to_do(magic: bytes, tmp_path: Path) -> None:
    with pytest.raises(FileInvalid, match=r"is (a zip|compressed by \w+|a capture of packets).*; \w+"):
        kind_of(magic + b"rest", tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"a": 1, "b": {"log": {"entries": []}}}',
            'recognised (JSON with "a", "b"); say what it is: --from har,',
        ),
        ('{"openap', "recognised; say what it is: --from har, openapi, postman,"),
        ("Note: this is prose\nand no key\nopenapi: 3\n", "recognised; say"),
        ("hello world\n", "recognised; say"),
        ("[" * 1_000, "recognised; say"),
    ],
)
def test_what_is_nothing_is_said_to_be_nothing(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FileInvalid) as refused:
        kind_of(text, tmp_path)
    assert f"has no format that is {said}" in str(refused.value)


def test_only_what_decides_is_read_ahead(tmp_path: Path) -> None:
    file, told = tmp_path / "a.har", list[int]()
    entries = [HAR["log"]["entries"][0]] * 40_000
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    with source.open_file(file, told.append) as found:
        assert guess.format_of(found, None, file).name == "har"
    assert sum(told) < 1 << 20 < file.stat().st_size


def test_what_is_read_ahead_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(source, "AHEAD_BYTES", 100_000)
    told = list[int]()
    (tmp_path / "a").write_text(json.dumps({"a": list(range(100_000)), **OPENAPI}))
    with source.open_file(tmp_path / "a", told.append) as found:
        with pytest.raises(FileInvalid, match="has no format"):
            guess.format_of(found, None, tmp_path / "a")
        assert len(found.ahead().read()) == 100_000
    assert sum(told) < 400_000
