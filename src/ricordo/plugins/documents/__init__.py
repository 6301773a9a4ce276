"""Documents of other programs: Word, PowerPoint, spreadsheets, PDF, EPUB, mail and notebooks."""

from ricordo.plugin import FormatReader, Plugin

PLUGIN = Plugin(
    __name__,
    "Reads Word, PowerPoint, spreadsheets, PDF, EPUB, mail and notebooks.",
    formats={
        "docx": FormatReader("office:parse_docx"),
        "pptx": FormatReader("office:parse_pptx"),
        "xlsx": FormatReader("office:parse_xlsx", needs="python_calamine"),
        "pdf": FormatReader("pdf:parse", needs="pypdfium2"),
        "epub": FormatReader("epub:parse"),
        "mail": FormatReader("mail:parse"),
        "notebook": FormatReader("notebook:parse"),
    },
)
