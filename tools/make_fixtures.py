"""Makes the binary test files in tests/fixtures/formats with the programs that usually make such files.

Needs soffice (LibreOffice) and pandoc on the path, and the Python packages reportlab, fpdf2, openpyxl, python-docx,
python-pptx, nbformat, nbclient and ipykernel. Run it only to change a fixture; its results are kept in the repository.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

import fixture_texts as texts

FORMATS = Path(__file__).parent.parent / "tests" / "fixtures" / "formats"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for make in (pdfs, docx_files, pptx_files, xlsx_files, epubs, mails, notebooks):
            make(work)
    size = sum(path.stat().st_size for path in FORMATS.rglob("*") if path.is_file())
    print(f"{size / 1024:.0f} KB in {FORMATS}")


def target(*parts: str) -> Path:
    path = FORMATS.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def soffice(work: Path, source: str, suffix: str, kind: str, to: Path) -> None:
    made_from = work / f"{to.stem}.{suffix}"
    made_from.write_text(source, encoding="utf-8")
    command = ["soffice", "--headless", "--convert-to", kind, "--outdir", str(work), str(made_from)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.move(str(work / f"{to.stem}{to.suffix}"), to)


def pandoc(source: str, to: Path, *options: str) -> None:
    subprocess.run(["pandoc", "-f", "markdown", "-o", str(to), *options], input=source.encode(), check=True)


def pdfs(work: Path) -> None:
    soffice(work, texts.GLACIER_FODT, "fodt", "pdf", target("pdf", "glacier.pdf"))
    _reportlab_pdf(target("pdf", "chairs.pdf"))
    _fpdf_pdf(target("pdf", "bakeries.pdf"))


def _reportlab_pdf(path: Path) -> None:
    from reportlab.lib.pagesizes import A5
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A5)
    canvas.setTitle("Report on the borrowed chairs")
    for page in texts.CHAIRS:
        words = canvas.beginText(50, 520)
        for line in page:
            words.textLine(line)
        canvas.drawText(words)
        canvas.showPage()
    canvas.save()


def _fpdf_pdf(path: Path) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    # What many programs leave there: no title at all, though the property is filled.
    pdf.set_title("Microsoft Word - bakeries_final2.doc")
    pdf.add_font("DejaVu", fname="/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
    pdf.set_font("DejaVu", size=13)
    for page in texts.BAKERIES:
        pdf.add_page()
        pdf.multi_cell(0, 9, page)
    pdf.output(str(path))


def docx_files(work: Path) -> None:
    pandoc(texts.WELL_MARKDOWN, target("docx", "well.docx"))
    soffice(work, texts.LOOM_FODT, "fodt", "docx:Office Open XML Text", target("docx", "loom.docx"))
    _python_docx(target("docx", "minutes.docx"))


def _python_docx(path: Path) -> None:
    import docx

    document = docx.Document()
    document.core_properties.title = "Minutes of the allotment society"
    document.add_paragraph("The society met in the tool shed because of the hail.")
    document.add_heading("Compost", level=2)
    for line in ("Nettles may be added before they flower.", "Citrus peel stays out."):
        document.add_paragraph(line, style="List Bullet")
    for line in ("Turn the heap in March.", "Sieve it in October."):
        document.add_paragraph(line, style="List Number")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Plot", "Tenant"
    for plot, tenant in (("12b", "Zofia Łuczak"), ("14", "vacant | to let")):
        row = table.add_row()
        row.cells[0].text, row.cells[1].text = plot, tenant
    document.save(str(path))


def pptx_files(work: Path) -> None:
    pandoc(texts.KITES_MARKDOWN, target("pptx", "kites.pptx"))
    soffice(work, texts.PUPPETS_FODP, "fodp", "pptx:Impress MS PowerPoint 2007 XML", target("pptx", "puppets.pptx"))
    _python_pptx(target("pptx", "observatory.pptx"))


def _python_pptx(path: Path) -> None:
    import pptx
    from pptx.util import Inches

    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[0])
    slide.shapes.title.text = "Opening the old observatory"
    slide.placeholders[1].text = "Plans for the winter"
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "The dome"
    slide.placeholders[1].text = "The shutter sticks below minus five degrees."
    slide.placeholders[1].text_frame.add_paragraph().text = "Grease it with lanolin."
    slide.notes_slide.notes_text_frame.text = "Mention the pigeons that nest behind the counterweight."
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Instruments"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(6), Inches(1)).table
    for column, words in enumerate((("Telescope", "Refractor, 18 cm"), ("Clock", "Riefler no. 204"))):
        for row, word in enumerate(words):
            table.cell(row, column).text = word
    deck.save(str(path))


def xlsx_files(work: Path) -> None:
    soffice(work, texts.FERRY_FODS, "fods", "xlsx:Calc MS Excel 2007 XML", target("xlsx", "ferry.xlsx"))
    _openpyxl(target("xlsx", "seeds.xlsx"))
    soffice(work, texts.TUNING_CSV, "csv", "xlsx:Calc MS Excel 2007 XML", target("xlsx", "tuning.xlsx"))


def _openpyxl(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.title = "Seed library"
    sheet = book.active
    sheet.title = "Beans & peas"
    sheet.append(["Variety", "Grams", "Collected", "Sown"])
    sheet.append(["Kapucijner Désirée", 120, datetime.date(2023, 8, 30), True])
    sheet.append(["Lazy Housewife", 75.5, datetime.datetime(2022, 9, 12, 0, 0), False])
    lent = book.create_sheet("Lent out")
    lent["B3"] = "Nobody returned the blue-podded packet."
    lent["C7"] = "=1+1"
    book.create_sheet("Empty")
    book.save(str(path))


def epubs(work: Path) -> None:
    pandoc(texts.ISLAND_MARKDOWN, target("epub", "island.epub"), "-t", "epub3", "--epub-chapter-level=1")
    pandoc(texts.CLOCKS_MARKDOWN, target("epub", "clocks.epub"), "-t", "epub2", "--epub-chapter-level=2")
    _plain_epub(target("epub", "letters.epub"))


def _plain_epub(path: Path) -> None:
    """A book as small publishers' programs write it: chapters without headings, named in the contents only."""
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, text in texts.LETTERS_EPUB.items():
            book.writestr(name, text, zipfile.ZIP_DEFLATED)


