"""The specimens of a report, and where each of them is from.

| module | what it holds |
|---|---|
| divide | parts by their letters or numbers, and sentences that refer to them by their labels |
| headings | parts without labels, by sites and procedures |
| text | a part as spans of text |
| places | where a specimen is from |
| clauses | specimens of a report in prose, and the clauses that are about them |
"""
