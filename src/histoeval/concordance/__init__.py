"""The concordance metric: compares the facts of two reports, part by part."""
