"""Content of one report, in terms that can be compared.

| module | what it holds |
|---|---|
| normalise | typos corrected, abbreviations expanded, with the way back to the original |
| scope | where a text states or denies something, only advises, or leaves a gap to fill in |
| lexical | what the catalogues find without a reader; entities that the reader missed or mistyped |
| diagnoses | which of the named diagnoses a report makes, and which of them lead |
| markers | markers with their results |
| facts | all of it for one report |
"""
