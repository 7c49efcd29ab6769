"""Agreement and disagreement of two reports, part by part, with evidence for each.

| module | what it holds |
|---|---|
| reconcile | makes the readings of two reports consistent with each other |
| diagnosis, site, grade_stage_size, markers, findings | one part each, with evidence |
| other_diagnoses | additional diagnoses besides the leading one, and those that a report denies |
| changed_numbers | numbers and severity words that differ but belong to no entity |
| compare | all parts of a comparison |
| evidence | matches and errors: their kind, how severe they are, where they are |
| specimens | reports of several parts, compared part by part |
| weights | from the parts to the experts' scale, with fitted weights |
| rubric | from the parts to the four criteria of the rubric |
"""
