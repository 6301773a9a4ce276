"""Reminders: memories that are told when a prompt is about something."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Tells memories when a prompt is about what they wait for.",
    findings={"reminders": "what is told when a prompt is about something"},
    on={
        "reminder_fields": "reminders:fields_of",
        "contextual": "reminders:with_reminders",
        "findings": "reminders:findings",
        "accept_finding": "reminders:accept",
        "refuse_finding": "reminders:refuse",
    },
)
