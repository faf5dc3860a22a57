"""Languages of tracks: files have codes such as `ger` or `deu`, the web has `de`, viewers read German.

The table has all languages of ISO 639-1 with their ISO 639-2 codes, and some of ISO 639-3. The codes hardly ever
change, so this needs no library; an unknown language keeps its code.
"""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_TABLE: Final = """
    aa aar=Afar; ab abk=Abkhazian; ae ave=Avestan; af afr=Afrikaans; ak aka=Akan; am amh=Amharic; an arg=Aragonese;
    ar ara=Arabic; as asm=Assamese; ast=Asturian; av ava=Avaric; ay aym=Aymara; az aze=Azerbaijani; ba bak=Bashkir;
    bar=Bavarian; be bel=Belarusian; bg bul=Bulgarian; bho=Bhojpuri; bi bis=Bislama; bm bam=Bambara; bn ben=Bengali;
    bo bod tib=Tibetan; br bre=Breton; bs bos=Bosnian; ca cat=Catalan; ce che=Chechen; ceb=Cebuano; ch cha=Chamorro;
    chr=Cherokee; ckb=Central Kurdish; cmn=Mandarin Chinese; co cos=Corsican; cr cre=Cree; cs ces cze=Czech; cu
    chu=Church Slavonic; cv chv=Chuvash; cy cym wel=Welsh; da dan=Danish; de deu ger=German; dsb=Lower Sorbian; dv
    div=Divehi; dz dzo=Dzongkha; ee ewe=Ewe; el ell gre=Greek; en eng=English; eo epo=Esperanto; es spa=Spanish; et
    est=Estonian; eu eus baq=Basque; fa fas per=Persian; ff ful=Fulah; fi fin=Finnish; fil=Filipino; fj fij=Fijian;
    fo fao=Faroese; fr fra fre=French; fur=Friulian; fy fry=Frisian; ga gle=Irish; gd gla=Scottish Gaelic; gl
    glg=Galician; gn grn=Guarani; gsw=Swiss German; gu guj=Gujarati; gv glv=Manx; ha hau=Hausa; hak=Hakka Chinese;
    haw=Hawaiian; he heb=Hebrew; hi hin=Hindi; hmn=Hmong; ho hmo=Hiri Motu; hr hrv=Croatian; hsb=Upper Sorbian; ht
    hat=Haitian Creole; hu hun=Hungarian; hy hye arm=Armenian; hz her=Herero; ia ina=Interlingua; id ind=Indonesian;
    ie ile=Interlingue; ig ibo=Igbo; ii iii=Yi; ik ipk=Inupiaq; ilo=Iloko; io ido=Ido; is isl ice=Icelandic; it
    ita=Italian; iu iku=Inuktitut; ja jpn=Japanese; jv jav=Javanese; ka kat geo=Georgian; kab=Kabyle; kg kon=Kongo;
    ki kik=Kikuyu; kj kua=Kuanyama; kk kaz=Kazakh; kl kal=Greenlandic; km khm=Khmer; kn kan=Kannada; ko kor=Korean;
    kr kau=Kanuri; ks kas=Kashmiri; ku kur=Kurdish; kv kom=Komi; kw cor=Cornish; ky kir=Kyrgyz; la lat=Latin; lb
    ltz=Luxembourgish; lg lug=Ganda; li lim=Limburgan; lmo=Lombard; ln lin=Lingala; lo lao=Lao; lt lit=Lithuanian;
    lu lub=Luba-Katanga; lv lav=Latvian; mai=Maithili; mg mlg=Malagasy; mh mah=Marshallese; mi mri mao=Maori; mk mkd
    mac=Macedonian; ml mal=Malayalam; mn mon=Mongolian; mr mar=Marathi; ms msa may=Malay; mt mlt=Maltese; my mya
    bur=Burmese; na nau=Nauru; nan=Min Nan Chinese; nb nob=Norwegian Bokmål; nd nde=North Ndebele; nds=Low German;
    ne nep=Nepali; ng ndo=Ndonga; nl nld dut=Dutch; nn nno=Norwegian Nynorsk; no nor=Norwegian; nr nbl=South
    Ndebele; nv nav=Navajo; ny nya=Nyanja; oc oci=Occitan; oj oji=Ojibwa; om orm=Oromo; or ori=Odia; os
    oss=Ossetian; pa pan=Panjabi; pi pli=Pali; pl pol=Polish; ps pus=Pashto; pt por=Portuguese; qu que=Quechua; rm
    roh=Romansh; rn run=Rundi; ro ron rum=Romanian; ru rus=Russian; rw kin=Kinyarwanda; sa san=Sanskrit; sc
    srd=Sardinian; scn=Sicilian; sco=Scots; sd snd=Sindhi; se sme=Northern Sami; sg sag=Sango; sh
    hbs=Serbo-Croatian; si sin=Sinhala; sk slk slo=Slovak; sl slv=Slovenian; sm smo=Samoan; sn sna=Shona; so
    som=Somali; sq sqi alb=Albanian; sr srp=Serbian; ss ssw=Swati; st sot=Southern Sotho; su sun=Sundanese; sv
    swe=Swedish; sw swa=Swahili; ta tam=Tamil; te tel=Telugu; tg tgk=Tajik; th tha=Thai; ti tir=Tigrinya; tk
    tuk=Turkmen; tl tgl=Tagalog; tlh=Klingon; tn tsn=Tswana; to ton=Tongan; tr tur=Turkish; ts tso=Tsonga; tt
    tat=Tatar; tw twi=Twi; ty tah=Tahitian; ug uig=Uyghur; uk ukr=Ukrainian; ur urd=Urdu; uz uzb=Uzbek; ve
    ven=Venda; vec=Venetian; vi vie=Vietnamese; vo vol=Volapük; wa wln=Walloon; wo wol=Wolof; wuu=Wu Chinese; xh
    xho=Xhosa; yi yid=Yiddish; yo yor=Yoruba; yue=Yue Chinese; za zha=Zhuang; zh zho chi=Chinese; zu zul=Zulu
"""
"""The shortest code, other codes, and the English name."""
_ROWS: Final = [
    (codes.split(), name) for codes, _, name in (row.partition("=") for row in " ".join(_TABLE.split()).split("; "))
]
_SHORT: Final = {code: codes[0] for codes, _ in _ROWS for code in codes}
_NAMES: Final = {codes[0]: name for codes, name in _ROWS}
_SUBTAGS: Final = {
    "arab": "Arabic script", "cyrl": "Cyrillic", "hans": "Simplified", "hant": "Traditional", "latn": "Latin script",
    "419": "Latin America",
}  # fmt: skip
_REGION: Final = 2
"""The length of a country code."""


def language_tag(language: str) -> str:
    """Return the shortest tag of a language, "" if it is undetermined or not a tag."""
    if _TAG.fullmatch(language) is None or language.lower() == "und":
        return ""
    first, separator, rest = language.partition("-")
    return _SHORT.get(first.lower(), first) + separator + rest


def language_name(language: str) -> str:
    """Return the English name of a language with its script and region, or its tag if it is unknown."""
    tag = language_tag(language)
    first, *rest = tag.split("-")
    if first not in _NAMES:
        return tag
    details = [_SUBTAGS.get(part.lower(), part.upper() if len(part) == _REGION else part) for part in rest]
    return f"{_NAMES[first]} ({', '.join(details)})" if details else _NAMES[first]
