"""How a report is divided into its specimens, and where prose speaks of which of them."""

import random

from histoeval.facts.specimens.clauses import clauses_about, prose_specimens
from histoeval.facts.specimens.divide import specimens_of_text
from histoeval.facts.specimens.places import Gazetteer, place_of
from histoeval.facts.specimens.text import meeting, only, outside, superseded
from histoeval.report import Entity, EntityType, Relation, Report
from histoeval.terms.values.laterality import Side
from tests.support.tables import from_table


@from_table
def test_parts_are_found_by_labels_and_by_headings(text: str) -> None:
    parts = specimens_of_text(text)
    said = ["".join(text[a:b] for a, b in part.spans).lower() for part in parts]
    assert len(parts) >= 2
    assert "seminoma" in said[0]
    assert "seminoma" not in said[1]
    assert "atrophy" in said[1]
    assert "atrophy" not in said[0]
    assert "testis" in parts[0].heading.lower()


@from_table
def test_a_list_of_findings_is_no_list_of_specimens(text: str) -> None:
    assert specimens_of_text(text) == ()


def test_text_after_the_parts_is_common_unless_it_refers_to_one() -> None:
    text = (
        "A. Left lung, lobectomy: adenocarcinoma.\nB. Node, station 7: no tumour.\n"
        "ALK positive in part A. pT2 pN0."
    )
    parts = specimens_of_text(text)
    first = [text[a:b] for a, b in parts[0].spans]
    assert first[-1].startswith("ALK positive")
    assert not any(part.has(text.index("pT2")) for part in parts)


def test_microscopy_that_refers_to_a_part_belongs_to_it() -> None:
    text = (
        "DIAGNOSIS\nA. Left ear: see below.\nB. Right ear: see below.\n"
        "MICROSCOPIC\nPart A shows basal cell carcinoma.\nPart B shows a naevus."
    )
    one, other = specimens_of_text(text)
    assert one.has(text.index("basal"))
    assert not one.has(text.index("naevus"))
    assert other.has(text.index("naevus"))


def test_a_frozen_section_is_superseded_by_the_final_diagnosis() -> None:
    text = "A. Margin: FS - atypical glands. Final - carcinoma."
    assert [text[a:b] for a, b in superseded(text)] == ["FS - atypical glands"]
    assert superseded("Frozen: atypical glands.") == ()
    (start, end), *_ = superseded("Original report: margins free. AMENDED: margin involved.")
    assert (start, end) == (0, 29)


def test_the_rest_of_a_report_is_blank_and_keeps_its_place() -> None:
    text = "1. 38 cm: cancer.\n2. Left: cyst."

    def entity(words: str, type_: EntityType) -> Entity:
        start = text.index(words)
        return Entity(text=words, start=start, end=start + len(words), type=type_)

    report = Report(
        text=text,
        entities=(
            entity("1. 38 cm", EntityType.MEASUREMENT),
            entity("cancer", EntityType.DIAGNOSIS),
            entity("cyst", EntityType.DIAGNOSIS),
        ),
        relations=(Relation(head=1, tail=0),),
    )
    seen = only(report, [(3, 18)])
    assert len(seen.text) == len(text)
    assert seen.text.split() == ["38", "cm:", "cancer."]
    assert [each.text for each in seen.entities] == ["38 cm", "cancer"]
    assert all(seen.text[e.start : e.end] == e.text for e in seen.entities)
    assert seen.relations == (Relation(head=1, tail=0),)
    assert outside([(3, 5), (4, 8)], 10) == ((0, 3), (8, 10))


def test_a_place_is_read_with_its_numbers() -> None:
    assert place_of("liver, segment IVb").numbers == place_of("segment 4b of the liver").numbers
    assert place_of("breast, 10:00").numbers == place_of("breast at 10 o'clock").numbers
    assert place_of("left neck, level II").side == Side.LEFT


def test_clauses_of_prose_are_about_the_parts_that_they_name() -> None:
    parts = specimens_of_text(
        "A. Rectum, biopsy: x.\nB. Liver, segment VII: x.\nC. Liver, segment III: x.\n"
        "D. Left ovary: x.\nE. Right ovary: x."
    )
    text = (
        "Rectal mucosa is dysplastic, with ulcers. Segment 7 holds a metastasis; segment 3 does "
        "not. On the left the ovary is enlarged, whereas the right ovary is normal."
    )
    about = {
        text[each.start : each.end].strip(" ,;."): "".join(parts[i].label for i in each.about)
        for each in clauses_about(text, Gazetteer.of(parts))
    }
    assert about["Rectal mucosa is dysplastic"] == about["with ulcers"] == "A"
    assert about["Segment 7 holds a metastasis"] == "B"
    assert about["segment 3 does not"] == "C"
    assert about["whereas the right ovary is normal"] == "E"


