"""Upkeep: memories that contradict or repeat each other, cite what has changed, or are out of date."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Notices contradictions and what became of what memories cite, and suggests what to tidy.",
    findings={
        "secrets": "texts that hold what looks like a secret",
        "expired": "items that held until a date which is past",
        "gone": "memories that cite a file which is gone",
        "contradictions": "memories of which one contradicts the other",
        "duplicates": "memories that say the same",
        "changed": "memories that cite a file which was changed or moved since",
        "unused": "memories that nobody found, opened or changed for a year",
    },
    on={
        "texts_changed": "findings:link_contradicted",
        "imported": "findings:link_imported",
        "metadata_of_text": "citations:metadata_of_text",
        "metadata_of_file": "citations:metadata_of_file",
        "answer_cites": "citations:with_citations",
        "cited_by": "citations:cited_by",
        "cited_texts": "citations:cited_texts",
        "findings": "findings:findings",
        "accept_finding": "findings:accept",
        "refuse_finding": "findings:refuse",
    },
)
