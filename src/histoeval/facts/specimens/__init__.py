"""The specimens of a report, and where each of them is from.

| module | what it holds |
|---|---|
| divide | the parts that a report is written in |
| labels | parts by their letters or numbers |
| references | sentences elsewhere that refer to a part by its label |
| headings | parts without labels, by sites and procedures |
| text | a part as stretches of text |
| places | where a specimen is from, and which sentences of a report in prose are about it |
"""
