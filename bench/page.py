"""Results as tables: in a terminal, and on a page of Markdown between two marks, so that its prose stays."""

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
    """Headings of columns that a terminal aligns by their last digit."""
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
    """What matters most stands first on a page, and last in a terminal."""
    for name, value in machine.items():
        console.print(f"{name}: {value}", highlight=False)
    for table in reversed(tables):
        console.print(table.shown())


def write(path: Path, name: str, machine: Mapping[str, str], *tables: Table) -> None:
    """Replace what stands between the marks of this name; a page without them gets both at its end."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text() if path.exists() else ""
    if begin not in page:
        page += f"{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    facts = "".join(f"- {fact}: {value}\n" for fact, value in machine.items())
    text = "\n".join([facts, *(table.markdown() for table in tables)])
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")