def mails(work: Path) -> None:
    plain = EmailMessage()
    plain["Subject"] = "Re: Schlüssel für das Bootshaus"
    plain["From"] = "Jörg Weiß <joerg@example.org>"
    plain["To"] = "crew@example.org, Anaïs <anais@example.org>"
    plain["Date"] = "Tue, 14 May 2024 18:03:11 +0200"
    plain.set_content("Der Schlüssel hängt jetzt hinter dem Barometer.\n\n> Wo ist er denn?\n")
    target("mail", "schluessel.eml").write_bytes(plain.as_bytes())

    rich = EmailMessage()
    rich["Subject"] = "Invitation to the lantern walk"
    rich["From"] = "School office <office@example.org>"
    rich["To"] = "parents@example.org"
    rich["Date"] = "Mon, 04 Nov 2024 09:00:00 +0000"
    rich.set_content(texts.LANTERN_HTML, subtype="html")
    rich.add_attachment(b"%PDF-1.4 " + b"x" * 3000, maintype="application", subtype="pdf", filename="route.pdf")
    target("mail", "lanterns.eml").write_bytes(rich.as_bytes())

    outer = EmailMessage()
    outer["Subject"] = "Fwd: the barometer"
    outer["From"] = "anais@example.org"
    outer["To"] = "archive@example.org"
    outer["Date"] = "Wed, 15 May 2024 07:30:00 +0200"
    outer.set_content("For the archive, see the message below.")
    outer.add_alternative("<p>For the archive, see the <b>message</b> below.</p>", subtype="html")
    outer.add_attachment(plain)
    target("mail", "forward.eml").write_bytes(outer.as_bytes())


def notebooks(work: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    for name, cells in texts.NOTEBOOKS.items():
        notebook = nbformat.v4.new_notebook()
        make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
        notebook.cells = [make[kind](source) for kind, source in cells]
        NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
        nbformat.write(notebook, str(target("notebook", name)))


if __name__ == "__main__":
    sys.exit(main())
