"""What do sessions teach? Finds sentences worth proposing in what was said and done.

Nothing is kept here: the caller stores proposals, and the user decides on them.
"""
