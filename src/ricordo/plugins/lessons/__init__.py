"""Lessons: what sessions seem to teach, proposed to the user as memories."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Proposes what sessions teach as memories.",
    needs=("sessions",),
    on={"transcripts_read": "capture:propose"},
)
