"""The JSON schema of every document that a command prints or stores, made from the classes of the documents.

docs/json_schemas.py writes them to docs/reference/schemas. A description of a field is the text below it in
its class.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from crumple.diagnose.report.diagnose_document import DiagnoseDocument
from crumple.find.report.find_document import FindDocument
from crumple.load.report.load_document import LoadDocument
from crumple.load_host.fleet_check import ReachedHost, UnreachedHost
from crumple.machine.ceiling import Cost
from crumple.model_map.map_data import MapData
from crumple.model_map.map_document import MapDocument
from crumple.results.listing import ListDocument
from crumple.results.printed_documents import (
    CompareDocument,
    ExchangeData,
    NewServer,
    PreparedRow,
    ServerRow,
    StudyFault,
    StudyRow,
    VerifiedRow,
    WorkloadRow,
)
from crumple.run.report.report_document import ReportDocument
from crumple.run.run_file import RunFile
from crumple.run.store import StoredTrial
from crumple.versus.report.versus_document import VersusDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Document:
    """A document."""

    type_: Any
    """A class, or a list of one."""
    where: str
    """What prints it, and where it is stored."""

    @property
    def model(self) -> type[BaseModel] | None:
        """The class of the whole document; None: it is a list."""
        is_class = inspect.isclass(self.type_) and issubclass(self.type_, BaseModel)
        return self.type_ if is_class else None

    @property
    def version(self) -> int | None:
        """The version that the document names; None: it names none."""
        if self.model is None or "version" not in self.model.model_fields:
            return None
        (version,) = get_args(self.model.model_fields["version"].annotation)
        return int(version)


DOCUMENTS: Mapping[str, Document] = {
    "load": Document(
        LoadDocument, "printed by `crumple load --json` and `crumple show --json`; stored as a result"
    ),
    "find": Document(
        FindDocument, "printed by `crumple find --json` and `crumple show --json`; stored as a result"
    ),
    "diagnose": Document(
        DiagnoseDocument, "printed by `crumple diagnose --json` and `crumple show --json`; stored as a result"
    ),
    "versus": Document(
        VersusDocument, "printed by `crumple versus --json` and `crumple show --json`; stored as a result"
    ),
    "report": Document(
        ReportDocument,
        "printed by `crumple run --json`, `crumple try --json` and `crumple report --format json`; of "
        "several runs they print a list of these",
    ),
    "map": Document(MapDocument, "printed by `crumple map --json`"),
    "kept-map": Document(MapData, "a kept map, such as `studies/wait-or-compute.json`"),
    "compare": Document(CompareDocument, "printed by `crumple compare --json`"),
    "list": Document(ListDocument, "printed by `crumple list --json`"),
    "run": Document(RunFile, "stored as `run.json` in the folder of a run"),
    "trial": Document(StoredTrial, "stored as `trials/….json` in the folder of a run"),
    "debug": Document(tuple[ExchangeData, ...], "printed by `crumple load --debug --json`"),
    "servers": Document(tuple[ServerRow, ...], "printed by `crumple servers --json`"),
    "workloads": Document(tuple[WorkloadRow, ...], "printed by `crumple workloads --json`"),
    "studies": Document(tuple[StudyRow | StudyFault, ...], "printed by `crumple studies --json`"),
    "costs": Document(tuple[Cost, ...], "printed by `crumple costs --json`"),
    "fleet": Document(tuple[ReachedHost | UnreachedHost, ...], "printed by `crumple fleet check --json`"),
    "verify": Document(tuple[VerifiedRow, ...], "printed by `crumple verify --json`"),
    "setup": Document(tuple[PreparedRow, ...], "printed by `crumple setup --json`"),
    "new-server": Document(NewServer, "printed by `crumple new-server --json`"),
}


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a document."""
    document = DOCUMENTS[name]
    made = TypeAdapter(document.type_).json_schema(mode="serialization", schema_generator=_Described)
    described = {"title": f"crumple {name}", "description": f"{made.pop('description', '')}".strip()}
    made.pop("title", None)
    if not described["description"]:
        del described["description"]
    return {"$schema": DIALECT, **described, "$comment": f"{document.where}.".capitalize(), **made}


def strict(made: Any) -> Any:
    """Return a schema that accepts no field that it does not name: what a test checks outputs with.

    Readers should ignore fields that they do not know, since a later version may add some.
    """
    if isinstance(made, list):
        return [strict(each) for each in made]
    if not isinstance(made, dict):
        return made
    inner = {name: strict(each) for name, each in made.items()}
    if isinstance(inner.get("properties"), dict) and inner.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


class _Described(GenerateJsonSchema):
    """Takes descriptions of fields from the text below them, and leaves out titles, which repeat names."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        return _with_descriptions(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        made = _with_descriptions(super().dataclass_schema(schema), schema["cls"])
        # A constant says which of several dataclasses a part is. It has a default, and is always written.
        constants = [name for name, part in made.get("properties", {}).items() if "const" in part]
        return made | {"required": [*made.get("required", ()), *constants]} if constants else made

    def get_title_from_name(self, name: str) -> str:
        return name


def _with_descriptions(made: JsonSchemaValue, model: type) -> JsonSchemaValue:
    described = _descriptions(model)
    for name, part in made.get("properties", {}).items():
        part.pop("title", None)
        if text := described.get(name.replace("-", "_")):
            part.setdefault("description", text)
    return made


@cache
def _descriptions(model: type) -> Mapping[str, str]:
    """Return field → the text below it, with those of the classes that the model is derived from."""
    said: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if each.__module__.startswith("crumple."):
            said |= _below(each)
    return said


def _below(model: type) -> Mapping[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    except (OSError, TypeError):
        # A class that was made from another has no text.
        return {}
    (found,) = tree.body
    assert isinstance(found, ast.ClassDef)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(found.body, found.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
