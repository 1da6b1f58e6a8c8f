"""The commands of `planscope`, one a file, each a click command named `command`.

`inputs` holds the options that several commands share; `output` sends text or rows to a file or standard output. Heavy
imports stay inside the functions, so that help and errors of the command line come at once.
"""
