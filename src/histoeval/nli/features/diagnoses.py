"""Features of diagnoses and findings: the same, a kind of it, its parent, or denied."""

from itertools import product

from histoeval.nli.features.parse import Statements
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, concepts, diagnosis_tree
from histoeval.terms.findings import is_kind_of


def _kin(a: Concept, b: Concept) -> str:
    """The relation of a diagnosis of the premise to one of the hypothesis."""
    tree = diagnosis_tree()
    if a.id == b.id:
        return "same"
    if tree.is_a(a.id, b.id):
        return "kind"
    if tree.is_a(b.id, a.id):
        return "parent"
    return "other"


def of_diagnoses(one: Statements, other: Statements) -> dict[str, float]:
    """The diagnoses of the hypothesis beside those of the premise."""
    names = ("same", "kind", "parent", "other", "flip", "denied_both", "bad_good", "good_bad")
    out = dict.fromkeys(names, 0.0)
    for (a, a_denied), (b, b_denied) in product(one.diagnoses, other.diagnoses):
        first, second = concepts()[a], concepts()[b]
        kin = _kin(first, second)
        if kin == "same" and first.behaviour is Behaviour.UNSPECIFIED:
            continue
        if a_denied or b_denied:
            if a_denied and b_denied:
                out["denied_both"] = max(out["denied_both"], kin in ("same", "parent"))
            elif (b_denied and kin in ("same", "kind")) or (a_denied and kin in ("same", "parent")):
                out["flip"] = 1.0
            continue
        out[kin] = 1.0
        for name, bad, good in (("bad_good", first, second), ("good_bad", second, first)):
            opposed = bad.behaviour is Behaviour.MALIGNANT and good.behaviour in HARMLESS
            out[name] = max(out[name], opposed)
    related = out["same"] or out["kind"]
    out["other"] = float(out["other"] and not related and not out["parent"])
    new = bool(other.diagnoses) and not one.diagnoses
    named = {f"diagnosis_{name}": value for name, value in out.items()}
    sure = other.bare and not one.has("doubt")
    bare = {f"bare_{name}": sure and out[name] for name in ("same", "kind", "parent", "other")}
    within = all(
        any(_kin(concepts()[a], concepts()[b]) in ("same", "kind") for a, _ in one.diagnoses)
        for b, _ in other.diagnoses
    )
    bare |= {"bare_new": other.bare and new, "bare_all": sure and within and not new}
    return named | bare | {"diagnosis_new": float(new)}


def of_findings(one: Statements, other: Statements) -> dict[str, float]:
    """The findings of the hypothesis beside those of the premise."""
    same = opposite = new = 0
    for b, b_denied in other.findings:
        met = [
            a_denied
            for a, a_denied in one.findings
            if (is_kind_of(b, a) if a_denied else is_kind_of(a, b))
        ]
        same |= b_denied in met
        opposite |= bool(met) and b_denied not in met
        new |= not met
    return {"finding_same": same, "finding_opposite": opposite, "finding_new": new}
