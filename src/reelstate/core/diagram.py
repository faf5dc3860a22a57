"""Draw a machine from its declaration: as Mermaid source for documents, as SVG for pages."""

from __future__ import annotations

from html import escape
from math import cos, hypot, pi, sin

from reelstate.core.machine import Actor, Machine, Transition

WIDTH, HEIGHT = 132, 34
PEOPLE = {Actor.USER, Actor.OPERATOR}
MANUAL = 'stroke="#c3c7d4" stroke-dasharray="4 4"'
AUTOMATIC = 'stroke="#4a5578" stroke-width="1.4"'
ARROW_HEAD = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>'
)


def mermaid(machine: Machine) -> str:
    """Return a Mermaid state diagram with the actors on every arrow."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {state}" for state in machine.initial_states]
    lines += [
        f"    {change.origin} --> {change.target}: {', '.join(sorted(change.actors))}" for change in machine.transitions
    ]
    lines += [f"    {state} --> [*]" for state in machine.terminal]
    return "\n".join(lines) + "\n"


def svg(machine: Machine) -> str:
    """Return a self-contained SVG: states on an ellipse, an arrow per transition, actors as its tooltip.

    Transitions that only people make are dashed and pale.
    """
    radius_x, radius_y = 60 + 52 * len(machine.states), 40 + 32 * len(machine.states)
    width, height = 2 * radius_x + WIDTH + 40, 2 * radius_y + HEIGHT + 40
    centres = {
        state: (
            width / 2 + radius_x * cos(2 * pi * number / len(machine.states) - pi / 2),
            height / 2 + radius_y * sin(2 * pi * number / len(machine.states) - pi / 2),
        )
        for number, state in enumerate(machine.states)
    }
    manual_first = sorted(machine.transitions, key=lambda change: not change.actors <= PEOPLE)
    arrows = [_arrow(centres[change.origin], centres[change.target], change) for change in manual_first]
    boxes = [
        _box(state, *centres[state], state in machine.initial_states, state in machine.terminal)
        for state in machine.states
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>The {escape(machine.entity)} machine</title>",
            ARROW_HEAD,
            *arrows,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], change: Transition) -> str:
    (x1, y1), (x2, y2) = start, end
    length = hypot(x2 - x1, y2 - y1)
    across_x, across_y = (y2 - y1) / length, (x1 - x2) / length
    bend_x, bend_y = (x1 + x2) / 2 + 22 * across_x, (y1 + y2) / 2 + 22 * across_y
    from_x, from_y = _edge(start, (bend_x, bend_y))
    to_x, to_y = _edge(end, (bend_x, bend_y))
    look = MANUAL if change.actors <= PEOPLE else AUTOMATIC
    label = f"{change.origin} → {change.target}: {', '.join(sorted(change.actors))}"
    return (
        f'<path d="M{from_x:.1f} {from_y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}" fill="none" '
        f'{look} marker-end="url(#tip)"><title>{escape(label)}</title></path>'
    )


def _edge(centre: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Return the point where a line from the centre of a box leaves it."""
    delta_x, delta_y = towards[0] - centre[0], towards[1] - centre[1]
    scale = min(
        (WIDTH / 2) / abs(delta_x) if delta_x else float("inf"),
        (HEIGHT / 2) / abs(delta_y) if delta_y else float("inf"),
    )
    return centre[0] + delta_x * scale, centre[1] + delta_y * scale


def _box(state: str, x: float, y: float, initial: bool, terminal: bool) -> str:
    stroke = 3 if terminal else 1.5
    fill = "#e4f2e7" if initial else "#f4f4f8"
    return (
        f'<rect x="{x - WIDTH / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{WIDTH}" height="{HEIGHT}" rx="8" '
        f'fill="{fill}" stroke="#445" stroke-width="{stroke}"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-family="sans-serif" font-size="11.5">'
        f"{escape(state)}</text>"
    )
