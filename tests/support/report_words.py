"""Reports of random words of the field."""

import random

WORDS = (
    "invasive ductal carcinoma adenocarcinoma lobular squamous benign malignant tumour of "
    "the left right breast colon kidney lung lymph nodes margins negative positive for "
    "strongly weakly diffuse grade well moderately poorly differentiated high low ER PR HER2 "
    "Ki-67 CK7 CDX2 p53 consistent with suggestive cannot exclude lymphovascular invasion "
    "necrosis metastatic in situ measures 3.5 cm pT2 N0 stage is are and no evidence seen "
    "shows section biopsy excision"
).split()


def make_report(random_source: random.Random, words: int) -> str:
    """A text of this many words in sentences, with some markup."""
    drawn = [random_source.choice(WORDS) for _ in range(words)]
    for position in range(9, words, 11):
        drawn[position] += "."
    return " ".join(drawn).replace(". shows", ".\n- shows").replace(". the", ".\n\nThe")
