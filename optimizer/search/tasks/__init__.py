"""The tasks of the search, one a file. Stacks are drawn with the top, which runs next, on the left."""
