"""How text becomes words, names, dates and links."""
