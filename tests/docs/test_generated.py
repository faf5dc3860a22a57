"""The generated parts of the documentation match the code, and the reference is complete."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

import reelstate
from reelstate.core import errors
from reelstate.core.machine import MACHINES

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")})
TABLE = re.compile(r"^CREATE TABLE (?:reelstate\.)?(\w+) \((.*?)^\)", re.DOTALL | re.MULTILINE)


def generator() -> ModuleType:
    """Load the script `docs/generate.py` without running it."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATED: dict[Path, str] = generator().generated()


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", GENERATED, ids=named)
def test_the_committed_file_is_what_the_script_writes(path: Path) -> None:
    assert path.read_text() == GENERATED[path], "run `python docs/generate.py`"


def test_every_generated_part_is_on_a_page() -> None:
    pages = "".join(text for path, text in GENERATED.items() if path.suffix == ".md")
    for name, text in generator().blocks().items():
        assert f"<!-- generated: {name} -->\n\n{text}" in pages


@pytest.mark.parametrize("entity", MACHINES)
def test_a_diagram_shows_every_state_and_transition(entity: str) -> None:
    picture = ET.fromstring((ROOT / "docs" / "images" / f"{entity}.svg").read_text())  # noqa: S314 -- our own
    space = "{http://www.w3.org/2000/svg}"
    machine = MACHINES[entity]
    assert [text.text for text in picture.iter(f"{space}text")] == list(machine.states)
    assert len(picture.findall(f"{space}path")) == len(machine.transitions)


def test_the_python_reference_names_the_whole_public_surface() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    missing = [name for name in reelstate.__all__ if f"`{name}`" not in page and f"`rs.{name}" not in page]
    found = re.findall(r"^\| `(\w+)\(", page, re.MULTILINE)
    assert len(found) > 80
    assert missing == []


def test_the_error_reference_explains_every_error() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    raised = [name for name, item in vars(errors).items() if isinstance(item, type) and issubclass(item, Exception)]
    assert [name for name in raised if f"`{name}`" not in page] == []


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_the_schema_reference_names_every_table_and_column(dialect: str) -> None:
    page = (ROOT / "docs" / "reference" / "schema.md").read_text()
    missing = []
    for file in sorted((ROOT / "src/reelstate/stores" / dialect / "migrations").glob("*.sql")):
        for table, body in TABLE.findall(file.read_text()):
            columns = re.findall(r"^    (?!CONSTRAINT|PRIMARY|UNIQUE)([a-z]\w*) +\S", body, re.MULTILINE)
            _, _, section = page.partition(f"\n### `{table.removesuffix('_next')}`")
            section = section.partition("\n### ")[0]
            missing += [f"{table}.{column}" for column in columns if f"`{column}`" not in section]
        indexes = re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", file.read_text())
        missing += [index for index in indexes if f"`{index}`" not in page]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?://)([^)#]+)(?:#[^)]*)?\)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []
