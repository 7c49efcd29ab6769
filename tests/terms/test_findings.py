from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.findings import (
    find_findings,
    finding_closeness,
    finding_of,
    findings,
)
from histoeval.terms.matching import is_cased
from histoeval.terms.plain import plain

PHRASES = """
lymphovascular invasion = lymphovascular_invasion
Lympho-vascular space invasion is identified = lymphovascular_invasion
LVI = lymphovascular_invasion
angiolymphatic invasion present = lymphovascular_invasion
tumour emboli in dermal vessels = lymphovascular_invasion
vascular/lymphatic invasion = lymphovascular_invasion
no lymphovascular invasion = !lymphovascular_invasion
Lymphovascular invasion: not identified = !lymphovascular_invasion
negative for lymphovascular invasion = !lymphovascular_invasion
lymphovascular invasion is absent = !lymphovascular_invasion
without evidence of angiolymphatic invasion = !lymphovascular_invasion
lymphovascular invasion not assessed = lymphovascular_invasion
invasion of lymphatic vessels = lymphatic_invasion
lymphatic (small vessel) invasion = lymphatic_invasion
blood vessel invasion = vascular_invasion
venous (large vessel) invasion = venous_invasion
extramural venous invasion = extramural_venous_invasion
EMVI = extramural_venous_invasion
tumour thrombus in a large vein = tumor_thrombus
tumour thrombus in the renal vein = renal_vein_invasion
invasion of the portal vein = portal_vein_invasion
perineural invasion = perineural_invasion
perineural infiltration by tumour = perineural_invasion
extensive neurotropism = perineural_invasion
Perineural invasion: absent = !perineural_invasion
Perineural invasion: No = !perineural_invasion
lack of perineural invasion = !perineural_invasion
capsular invasion = capsular_invasion
tumour penetrates the capsule = capsular_invasion
invasion through the tumour capsule = capsular_invasion
the capsule is intact = !capsular_invasion
destructive stromal invasion = stromal_invasion
invades the surrounding stroma = stromal_invasion
focal microinvasion = microinvasion
Breslow thickness = depth_of_invasion
invades into the muscularis propria = muscularis_propria_invasion
muscularis propria is not involved = !muscularis_propria_invasion
invasion into perinephric fat = perinephric_fat_invasion
renal sinus fat invasion = renal_sinus_invasion
visceral pleura is invaded = visceral_pleural_invasion
spread through air spaces (STAS) = spread_through_air_spaces
superficial myometrial invasion = myometrial_invasion
seminal vesicle invasion = seminal_vesicle_invasion
seminal vesicles are free of tumor = !seminal_vesicle_invasion
invasion of cortical bone = bone_invasion
dermal involvement = skin_invasion
infiltration of skeletal muscle = skeletal_muscle_invasion
infiltrative growth pattern = infiltration
irregular infiltrative borders = infiltrative_border
extracapsular extension = extranodal_extension
extranodal extension of tumour = extranodal_extension
extraprostatic extension = extraprostatic_extension
no extraprostatic extension is seen = !extraprostatic_extension
confined to the prostate = !extraprostatic_extension
minimal extrathyroidal extension = extrathyroidal_extension
organ-confined = !extraorgan_extension
not confined = extraorgan_extension
pagetoid spread = pagetoid_spread
gross tumour perforation = tumor_perforation
uninvolved = !involvement
negative for malignancy = !involvement
free of tumor = !involvement
margins = margin_involvement
surgical resection margins = margin_involvement
tumour present at inked margin = margin_involvement
margins involved by carcinoma = margin_involvement
positive margins = margin_involvement
incompletely excised = margin_involvement
margins not clear = margin_involvement
not completely excised = margin_involvement
margins free of tumour = !margin_involvement
margins negative = !margin_involvement
ALL MARGINS ARE NEGATIVE = !margin_involvement
clear margins = !margin_involvement
uninvolved margins = !margin_involvement
all resection margins are free = !margin_involvement
tumour is clear of the surgical margins = !margin_involvement
completely excised = !margin_involvement
R0 resection = !margin_involvement
deep margin = deep_margin_involvement
deep margin: negative = !deep_margin_involvement
clear deep margin = !deep_margin_involvement
circumferential margins of resection = radial_margin_involvement
bronchial resection margin = bronchial_margin_involvement
renal vein margin = vascular_margin_involvement
ureteral margins are uninvolved = !ureteral_margin_involvement
apical margin = urethral_margin_involvement
lymph node metastasis = nodal_metastasis
metastatic carcinoma in two lymph nodes = nodal_metastasis
lymph nodes negative for metastasis = !nodal_metastasis
twelve tumour-free lymph nodes = !nodal_metastasis
lymph nodes (0/12) negative for tumor = !nodal_metastasis
sentinel lymph node negative for metastasis = !sentinel_node_metastasis
nodal micrometastasis = micrometastasis
isolated tumour cells = isolated_tumor_cells
mesenteric tumor deposits = tumor_deposits
satellite nodules = satellite_nodules
omental implants = peritoneal_implants
multicentricity = multifocality
unifocal = !multifocality
residual invasive carcinoma = residual_tumor
no residual tumour = !residual_tumor
pathologic complete response = !residual_tumor
post-treatment changes = treatment_effect
radiation-induced change = radiation_change
tumour budding = tumor_budding
ulcerated surface = ulceration
non-ulcerated = !ulceration
mucosal erosion = erosion
areas of necrosis = necrosis
necrosis is not seen = !necrosis
no significant necrosis = !necrosis
tumour cell necrosis = tumor_necrosis
central comedo-type necrosis = comedonecrosis
pseudopalisading necrosis = geographic_necrosis
caseation = caseous_necrosis
fat necrosis = fat_necrosis
apoptotic bodies = apoptosis
mitotic figures = mitotic_activity
brisk mitotic activity = increased_mitotic_activity
frequent mitoses = increased_mitotic_activity
rare mitotic figures = !increased_mitotic_activity
atypical mitoses = atypical_mitoses
marked nuclear atypia = nuclear_atypia
bland nuclei = !nuclear_atypia
cytological atypia = cytologic_atypia
cytologically bland = !atypia
irregularly shaped glands = atypical_glands
glands are irregularly shaped = atypical_glands
variation in nuclear size and shape = nuclear_pleomorphism
pleomorphic cells = pleomorphism
monomorphic = !pleomorphism
hyperchromatic nuclei = hyperchromasia
high N:C ratio = high_nuclear_to_cytoplasmic_ratio
conspicuous nucleoli = prominent_nucleoli
inconspicuous nucleoli = !prominent_nucleoli
stippled chromatin = salt_and_pepper_chromatin
coffee-bean nuclei = nuclear_grooves
Orphan Annie nuclei = ground_glass_nuclei
loss of nuclear polarity = loss_of_polarity
osteoclast-like giant cells = multinucleated_giant_cells
fried-egg appearance = perinuclear_halos
koilocytosis = koilocytes
signet-ring cells = signet_ring_cells
sarcomatoid differentiation = sarcomatoid_features
fascicles of spindle cells = fascicular_architecture
Reed-Sternberg cells = reed_sternberg_cells
lipoblasts = lipoblasts
mature adipose tissue = mature_adipocytes
discohesive growth = poorly_cohesive_cells
keratin pearl formation = keratin_pearls
intercellular bridges = intercellular_bridges
non-keratinizing = !keratinization
gland formation = glandular_differentiation
pools of extracellular mucin = mucin
papillary fronds = papillary_architecture
cribriform glands = cribriform_architecture
back-to-back glands = glandular_crowding
sheets of cells = solid_architecture
zellballen = zellballen_pattern
arranged in single file = single_file_pattern
storiform pattern = storiform_pattern
peripheral palisading = peripheral_palisading
Homer Wright rosettes = rosettes
desmoplastic stromal reaction = desmoplasia
the stroma appears desmoplastic = desmoplasia
dense fibrosis = fibrosis
bridging fibrosis = bridging_fibrosis
regenerative nodules = cirrhosis
prior biopsy site changes = scar
solar elastosis = elastosis
myxoid stroma = myxoid_stroma
malignant osteoid = osteoid
glomeruloid microvascular proliferation = microvascular_proliferation
staghorn vessels = staghorn_vessels
fibrin thrombi = thrombosis
leucocytoclastic vasculitis = vasculitis
haemorrhage = hemorrhage
haemosiderin-laden macrophages = hemosiderin
stromal oedema = edema
dystrophic calcification = calcification
microcalcifications = microcalcifications
psammoma bodies = psammoma_bodies
cystic degeneration = cystic_change
villous atrophy = atrophy
apocrine metaplasia = metaplasia
intestinal metaplasia = intestinal_metaplasia
high-grade dysplasia = dysplasia
negative for dysplasia = !dysplasia
parakeratosis = parakeratosis
elongated rete ridges = acanthosis
spongiosis = spongiosis
lichenoid infiltrate = interface_change
anthracotic pigment = anthracosis
macrovesicular steatosis = steatosis
bile plugs = cholestasis
amyloid deposits = amyloid
crush artefact = artifact
chronic inflammatory infiltrate = chronic_inflammation
infiltrate of lymphocytes and plasma cells = plasma_cells
tumour-infiltrating lymphocytes = tumor_infiltrating_lymphocytes
neutrophilic infiltrate = active_inflammation
cryptitis = cryptitis
non-caseating granulomata = granulomas
necrotising granulomas = necrotizing_granulomas
granulation tissue = granulation_tissue
H. pylori organisms = helicobacter_organisms
Helicobacter organisms are not seen = !helicobacter_organisms
fungal hyphae = fungal_organisms
acid-fast bacilli = mycobacteria
CMV inclusions = viral_inclusions
tubulitis = tubulitis
loss of normal lobular architecture = architectural_distortion
the lobular architecture has been disrupted = architectural_distortion
deviates from normal glandular architecture = architectural_distortion
preserved architecture = !architectural_distortion
normocellular = !hypercellularity
well-circumscribed mass = well_circumscribed
unencapsulated = !encapsulation
loss of basal cells = !basal_cell_layer
reactive astrogliosis = gliosis
Rosenthal fibres = rosenthal_fibers
Verocay bodies = verocay_bodies
chorionic villi = chorionic_villi
cellular crescents = crescents
hyaline membranes = hyaline_membranes
unremarkable = !abnormality
within normal limits = !abnormality
no diagnostic abnormality = !abnormality
benign prostatic glands = benign_prostatic_glands
cellular = hypercellularity
"""
CASES = [tuple(line.split(" = ")) for line in PHRASES.strip().splitlines()]


