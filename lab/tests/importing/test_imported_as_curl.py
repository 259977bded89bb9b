"""What is sent for a request that was imported is what curl sends for it: line, headers and body."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import real_engine
from command_line import Call, caller
from crumple.importing import conversion
from recorder import Asked, recording

pytestmark = [pytest.mark.starts, pytest.mark.parallel]
# What each of them says of itself.
BESIDE = {"user-agent", "accept"}
FORM = "application/x-www-form-urlencoded"
JSON = {"mimeType": "application/json", "text": '{"a": "é",\n "b": [1]}'}
FIELDS = {"mimeType": FORM, "params": [{"name": "field%5B1%5D", "value": "a%20b"}]}
PARTS = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'


def har(method: str, url: str, headers: dict[str, str] | None = None, **more: Any) -> str:
    pairs = [{"name": name, "value": said} for name, said in (headers or {}).items()]
    asked = {"method": method, "url": url, "headers": pairs, **more}
    return json.dumps({"log": {"entries": [{"request": asked, "response": {"status": 200}}]}})


def postman(**asked: Any) -> str:
    return json.dumps({"info": {"name": "n"}, "item": [{"name": "n", "request": asked}]})


# What is imported, in which URL stands for http://127.0.0.1:PORT, and what curl is asked for the same.
CASES = {
    "har get": (
        har("GET", "URL/a%20b/ü?q=[1]&r=x y", {"X-A": "1", "Accept-Language": "de"}),
        ["-g", "-H", "X-A: 1", "-H", "Accept-Language: de", "URL/a%20b/%C3%BC?q=[1]&r=x%20y"],
    ),
    "har json": (
        har("POST", "URL/o", {"Content-Type": "application/json"}, postData=JSON),
        ["-H", "Content-Type: application/json", "--data-binary", JSON["text"], "URL/o"],
    ),
    "har form": (
        har("POST", "URL/f", {"Content-Length": "18", "Content-Type": FORM}, postData=FIELDS),
        ["-d", "field%5B1%5D=a%20b", "URL/f"],
    ),
    "har empty put": (
        har("PUT", "URL/p", {"Content-Length": "0"}),
        ["-X", "PUT", "-H", "Content-Length: 0", "URL/p"],
    ),
    "har host": (
        har("GET", "URL/h", {"Host": "shop.example.org"}),
        ["-H", "Host: shop.example.org", "URL/h"],
    ),
    "har multipart": (
        har(
            "POST",
            "URL/m",
            {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(len(PARTS))},
            postData={"mimeType": "multipart/form-data; boundary=x", "text": PARTS},
        ),
        ["-H", "Content-Type: multipart/form-data; boundary=x", "--data-binary", PARTS, "URL/m"],
    ),
    "log": (
        '127.0.0.1:PORT 10.0.0.1 - - [now] "GET /a?b=%7B1%7D&c=\\x22 HTTP/1.1" 200 5\n',
        ["URL/a?b=%7B1%7D&c=%22"],
    ),
    "urls": ("URL/a;b?c=d#e\n", ["URL/a;b?c=d#e"]),
    "target": (
        "PATCH URL/t\nHost: shop.example.org\nUser-Agent: me\nX-A: 1\n@BODY\n",
        [
            "-X",
            "PATCH",
            "-H",
            "Host: shop.example.org",
            "-H",
            "X-A: 1",
            "-H",
            "Content-Type:",
            "--data-binary",
            "@BODY",
            "URL/t",
        ],
    ),
    "postman form": (
        postman(
            method="POST",
            url="URL/f",
            body={"mode": "urlencoded", "urlencoded": [{"key": "a b", "value": "1&ü"}]},
        ),
        ["-d", "a%20b=1%26%C3%BC", "URL/f"],
    ),
    "postman json": (
        postman(
            method="PUT",
            url="URL/j",
            header=[{"key": "X-A", "value": "1"}],
            body={"mode": "raw", "raw": '{"a": 1}', "options": {"raw": {"language": "json"}}},
        ),
        ["-X", "PUT", "-H", "X-A: 1", "-H", "Content-Type: application/json", "-d", '{"a": 1}', "URL/j"],
    ),
}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    real_engine.used(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "BODY").write_bytes(b"a\nb\n")
    return caller(monkeypatch, capsys)


def shown(asked: Asked) -> tuple[Any, ...]:
    names = {name.lower(): value for name, value in asked.headers if name.lower() not in BESIDE}
    return asked.method, asked.path, names, asked.body


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("text", "words"), CASES.values(), ids=CASES)
def test_it_is_what_curl_sends(text: str, words: list[str], call: Call, tmp_path: Path) -> None:
    with recording() as server:
        root = server.url("")
        (tmp_path / "given").write_text(text.replace("URL", root).replace("PORT", str(server.port)))
        found = conversion.convert(tmp_path / "given", None, None, 100)
        (tmp_path / "made.toml").write_text(found.toml("made.toml"))
        assert call("load", root, "--request-file", "made.toml", "-n", "1", "-c", "1", "--no-watch")[0] in (
            0,
            3,
        )
        ours = server.requests[0]
        before = len(server.requests)
        typed = [word.replace("URL", root) for word in words]
        subprocess.run(["curl", "-sS", "-o", "/dev/null", *typed], check=True, timeout=30)
        assert shown(ours) == shown(server.requests[before])
