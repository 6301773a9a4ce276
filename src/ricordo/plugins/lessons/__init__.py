"""Lessons: what sessions seem to teach, proposed as memories; and what had been settled in a session that goes on."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Proposes what sessions teach as memories, and tells a session that goes on what it had settled.",
    needs=("sessions",),
    on={"transcripts_read": "capture:propose", "session_goes_on": "resumed:told_again"},
)
