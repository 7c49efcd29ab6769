"""From text to what it says: sections, sentences, windows, and the readers."""
