"""Two reports compared specimen by specimen.

| module | what it holds |
|---|---|
| matching | which part of one report is which of the other, and what each report says of it |
| content | what a report says of one specimen, as far as it tells that from the others |
| moved_findings | specimens in one report only, swapped ones, and findings of another one |
| statements | clauses that stand with another specimen, by their words |
| compare | the facts of each pair of specimens, what is common to all, and one comparison of them |
"""
