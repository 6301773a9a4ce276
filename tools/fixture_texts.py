"""The words in the test files that make_fixtures.py makes: invented, varied in language and layout."""

from __future__ import annotations

_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" office:version="1.3"'
)


def _document(kind: str, styles: str, body: str, title: str = "") -> str:
    meta = f"<office:meta><dc:title>{title}</dc:title></office:meta>" if title else ""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document {_ODF} '
        f'office:mimetype="application/vnd.oasis.opendocument.{kind}">{meta}'
        f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}</office:body></office:document>"
    )


_NEW_PAGE = (
    '<style:style style:name="NP" style:family="paragraph">'
    '<style:paragraph-properties fo:break-before="page"/></style:style>'
)

GLACIER_FODT = _document(
    "text",
    _NEW_PAGE,
    """<office:text>
<text:h text:outline-level="1">Measuring a small glacier</text:h>
<text:p>The stakes are drilled in September, when the snow of the year has settled on the ice.</text:p>
<text:p text:style-name="NP">On the second day fog kept the party in the hut, where Élodie repaired the theodolite
with a hairpin.</text:p>
<text:p>The tongue had withdrawn by nineteen metres.</text:p>
<text:p text:style-name="NP">Appendix: distances in metres, from the cairn to each stake.</text:p>
<table:table><table:table-column table:number-columns-repeated="2"/>
<table:table-row><table:table-cell><text:p>Stake</text:p></table:table-cell>
<table:table-cell><text:p>Distance</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>S7</text:p></table:table-cell>
<table:table-cell><text:p>412</text:p></table:table-cell></table:table-row></table:table>
</office:text>""",
    "Measuring a small glacier, field notes",
)

CHAIRS = (
    ("Report on the borrowed chairs", "", "Forty chairs were lent to the brass band in June."),
    ("Of these, thirty-seven came back.", "One was found in the canal, still dry on top."),
    ("The committee suggests to count them", "in both directions next time."),
)

BAKERIES = (
    "Πρώτη σελίδα: ο φούρνος ανοίγει πριν από την ανατολή.",
    "Druga strona: chałka wymaga sześciu pasm i odrobiny cierpliwości.",
    "Die dritte Seite: Roggenbrot ruht zwölf Stunden im Gärkörbchen.",
)

WELL_MARKDOWN = """---
title: Digging a well by hand
---

# Before you dig

Ask the neighbours how deep their water stands.[^1]

## Tools

- a short-handled spade
- buckets
    - with a spare rope

1. Mark a circle.
2. Dig inside it.

| Depth | Soil |
|-------|------|
| 1 m   | loam |
| 4 m   | blue clay with shells |

## Safety

Never go down alone; a candle shows whether the air is good.

[^1]: They will disagree by a metre or two.
"""

LOOM_FODT = _document(
    "text",
    '<style:style style:name="fr" style:family="graphic"/>',
    """<office:text>
<text:tracked-changes><text:changed-region text:id="d1"><text:deletion>
<office:change-info><dc:creator>K</dc:creator><dc:date>2024-01-01T00:00:00</dc:date></office:change-info>
<text:p>never ever</text:p></text:deletion></text:changed-region>
<text:changed-region text:id="i1"><text:insertion>
<office:change-info><dc:creator>K</dc:creator><dc:date>2024-01-01T00:00:00</dc:date></office:change-info>
</text:insertion></text:changed-region></text:tracked-changes>
<text:h text:outline-level="1">Der Webstuhl im Dachboden</text:h>
<text:p>Die Kette wird <text:change-start text:change-id="i1"/>immer paarweise <text:change-end
text:change-id="i1"/>aufgezogen<text:change text:change-id="d1"/>.</text:p>
<text:p><draw:frame draw:style-name="fr" draw:name="Kasten" text:anchor-type="paragraph"
svg:width="6cm" svg:height="2cm">
<draw:text-box><text:p>Im Kasten: das Weberschiffchen aus Birnbaum.</text:p></draw:text-box></draw:frame
>Ein Absatz mit einem Kasten.</text:p>
<text:h text:outline-level="2">Muster</text:h>
<table:table><table:table-column table:number-columns-repeated="2"/>
<table:table-row><table:table-cell><text:p>Tritt</text:p></table:table-cell>
<table:table-cell><text:p>Schaft</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>links</text:p></table:table-cell>
<table:table-cell><text:p>eins und drei</text:p></table:table-cell></table:table-row></table:table>
<text:list><text:list-item><text:p>Fischgrat</text:p></text:list-item>
<text:list-item><text:p>Köper</text:p></text:list-item></text:list>
</office:text>""",
)

KITES_MARKDOWN = """---
title: Kites in a city
author: Mei
---

# Where the wind comes from

- Between towers it turns twice.
- Over the river it is steady.

# 凧の材料

竹の骨と和紙を使います。

::: notes
Bring the red kite with the torn tail.
:::

# Lines

| Line | Holds |
|------|-------|
| silk | 8 kg  |
| flax | 11 kg |
"""


