"""Output for people: tables in the terminal."""
