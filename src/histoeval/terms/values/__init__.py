"""Clinical values: grades, stages, sizes, counts, sides, markers and results."""
