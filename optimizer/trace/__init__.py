"""What the search did, as events: `recorder` writes them, `replay` rebuilds every state from them, `state` is that state.

Nothing but events leaves the search: pictures, steppers and reports are made from a `MemoState` that the replayer built.
"""