def said(phrase: str) -> list[str]:
    return [("!" if found.denied else "") + found.id for found in find_findings(phrase)]


@pytest.mark.parametrize(("phrase", "expected"), CASES)
def test_a_phrase_is_about_the_finding_that_it_names(phrase: str, expected: str) -> None:
    found = finding_of(phrase)
    assert found is not None
    assert (found.id, found.denied) == (expected.removeprefix("!"), expected.startswith("!"))


def test_every_wording_finds_its_own_finding_over_its_whole_length() -> None:
    for finding in findings().values():
        for denied, wordings in ((False, finding.names), (True, finding.denials)):
            for wording in wordings:
                (found,) = find_findings(wording)
                assert (found.id, found.denied) == (finding.id, denied), wording
                assert (found.start, found.end) == (0, len(wording)), wording


def test_no_wording_belongs_to_two_findings() -> None:
    owners: dict[str, str] = {}
    for finding in findings().values():
        for wording in (*finding.names, *finding.denials, *finding.alone):
            key = wording if is_cased(wording) else plain(wording)
            assert owners.setdefault(key, finding.id) == finding.id, wording


def test_the_catalogue_is_wide_and_its_values_are_known() -> None:
    known = findings().values()
    assert len(known) >= 350
    assert sum(len(f.names) - 1 for f in known) >= 3 * len(known)
    assert {f.importance for f in known} == {1, 2, 3}
    assert {f.suggests for f in known} <= {"malignant", "benign", "inflammatory", "normal", "none"}
    assert all(f.parent is None or f.parent in findings() for f in known)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("vascular and perineural invasion", ["vascular_invasion", "perineural_invasion"]),
        (
            "proximal, distal, and radial resection margins",
            [
                "proximal_margin_involvement",
                "distal_margin_involvement",
                "radial_margin_involvement",
            ],
        ),
        ("no necrosis or mitoses", ["!necrosis", "!mitotic_activity"]),
        ("necrosis. No invasion", ["necrosis", "!invasion"]),
        ("no necrosis and prominent nucleoli", ["!necrosis", "prominent_nucleoli"]),
        ("pleomorphic, hyperchromatic nuclei", ["nuclear_pleomorphism", "hyperchromasia"]),
        ("atypical clear cells", ["atypia", "clear_cytoplasm"]),
        ("necrosis, haemorrhage and oedema", ["necrosis", "hemorrhage", "edema"]),
    ],
)
def test_a_phrase_can_name_several_findings(phrase: str, expected: list[str]) -> None:
    assert said(phrase) == expected


