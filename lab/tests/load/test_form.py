"""Fields of a form: the parts of the body, as Python's parser of MIME reads them, and what is refused."""

import email.policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import cast

import pytest
from crumple.errors import UsageError
from crumple.load import form
from hypothesis import given
from hypothesis import strategies as st


def parsed(made: form.Form) -> list[EmailMessage]:
    """The fields, as a parser of MIME reads the body."""
    body = b"".join(
        part.text.encode() if part.text is not None else Path(part.file or "").read_bytes()
        for part in made.parts
    )
    head = f"MIME-Version: 1.0\r\nContent-Type: {made.content_type}\r\n\r\n".encode()
    whole = BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    assert whole.get_content_type() == "multipart/form-data" and not whole.defects
    return [cast(EmailMessage, each) for each in whole.iter_parts()]


def field(typed: str) -> tuple[str | None, str | None, str | None, bytes]:
    """Name, file name, type and value of a form's only field."""
    (only,) = parsed(form.form([typed]))
    named = only["Content-Disposition"].params
    kind = only.get_content_type() if "Content-Type" in only else None
    return named.get("name"), named.get("filename"), kind, cast(bytes, only.get_payload(decode=True))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("name=value", ("name", None, None, b"value")),
        ("a=", ("a", None, None, b"")),
        ("a=b=c", ("a", None, None, b"b=c")),
        ("a=b;type=text/csv", ("a", None, "text/csv", b"b")),
        ("a=b;filename=x.csv;type=text/csv", ("a", "x.csv", "text/csv", b"b")),
        ('a="b;c=\\"d\\""', ("a", None, None, b'b;c="d"')),
        ('a="b";type=text/csv', ("a", None, "text/csv", b"b")),
        ("a={seq}", ("a", None, None, b"{seq}")),
    ],
)
def test_a_field_is_written_as_in_curl(
    typed: str, read: tuple[str | None, str | None, str | None, bytes]
) -> None:
    assert field(typed) == read


def test_a_field_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x00\xff\r\n--x")
    (tmp_path / "b;c").write_bytes(b"x")
    file = tmp_path / "a.png"
    assert field(f"f=@{file}") == ("f", "a.png", "image/png", b"\x00\xff\r\n--x")
    assert field(f"f=<{file}") == ("f", None, "image/png", b"\x00\xff\r\n--x")
    assert field(f"f=@{file};type=a/b;filename=other") == ("f", "other", "a/b", b"\x00\xff\r\n--x")
    assert field(f'f=@"{tmp_path}/b;c"') == ("f", "b;c", "application/octet-stream", b"x")
    assert field(f'f=@{file};filename="x;y.HTML"') == ("f", "x;y.HTML", "text/html", b"\x00\xff\r\n--x")


def test_what_has_a_file_name_has_the_type_that_it_says(tmp_path: Path) -> None:
    assert field("a=b;filename=c.jpg") == ("a", "c.jpg", "image/jpeg", b"b")
    assert field("a=b;filename=c.d") == ("a", "c.d", None, b"b")
    (tmp_path / "a.html").write_text("x")
    (tmp_path / "a.txt").write_text("x")
    assert field(f"f=<{tmp_path}/a.html")[2] == "text/html"
    assert field(f"f=<{tmp_path}/a.txt")[2] is None and field(f"f=@{tmp_path}/a.txt")[2] == "text/plain"


@pytest.mark.parametrize(
    ("typed", "disposition"),
    [
        ("multipart/form-data", "form-data"),
        ("Multipart/Form-Data; charset=utf-8", "form-data"),
        ("multipart/form-data-x", "attachment"),
        ("application/json", "attachment"),
    ],
)
def test_the_text_that_separates_fields_is_added_to_a_type_that_was_typed(
    typed: str, disposition: str
) -> None:
    made = form.form(["a=b"], typed)
    kind, _, separator = made.content_type.partition("; boundary=")
    head = (made.parts[0].text or "").split("\r\n")
    assert (kind, head[0]) == (typed, f"--{separator}")
    assert head[1] == f'Content-Disposition: {disposition}; name="a"'


def test_a_type_may_have_a_parameter() -> None:
    (only,) = parsed(form.form(["a=b;type=text/html; charset=iso-8859-1"]))
    assert (only.get_content_type(), only.get_content_charset()) == ("text/html", "iso-8859-1")
    as_typed = form.form(["a=b;type=x/y;c=d ; e=f;filename=g"]).parts[0].text or ""
    assert 'filename="g"\r\nContent-Type: x/y;c=d ; e=f\r\n' in as_typed


def test_fields_stand_in_their_order_and_the_same_fields_make_the_same_body() -> None:
    made = form.form(["a=1", "b=2", "a=3"])
    named = [(each["Content-Disposition"].params["name"], each.get_payload()) for each in parsed(made)]
    assert named == [("a", "1"), ("b", "2"), ("a", "3")]
    assert form.form(["a=1", "b=2", "a=3"]) == made != form.form(["a=1", "b=2", "a=4"])


def test_a_name_cannot_end_the_head_it_stands_in() -> None:
    head = form.form(['a"\r\nX: y=b;filename=c"d']).parts[0].text or ""
    assert 'name="a%22%0D%0AX: y"; filename="c%22d"\r\n\r\n' in head


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_value_can_be_a_literal(value: str) -> None:
    assert form.form([form.literal("a", value)]).parts[1].text == value


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("value", "-F value: that is no field; write -F name=value, or -F name=@FILE"),
        ("=x", "-F =x: that is no field"),
        ("a=b;c", '-F a=b;c: ";c" is neither ;type=… nor ;filename=…; put a value with a semicolon into'),
        ("a=b;headers=X: y", '";headers=X: y" is neither'),
        ('a="b"c', '-F a="b"c: more follows the closing quote'),
        ('a=b;filename="c"d', '-F a=b;filename="c"d: more follows the closing quote'),
        ("a=@", "-F a=@: that names no file"),
        ("a=@-", "-F a=@-: that names no file"),
        ("a=@/no/such", "-F a=@/no/such: cannot read /no/such: No such file or directory; check the path"),
        ("a=<\0", "cannot read"),
    ],
)
def test_what_cannot_be_sent_is_refused(typed: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        form.form([typed])
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_every_wrong_field_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        form.form(["a", "b=1", "c"])
    assert len(str(caught.value).splitlines()) == 2