@from_table
def test_parts_are_found_in_every_layout(text: str) -> None:
    assert len(specimens_of_text(text)) == 2


def test_a_heading_ends_where_the_sentence_begins() -> None:
    text = "A: the left tonsil is inflamed. B: the right tonsil contains carcinoma."
    assert [part.heading for part in specimens_of_text(text)] == [
        "the left tonsil",
        "the right tonsil",
    ]


def test_the_lines_of_a_checklist_belong_to_the_specimen_above() -> None:
    text = (
        "Right kidney, nephrectomy: tumour\nType: clear cell carcinoma\nSize: 4 cm\n"
        "Left kidney, biopsy: oncocytoma\nStage: pT1a"
    )
    first, second = specimens_of_text(text)
    assert first.has(text.index("clear cell"))
    assert first.has(text.index("4 cm"))
    assert not second.has(text.index("pT1a"))


LUNGS = "A. Left lung: adenocarcinoma.\nB. Right lung: carcinoid.\nC. Node: reactive.\n"


@from_table
def test_a_sentence_belongs_to_all_parts_that_it_refers_to(
    sentence: str, words: str, labels: str
) -> None:
    text = LUNGS + sentence
    place = text.index(words)
    assert "".join(part.label for part in specimens_of_text(text) if part.has(place)) == labels


def test_numbers_of_parts_are_no_findings() -> None:
    text = "1. Left lung: adenocarcinoma.\n2. Node: reactive.\nGram stain of 2: cocci."
    parts = specimens_of_text(text)
    at = text.index("2: cocci")
    assert parts[1].has(text.index("cocci"))
    assert not any(part.has(at) for part in parts)
    assert (at, at + 1) in parts[1].labels


def test_a_heading_gives_its_label_in_brackets() -> None:
    text = "Left ovary (specimen B): cyst.\nRight ovary (A, biopsy): normal."
    assert [part.tag for part in specimens_of_text(text)] == ["B", "A"]


def test_headings_may_stand_in_a_list_above() -> None:
    text = (
        "SPECIMENS: 1 right tube (salpingectomy); 2 endometrium (curettings)\nDIAGNOSES:\n"
        "1 - Ectopic pregnancy\n2 - Decidua without villi"
    )
    first, second = specimens_of_text(text)
    assert first.heading.startswith("right tube")
    assert second.has(text.index("Decidua"))


def test_a_side_by_itself_is_of_what_follows() -> None:
    parts = specimens_of_text("A. Right nasal cavity: papilloma.\nB. Left maxillary sinus: mucin.")
    text = (
        "Right side. The nasal cavity has a papilloma.\nLeft side. The maxillary sinus has mucin."
    )
    about = [(text[c.start : c.end], c.about) for c in clauses_about(text, Gazetteer.of(parts))]
    assert not any("side" in said for said, _ in about)
    assert [places for _, places in about] == [frozenset({0}), frozenset({1})]


def test_numbered_places_head_the_lines_of_specimens() -> None:
    text = "Lymph node, station 7: negative.\nLymph node, station 8: metastasis."
    assert [part.heading for part in specimens_of_text(text)] == [
        "Lymph node, station 7",
        "Lymph node, station 8",
    ]


@from_table
def test_prose_tells_of_the_places_that_its_clauses_begin_with(text: str, places: int) -> None:
    assert len(prose_specimens(text)) == places


def test_the_side_alone_names_a_part_that_no_other_shares_it_with() -> None:
    parts = specimens_of_text("Left kidney, biopsy: oncocytoma.\nRight kidney, biopsy: normal.")
    (clause,) = clauses_about("The left tumour is CD117 positive.", Gazetteer.of(parts))
    assert clause.clear
    assert clause.about == {0}


def test_stretches_meet_what_has_a_character_in_one_of_them() -> None:
    choose = random.Random(3)
    for _ in range(200):
        drawn = [(at, at + choose.randrange(1, 9)) for at in choose.sample(range(60), 6)]
        meets = meeting(drawn)
        for start in range(70):
            end = start + choose.randrange(1, 6)
            assert meets(start, end) == any(a < end and start < b for a, b in drawn)
    assert not meeting(())(0, 9)


def test_what_is_blank_keeps_its_line_ends_and_what_overlaps_is_there_once() -> None:
    report = Report(text="A. colon\r\nB. skin\n\nC. lung")
    assert only(report, [(13, 17), (3, 8), (3, 6)]).text == "   colon\r\n   skin\n\n       "
    assert only(report, []).text == "        \r\n       \n\n       "
