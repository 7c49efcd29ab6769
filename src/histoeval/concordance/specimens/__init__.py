"""Two reports compared specimen by specimen.

| module | what it holds |
|---|---|
| matching | which part of one report is which of the other, and what each report says of it |
| content | what a report says of one specimen, as far as it tells that from the others |
| misnamed | specimens that only one report has, and those from another site or side |
| misplaced | specimens that changed places, and findings that stand with another one |
| statements | clauses that stand with another specimen, by their words |
| wording | errors of reading, where both say the same of a specimen |
| compare | the facts of each pair of specimens, and what is common to all |
| combine | one comparison of all of them |
"""
