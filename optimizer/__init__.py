"""From SQL text to a physical plan. `pipeline` shows the way of a query on one page."""
