"""The page that steps through a search (`planscope trace SQL -o trace.html`).

In: the events of a trace. Out: one HTML file. Read in this order: `page.py` (puts the file together) and `layout.py` (where
groups lie); then the program of the page: `main.js`, `app.js` (position and keys), `model.js` (the state at any event, forwards
and backwards), `history.js` (what a walk through all events tells), `steps.js` (where to go from an event), `words.js` (events as
sentences) and a module for each panel: `memo.js`, `stack.js`, `event.js`, `group.js`, `timeline.js`, `rewriting.js`, `plan.js`,
`search.js`, `help.js`. `dom.js` makes elements from data; nothing else writes to the page.

The modules are plain JavaScript with types in comments: `tsc -p memo_viz/stepper/jsconfig.json` checks them. There is nothing to
build, `page.py` joins them.
"""
