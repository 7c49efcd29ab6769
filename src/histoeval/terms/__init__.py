"""Words of a report as values that can be compared.

Diagnoses, sites and sides, markers with their results, grades, stages, measurements, findings.

The word lists lie in ``data/`` as TOML; language models wrote them. Nothing here reads whole
reports; everything takes a phrase, as a reader found it, and says what it names.
"""