def test_the_most_important_finding_is_what_a_phrase_is_about() -> None:
    found = finding_of("dense chronic inflammation, oedema and LVI")
    assert found is not None
    assert found.id == "lymphovascular_invasion"


@pytest.mark.parametrize("phrase", ["", "  ", "the", "left breast", "CK7", "3.5 cm", "12/14", "—"])
def test_what_names_no_finding_gives_none(phrase: str) -> None:
    assert find_findings(phrase) == ()
    assert finding_of(phrase) is None


def test_a_word_that_means_a_finding_only_alone_means_nothing_in_company() -> None:
    assert said("solid") == ["solid_architecture"]
    assert "solid_architecture" not in said("solid evidence")


def test_a_doubt_is_not_a_denial() -> None:
    assert said("cannot exclude invasion") == ["invasion"]
    assert said("invasion cannot be excluded") == ["invasion"]


def test_british_capitals_and_hyphens_do_not_matter() -> None:
    assert said("TUMOUR-FREE MARGINS") == said("tumor free margin") == ["!margin_involvement"]


def test_a_kind_is_close_to_what_it_is_a_kind_of_and_far_from_strangers() -> None:
    near = finding_closeness("venous_invasion", "vascular_invasion")
    far = finding_closeness("venous_invasion", "invasion")
    assert 1 > near > far > 0.4
    assert finding_closeness("venous_invasion", "lymphatic_invasion") > 0
    assert finding_closeness("venous_invasion", "steatosis") == 0
    with pytest.raises(KeyError):
        finding_closeness("venous_invasion", "nonsense")


