"""Reads transcripts of agents' sessions: files of JSON lines become events. Nothing is stored or judged here."""
