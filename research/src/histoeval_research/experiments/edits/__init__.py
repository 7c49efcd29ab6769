"""Controlled edits of a report: contradictions, hallucinations, paraphrases, wrong details."""