def _slide(number: int, title: str, text: str, notes: str = "") -> str:
    note = (
        f'<presentation:notes><draw:frame presentation:class="notes" svg:width="16cm" svg:height="8cm" svg:x="2cm" '
        f'svg:y="14cm"><draw:text-box><text:p>{notes}</text:p></draw:text-box></draw:frame></presentation:notes>'
    )
    return (
        f'<draw:page draw:name="p{number}"><draw:frame presentation:class="title" svg:width="20cm" svg:height="2cm" '
        f'svg:x="2cm" svg:y="1cm"><draw:text-box><text:p>{title}</text:p></draw:text-box></draw:frame>'
        f'<draw:frame svg:width="20cm" svg:height="8cm" svg:x="2cm" svg:y="4cm"><draw:text-box><text:p>{text}</text:p>'
        f"</draw:text-box></draw:frame>{note if notes else ''}</draw:page>"
    )


PUPPETS_FODP = _document(
    "presentation",
    "",
    "<office:presentation>"
    + _slide(1, "Le théâtre de marionnettes", "Une saison en sept spectacles")
    + _slide(2, "La scène", "Le rideau se ferme avec un contrepoids de sable.", "Vérifier la corde avant la première.")
    + _slide(3, "Les fils", "Neuf fils suffisent pour un roi, onze pour un ours.")
    + "</office:presentation>",
)


def _sheet(name: str, rows: list[list[str]]) -> str:
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
            if cell.replace(".", "").isdigit()
            else f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    return f'<table:table table:name="{name}">{cells}</table:table>'


FERRY_FODS = _document(
    "spreadsheet",
    "",
    "<office:spreadsheet>"
    + _sheet(
        "Fahrplan",
        [
            ["Hafen", "Abfahrt", "Bemerkung"],
            ["Norddeich", "7.5", "nur werktags"],
            ["Juist", "9.25", "bei Nebel später"],
        ],
    )
    + _sheet("Preise", [["Karte", "Euro"], ["Hin und zurück", "38"], ["Fahrrad", "14.5"]])
    + _sheet("Notizen", [["Die Fähre wartet nicht auf verspätete Züge."]])
    + "</office:spreadsheet>",
    "Fährplan der Inseln",
)

TUNING_CSV = "1,a,440\n2,d,293.66\n3,the wolf lives between g and g sharp,0\n"

ISLAND_MARKDOWN = """---
title: The island that moved
author: Noor de Vries
lang: en
---

# Departure

The island left its place on a Tuesday, before breakfast.

# At sea

For nine weeks the lighthouse keeper was the only one who knew the way.

## The storm

They tied the chapel to two oaks.

# Landfall

Nobody on the mainland had ordered an island.
"""

CLOCKS_MARKDOWN = """---
title: Zegary wieży ratuszowej
author: Hanna Kość
lang: pl
---

# Część pierwsza

Zegar spóźniał się o siedem minut od stu lat.

## Sprężyna

Nowa sprężyna przyszła w pudełku po herbacie.

# Część druga

Miasto musiało nauczyć się punktualności.
"""


def _chapter(text: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
        f"<head><title>Book</title></head><body><p>{text}</p></body></html>"
    )


LETTERS_EPUB = {
    "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>",
    "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="2.0" unique-identifier="id">'
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Letters to a miller</dc:title>'
    '<dc:identifier id="id">urn:x</dc:identifier><dc:language>en</dc:language></metadata><manifest>'
    '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    '<item id="z" href="text/a%20last.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="a" href="text/first.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine toc="ncx"><itemref idref="a"/><itemref idref="z"/></spine></package>',
    "OEBPS/toc.ncx": '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap>'
    '<navPoint id="1" playOrder="1"><navLabel><text>The first letter</text></navLabel>'
    '<content src="text/first.xhtml"/></navPoint>'
    '<navPoint id="2" playOrder="2"><navLabel><text>The last letter</text></navLabel>'
    '<content src="text/a%20last.xhtml#start"/></navPoint></navMap></ncx>',
    "OEBPS/text/a last.xhtml": _chapter("Keep the millstone; I have learned to like crumbs."),
    "OEBPS/text/first.xhtml": _chapter("Dear miller, your flour has sand in it and my teeth are few."),
}

LANTERN_HTML = """<html><body><table><tr><td><h1>Lantern walk</h1>
<p>We meet at the <b>chestnut tree</b> at five o'clock.</p>
<ul><li>Candles only, no torches</li><li>Dogs on a lead</li></ul></td></tr></table>
<style>td { color: red }</style></body></html>"""

NOTEBOOKS = {
    "rainfall.ipynb": [
        ("markdown", "# Rainfall on the terrace\n\nMeasured with a jam jar."),
        ("code", "rain = [3, 0, 12, 7]\nprint('total', sum(rain), 'mm')"),
        ("markdown", "## Doubts\n\nThe jar stood under the gutter on Thursday."),
        ("code", "max(rain)"),
    ],
    "erreurs.ipynb": [
        ("markdown", "Un carnet sans titre de premier niveau.\n\n## Étude des erreurs"),
        ("code", "for tour in range(3000):\n    print('tour de manège', tour)"),
        ("code", "1 / 0"),
    ],
    "wolle.ipynb": [
        ("code", "knäuel = {'Merino': 4, 'Alpaka': 2}\nknäuel"),
        ("markdown", "Die Wolle reicht für einen Ärmel und einen halben."),
    ],
}
