"""A page of Markdown in which a benchmark writes its tables between two marks, so that its prose stays."""

from collections.abc import Iterable
from pathlib import Path


def write(path: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of this name; a page without them gets both at its end."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text() if path.exists() else ""
    if begin not in page:
        page += f"{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
