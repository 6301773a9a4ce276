"""Transcripts of agents' sessions: files of JSON lines that become events. Nothing is stored or judged here."""
