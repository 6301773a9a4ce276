"""What not every user needs: one folder per plugin, each with one declaration (see ``ricordo.plugin``)."""
