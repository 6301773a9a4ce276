"""How an item becomes searchable: files into text, text into passages, passages into vectors."""
