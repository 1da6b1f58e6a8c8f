"""The stepper in a terminal: a trace, or a search that is running, walked through by commands as in a debugger.

`commands` carries them out and gives text, `views` makes the text, `prompt` asks for commands with history and completion.
"""
