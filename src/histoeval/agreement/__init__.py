"""How well metrics follow people: what they make of reports that were edited in known ways."""
