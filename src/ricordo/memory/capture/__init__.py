"""What do sessions teach? Finds sentences worth proposing in what was said and done, by rules or with a language model.

Nothing is kept here: the caller stores proposals, and the user decides on them.
"""
