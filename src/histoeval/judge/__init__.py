"""What an expert would score a report, asked of a language model that is held to its word."""
