"""Shows the text of an item as what it is: prose, code, a table, a mail, a notebook; and one passage of it."""
