"""Findings that change what is done next, read from whole texts."""

from __future__ import annotations

import pytest

from histoeval.terms.decisive_findings import Standing, read_decisive


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CMV immunostain is positive in three nuclei.", "cytomegalovirus"),
        ("Cysts of Pneumocystis fill the alveoli.", "Pneumocystis"),
        ("Fibrocellular crescents in 4 of 20 glomeruli.", "crescents"),
        ("Necrotising arteritis of a small vessel.", "vasculitis"),
        ("The tumour erodes the cortex of the mandible.", "bone"),
        ("Carcinoma invades the pericardium.", "pericardium"),
        ("Pericardium attached and infiltrated.", "pericardium"),
        ("Two foci of microinvasion, 0.4 mm.", "microinvasion"),
        ("Double expressor phenotype.", "double expressor or double hit"),
    ],
)
def test_a_decisive_finding_is_affirmed(text: str, name: str) -> None:
    assert read_decisive(text)[name].standing == Standing.AFFIRMED


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("No cytomegalovirus.", "cytomegalovirus"),
        ("Vasculitis is not identified.", "vasculitis"),
        ("The pericardium is not involved by carcinoma.", "pericardium"),
        ("Seminal vesicles: uninvolved.", "seminal vesicle"),
    ],
)
def test_a_decisive_finding_is_denied(text: str, name: str) -> None:
    assert read_decisive(text)[name].standing == Standing.DENIED


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CMV and GMS stains negative.", "cytomegalovirus"),
        ("PAS (Candida): negative", "Candida"),
        ("Granulomas, necrosis and atypia are lacking.", "granulomas"),
        ("CMV immunostain was requested.", "cytomegalovirus"),
        ("The pericardium is included.", "pericardium"),
        ("Grocott stain done.", "Pneumocystis"),
    ],
)
def test_what_may_be_denied_or_is_only_named_is_not_affirmed(text: str, name: str) -> None:
    assert read_decisive(text)[name].standing != Standing.AFFIRMED


def test_a_text_is_silent_about_what_it_has_no_word_for() -> None:
    assert not read_decisive("Tubular adenoma, 6 mm.")


def test_an_affirmation_counts_more_than_a_mention() -> None:
    found = read_decisive("Crescents: see below. Cellular crescents in two glomeruli.")
    assert found["crescents"].standing == Standing.AFFIRMED
