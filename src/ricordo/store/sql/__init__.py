"""The statements that both databases understand, and what they need of a database."""
