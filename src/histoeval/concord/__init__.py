"""What two reports agree and disagree on, part by part, with evidence for each.

| module | what it holds |
|---|---|
| scope | where a text states something, where it only advises or leaves a gap to fill in |
| spelt | a text as it is read: slips put right, abbreviations written out |
| together | two readings, each in the light of the other |
| overlooked | what the reader has left, or taken for something else, put right by the catalogues |
| conclusion | which of the diagnoses that are named a report makes, and which of them lead |
| stated, stains | what the words of a text say by themselves; markers with their results |
| facts | all that a report says, in terms that can be compared |
| evidence | what was matched, and what is wrong, of which kind and how badly |
| diagnosis, site, values, markers, findings | facts of two in; numbers from 0 to 1, evidence out |
| further, denials | diagnoses besides the leading one; those that a report denies |
| unread | numbers and degrees that changed, though nobody took them for anything |
| pairing | which value of one report goes with which of the other |
| parts | all of them together |
| combine | from the parts to the experts' scale, with weights that were fitted |
| rubric | from the same to the four criteria of the rubric |
"""
