"""The rules of the schema of MPEG-DASH (ISO/IEC 23009-1, DASH-MPD.xsd) for the elements that manifests here have.

No package on PyPI or npm has the schema itself, so its rules stand here: which elements and attributes each element
may have, in which order, which must be there, and what their values look like. An element that is not in the table is
refused, so whoever writes a new one into manifests adds its rules.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree as ET

UNSIGNED: Final = "[0-9]{1,10}"
DURATION: Final = r"P(?!$)([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.][0-9]+)?S)?)?"
LANGUAGE: Final = "[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*"
NO_SPACE: Final = r"\S+"
URI: Final = r"[^\s<>\"{}|\\^`]+"
RANGE: Final = "[0-9]+-[0-9]+"
RATIO: Final = "[0-9]+:[0-9]+"
RATE: Final = "[0-9]+(/[1-9][0-9]*)?"
TEXT: Final = ".+"


@dataclass(frozen=True)
class Element:
    children: tuple[str, ...] = ()
    """In the order in which they have to stand."""
    required: dict[str, str] = field(default_factory=dict)
    """Attributes that must be there, each with the pattern of its value."""
    optional: dict[str, str] = field(default_factory=dict)
    once: frozenset[str] = frozenset()
    """Children of which there is at most one."""
    text: str = ""


DESCRIPTOR: Final = Element(required={"schemeIdUri": URI}, optional={"value": TEXT})
COMMON: Final = ("AudioChannelConfiguration", "EssentialProperty", "SupplementalProperty", "Label")
SIZES: Final = {"width": UNSIGNED, "height": UNSIGNED, "sar": RATIO, "frameRate": RATE, "audioSamplingRate": UNSIGNED}
SEGMENTS: Final = {"timescale": UNSIGNED, "duration": UNSIGNED, "startNumber": UNSIGNED}
ELEMENTS: Final = {
    "MPD": Element(
        ("BaseURL", "Period"),
        {"profiles": NO_SPACE, "minBufferTime": DURATION},
        {"type": "static|dynamic", "mediaPresentationDuration": DURATION, "maxSegmentDuration": DURATION},
    ),
    "BaseURL": Element(text=URI),
    "Period": Element(("AdaptationSet",), {}, {"id": TEXT, "start": DURATION, "duration": DURATION}),
    "AdaptationSet": Element(
        (*COMMON, "Role", "BaseURL", "SegmentList", "SegmentTemplate", "Representation"),
        {},
        {
            "id": UNSIGNED,
            "lang": LANGUAGE,
            "contentType": "text|image|audio|video|application|font",
            "mimeType": "[a-z]+/[a-z0-9.+-]+",
            "segmentAlignment": f"true|false|{UNSIGNED}",
            "startWithSAP": "[0-6]",
        },
        frozenset({"SegmentList", "SegmentTemplate"}),
    ),
    "Representation": Element(
        (*COMMON, "BaseURL", "SegmentList", "SegmentTemplate"),
        {"id": NO_SPACE, "bandwidth": UNSIGNED},
        {"codecs": "[a-zA-Z0-9.,]+", **SIZES},
        frozenset({"SegmentList", "SegmentTemplate"}),
    ),
    "SegmentList": Element(("Initialization", "SegmentURL"), {}, SEGMENTS, frozenset({"Initialization"})),
    "SegmentTemplate": Element((), {}, {**SEGMENTS, "media": NO_SPACE}),
    "Initialization": Element((), {}, {"sourceURL": URI, "range": RANGE}),
    "SegmentURL": Element((), {}, {"media": URI, "mediaRange": RANGE}),
    "Label": Element(optional={"lang": LANGUAGE}, text=TEXT),
    **dict.fromkeys(("AudioChannelConfiguration", "EssentialProperty", "SupplementalProperty", "Role"), DESCRIPTOR),
}


def faults(text: str) -> list[str]:
    """What is against the schema, or against rules of the standard that a schema can't have."""
    root = ET.fromstring(text)  # noqa: S314 - written by us
    return [*_element(root, "MPD"), *_unique(root, "AdaptationSet"), *_unique(root, "Representation")]


def _unique(root: ET.Element, name: str) -> Iterator[str]:
    found = [each.get("id") for each in root.iterfind(f".//{{*}}{name}")]
    if len(set(found)) != len(found):
        yield f"two {name} have one id: {found}"


def _element(element: ET.Element, name: str) -> Iterator[str]:
    rules = ELEMENTS.get(name)
    if rules is None or element.tag != f"{{urn:mpeg:dash:schema:mpd:2011}}{name}":
        yield f"{element.tag} is not known"
        return
    yield from (f"{name}: {each} is missing" for each in rules.required.keys() - element.keys())
    for attribute, value in element.items():
        pattern = (rules.required | rules.optional).get(attribute)
        if pattern is None or re.fullmatch(pattern, value) is None:
            yield f"{name}: {attribute} is {value!r}"
    if re.fullmatch(rules.text or r"\s*", element.text or "") is None:
        yield f"{name}: holds the text {element.text!r}"
    names = [child.tag.rpartition("}")[2] for child in element]
    places = [rules.children.index(each) for each in names if each in rules.children]
    if len(places) != len(names) or places != sorted(places) or any(names.count(each) > 1 for each in rules.once):
        yield f"{name}: holds {names}, of {rules.children}"
    for child, each in zip(element, names, strict=True):
        yield from _element(child, each)
