"""The files that a spec names travel in it."""

import base64
from pathlib import Path

import documents
import pytest
from crumple.contract import BodyPartSpec, ClientCertificateSpec, TlsSpec, TrialSpec
from crumple.errors import EngineFailed
from crumple.load_host import carried_files


def _spec(folder: Path) -> TrialSpec:
    """A spec that names seven files in a folder."""

    def at(name: str) -> str:
        file = folder / name
        file.write_text(f"what is in {name}", encoding="utf-8")
        return str(file)

    varying = documents.request(2, path=f"/{{line:{at('paths')}}}").model_copy(
        update={
            "varies": True,
            "headers": (("X-User", f"{{line:{at('users')}}}"),),
            "body_parts": (BodyPartSpec(text=f"a={{line:{at('values')}}}"), BodyPartSpec(file=at("part"))),
        }
    )
    with_file = documents.request(2).model_copy(update={"body_file": at("body")})
    # Its braces are braces.
    plain = documents.request(2, path="/{line:no-such-file}")
    client = ClientCertificateSpec(cert_file=at("cert"), key_file=at("key"))
    tls = TlsSpec(server_name="shop", ca_file=at("ca"), client=client)
    spec = documents.spec()
    return spec.model_copy(
        update={
            "requests": (varying, with_file, plain, with_file),
            "target": spec.target.model_copy(update={"tls": tls}),
        }
    )


def test_each_file_travels_once(tmp_path: Path) -> None:
    carried = carried_files.carrying(_spec(tmp_path)).files
    found = {Path(each.name).name: base64.b64decode(each.base64).decode() for each in carried}
    names = {"paths", "users", "values", "part", "body", "cert", "key", "ca"}
    assert found == {name: f"what is in {name}" for name in names} and len(carried) == len(names)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    spec = _spec(tmp_path)
    (tmp_path / "key").unlink()
    with pytest.raises(EngineFailed, match=r"cannot read .*/key: No such file or directory; put it back"):
        carried_files.carrying(spec)