IDS = st.sampled_from(sorted(findings()))


@given(IDS, IDS)
def test_closeness_is_symmetric_between_0_and_1_and_1_only_for_the_same(a: str, b: str) -> None:
    assert finding_closeness(a, b) == finding_closeness(b, a)
    assert 0 <= finding_closeness(a, b) <= 1
    assert (finding_closeness(a, b) == 1) == (a == b)


def test_findings_that_matter_most_include_what_changes_stage() -> None:
    for id_ in ("lymphovascular_invasion", "nodal_metastasis", "margin_involvement", "ulceration"):
        assert findings()[id_].importance == 3
    for id_ in ("fibrosis", "edema", "hemorrhage"):
        assert findings()[id_].importance == 1


WORDS = st.sampled_from(
    "no not margins invasion of , ; . clear free and or perineural necrosis is is/are 3 the "
    "nuclei glands atypical loss normal architecture vascular / negative for Ä".split()
)


@given(st.text() | st.lists(WORDS).map(" ".join))
def test_any_text_gives_ordered_spans_inside_it(text: str) -> None:
    found = find_findings(text)
    assert [f.start for f in found] == sorted(f.start for f in found)
    for each in found:
        assert 0 <= each.start < each.end <= len(text)
        assert each.id in findings()
    assert find_findings(text) == found


def test_a_long_text_takes_no_longer_than_its_length() -> None:
    text = (
        "no evidence of lymphovascular invasion; margins are clear and nuclei pleomorphic. " * 100
    )
    started = time.process_time()
    assert len(find_findings(text)) == 300
    assert time.process_time() - started < 2
