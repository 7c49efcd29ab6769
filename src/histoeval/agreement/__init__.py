"""How well a metric follows experts and known edits, with statistics that fit the data."""
