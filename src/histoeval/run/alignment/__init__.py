"""A judge beside experts, and what brings it closer to them."""
