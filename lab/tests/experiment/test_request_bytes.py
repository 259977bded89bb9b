"""A request as bytes: with its own fields, its body and its length, and one value of what varies."""

from pathlib import Path

import pytest
from crumple.contract import RequestSpec
from crumple.errors import CrumpleError
from crumple.experiment import request_bytes
from crumple.load import request
from crumple.load.typed_request import TypedRequest


def lines(written: TypedRequest) -> list[str]:
    return request_bytes.whole("a.example:80", request.make(written)).decode().split("\r\n")


def test_a_request_has_the_fields_that_were_given() -> None:
    sent = lines(TypedRequest(path="/a", headers=[("Authorization", "Bearer x")]))
    assert sent[0] == "GET /a HTTP/1.1" and sent[-2:] == ["", ""]
    assert "Host: a.example:80" in sent and "Authorization: Bearer x" in sent
    assert not any(line.startswith("Content-Length") for line in sent)


def test_a_host_that_was_given_is_the_only_one() -> None:
    sent = lines(TypedRequest(path="/", headers=[("host", "shop.example")]))
    assert [line for line in sent if line.lower().startswith("host")] == ["host: shop.example"]


def test_a_body_has_its_length(tmp_path: Path) -> None:
    assert lines(TypedRequest(path="/", method="POST", body="h\u00fc"))[-3:] == [
        "Content-Length: 3",
        "",
        "h\u00fc",
    ]
    assert "Content-Length: 0" in lines(TypedRequest(path="/", method="POST"))
    file = tmp_path / "body"
    file.write_text("from a file")
    assert lines(TypedRequest(path="/", method="PUT", body_file=str(file)))[-1] == "from a file"


def test_what_varies_has_one_value(tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("\nann\nben\n")
    path = f"/{{seq}}/{{random:7-9}}/{{line:{names}}}/%7B{{"
    assert lines(TypedRequest(path=path))[0] == "GET /1/7/ann/%7B{ HTTP/1.1"


def test_half_a_request_lacks_its_end() -> None:
    half = request_bytes.head("a.example", request.make(TypedRequest(path="/")))
    assert half.startswith(b"GET / HTTP/1.1\r\n") and b"Host: a.example\r\n" in half
    assert half.endswith(b"\r\n") and not half.endswith(b"\r\n\r\n")


def with_lines(tmp_path: Path, text: bytes) -> RequestSpec:
    """A request whose bodies are the lines of a file."""
    file = tmp_path / "bodies"
    file.write_bytes(text)
    return request.make(TypedRequest(path="/", lines_file=str(file)))


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (b"caf\xe9 {{\n", b"caf\xe9 {{"),
        (b"\n\r\n{{seq}\r\nb", b"{{seq}"),
        ("a\u2028b\x85\x0bc\rd\n".encode(), "a\u2028b\x85\x0bc\rd".encode()),
    ],
)
def test_a_line_is_sent_byte_by_byte_as_the_engine_sends_it(tmp_path: Path, text: bytes, body: bytes) -> None:
    sent = request_bytes.whole("h", with_lines(tmp_path, text))
    assert sent.endswith(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def test_a_doubled_brace_begins_no_value() -> None:
    template = request.make(TypedRequest(path="/{seq}", body="{{seq} {seq} {{{seq}"))
    assert template.body == "{{{seq} {seq} {{{{{seq}"
    assert request_bytes.whole("h", template).endswith(b"\r\n\r\n{1 1 {{1")
    literal = template.model_copy(update={"body": "{{seq} {{{{"})
    assert request_bytes.whole("h", literal).endswith(b"\r\n\r\n{seq} {{")


def test_that_a_file_is_gone_is_said(tmp_path: Path) -> None:
    gone = with_lines(tmp_path, b"a\n")
    (tmp_path / "bodies").unlink()
    with pytest.raises(CrumpleError, match=r"cannot read .*bodies.*: No such file"):
        request_bytes.whole("h", gone)
