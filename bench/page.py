"""Results as tables: in a terminal, and between two marks of a Markdown page whose other text stays."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import table as rich_table
from rich.console import Console

Cells = tuple[str, ...]
MISSED = {"no", "missed"}


@dataclass(frozen=True)
class Table:
    title: str
    headings: Cells
    rows: Sequence[Cells]
    numbers: Collection[str] = ()
    """Headings of columns that a terminal aligns to the right."""
    note: str | None = None

    def shown(self) -> rich_table.Table:
        made = rich_table.Table(title=self.title, caption=self.note, title_justify="left", caption_justify="left")
        for heading in self.headings:
            made.add_column(heading, justify="right" if heading in self.numbers else "left")
        for row in self.rows:
            made.add_row(*row, style="bold red" if MISSED & set(row) else None)
        return made

    def markdown(self) -> str:
        lines = [self.headings, ("---",) * len(self.headings), *self.rows]
        text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
        return f"{text}\n{self.note}\n" if self.note else text


def show(console: Console, machine: Mapping[str, str], *tables: Table) -> None:
    """Print the tables; the most important one comes last, next to the prompt."""
    for name, value in machine.items():
        console.print(f"{name}: {value}", highlight=False)
    for table in reversed(tables):
        console.print(table.shown())


def write(path: Path, name: str, machine: Mapping[str, str], *tables: Table) -> None:
    """Replace the text between the marks of this name; append both marks to a page without them."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text() if path.exists() else ""
    if begin not in page:
        page += f"{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    facts = "".join(f"- {fact}: {value}\n" for fact, value in machine.items())
    text = "\n".join([facts, *(table.markdown() for table in tables)])
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")
