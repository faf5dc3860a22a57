"""Languages as players know them: files say `ger` or `deu`, the tags of the web `de`."""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_PAIRS: Final = (
    "afr:af alb:sq amh:am ara:ar arm:hy aze:az baq:eu bel:be ben:bn bos:bs bre:br bul:bg bur:my cat:ca chi:zh cze:cs"
    " dan:da deu:de dut:nl ell:el eng:en epo:eo est:et eus:eu fao:fo fas:fa fin:fi fra:fr fre:fr fry:fy geo:ka ger:de"
    " gla:gd gle:ga glg:gl gre:el guj:gu hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy ibo:ig ice:is ind:id isl:is ita:it"
    " jav:jv jpn:ja kan:kn kat:ka kaz:kk khm:km kir:ky kor:ko kur:ku lao:lo lat:la lav:lv lit:lt ltz:lb mac:mk mal:ml"
    " mar:mr may:ms mkd:mk mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nep:ne nld:nl nno:nn nob:nb nor:no orm:om pan:pa"
    " per:fa pol:pl por:pt pus:ps que:qu ron:ro rum:ro rus:ru sin:si slk:sk slo:sk slv:sl snd:sd som:so spa:es sqi:sq"
    " srp:sr sun:su swa:sw swe:sv tam:ta tat:tt tel:te tgk:tg tha:th tib:bo tir:ti tuk:tk tur:tr uig:ug ukr:uk urd:ur"
    " uzb:uz vie:vi wel:cy wol:wo xho:xh yid:yi yor:yo zho:zh zul:zu"
)
_SHORT: Final = dict(pair.split(":") for pair in _PAIRS.split())


def language_tag(language: str) -> str:
    """The shortest tag of a language, or nothing where it is not known or not said."""
    if _TAG.fullmatch(language) is None or language == "und":
        return ""
    first, separator, rest = language.partition("-")
    return _SHORT.get(first.lower(), first) + separator + rest
