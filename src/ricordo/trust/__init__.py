"""Whose words are these, and how are they told to an agent? ``level`` says whose they are, ``fence`` tells them."""
