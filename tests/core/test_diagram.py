"""Pictures of the machines: every state and every change is in both of them, and nothing else."""

from xml.etree import ElementTree as ET

import pytest

from reelstate.core.diagram import mermaid, svg
from reelstate.core.machine import MACHINES, Machine

SVG = "{http://www.w3.org/2000/svg}"
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))


@every_machine
def test_mermaid_has_a_line_for_every_initial_state_change_and_terminal_state(machine: Machine) -> None:
    first, *lines = mermaid(machine).splitlines()
    assert first == "stateDiagram-v2"
    changes = [
        f"    {change.origin} --> {change.target}: {', '.join(sorted(change.actors))}" for change in machine.transitions
    ]
    initial_states = [f"    [*] --> {state}" for state in machine.initial_states]
    ends = [f"    {state} --> [*]" for state in machine.terminal]
    assert sorted(lines) == sorted(initial_states + changes + ends)


@every_machine
def test_svg_has_a_box_for_every_state_and_an_arrow_for_every_change(machine: Machine) -> None:
    root = ET.fromstring(svg(machine))  # noqa: S314 - our own text
    boxes = [text.text for text in root.iter(f"{SVG}text")]
    assert boxes == list(machine.states)
    assert len(list(root.iter(f"{SVG}rect"))) == len(machine.states)
    titles = [path.findtext(f"{SVG}title") for path in root.findall(f"{SVG}path")]
    assert sorted(map(str, titles)) == sorted(
        f"{change.origin} → {change.target}: {', '.join(sorted(change.actors))}" for change in machine.transitions
    )
    assert root.findtext(f"{SVG}title") == f"The {machine.entity} machine"


@every_machine
def test_every_box_is_inside_the_picture(machine: Machine) -> None:
    root = ET.fromstring(svg(machine))  # noqa: S314 - our own text
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for box in root.iter(f"{SVG}rect"):
        x, y = float(box.attrib["x"]), float(box.attrib["y"])
        assert 0 <= x <= width - float(box.attrib["width"])
        assert 0 <= y <= height - float(box.attrib["height"])
