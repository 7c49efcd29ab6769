"""How alike two entities are."""
