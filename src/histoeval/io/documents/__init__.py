"""Reports as documents: plain text, Word, PDF, and the messages of hospital systems."""
