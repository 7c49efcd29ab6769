"""Trust as a self-contained page for those who act on it: verdicts, reasons, texts, pictures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.store import read_json
from histoeval.io.writing import write_text, writing_to
from histoeval.pathgls.policy.policy import DIMENSIONS, Policy
from histoeval.pathgls.results import Grounding, Logic
from histoeval.progress import row_progress
from histoeval.run.inputs import case_source
from histoeval.run.results import Verdicts
from histoeval.run.settings import TrustSettings
from histoeval.run.trust.reports import trust_source
from histoeval.run.trust.rows import PatchScores, TrustFolder, TrustRow, policy_of
from histoeval.run.trust.setup import open_instruments
from histoeval.table import ResultTable, html_table, number
from histoeval.view import image_evidence, trust_words
from histoeval.view.figures.evidence import COLOURS, MIN_PATCHES, with_pictures
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import Website, data_uri, jpeg, render
from histoeval.view.terminal.trust import policy_line, trust_tables, trust_text

SIGNS = {"supported": "✓", "refuted": "✕", "unknown": "?"}  # beside the words of a verdict

NO_SCORES = (
    "This run has kept no scores of single tiles. Runs that are made now keep them: run "
    "`histoeval trust` again for a heatmap."
)
FEW_PATCHES = "The image is too small for a heatmap: it has only {} tiles with tissue."

MAX_CHARS = 20_000  # characters of a report that are shown

# pictures inside the page; further ones are linked from the folder beside it
MAX_PICTURE_BYTES = 16 * 2**20
SIDE = 360  # pixels along the longer side of a picture on the page; a click opens the original

# below pictures, by what they show
CAPTIONS = {
    "image": "the image",
    "spot": "the patch that speaks most for it",
    "against": "the patch that speaks least for it",
    "heatmap": "where the image speaks for it",
}


def slide_case(
    row: TrustRow, report: str | None, scores: PatchScores | None, policy: Policy | None
) -> dict[str, Any]:
    """Return the content of the page of a slide; an unfinished run has no policy yet."""
    grounding = image_evidence.grounding_of(row.evidence)
    claims = image_evidence.claims_seen(grounding)
    spans = []  # each claim links to its line in the list
    for index, seen in enumerate(claims, start=1):
        span = seen.support.claim.span
        spans.append(HighlightSpan(span.start, span.end, label=str(index), kind=seen.kind))
    image = None
    denied = [] if grounding is None else grounding.denied
    if grounding is not None:
        verdict = image_evidence.verdict_words(grounding)
        kind = image_evidence.KINDS.get(verdict, "unknown")
        image = {
            "verdict": verdict,
            "kind": kind,
            "organ": image_evidence.organ_words(grounding.organ),
        }
    spans += [HighlightSpan(claim.span.start, claim.span.end, kind="denied") for claim in denied]
    problem, heated = None, []
    if scores is None or not scores.encoder:
        problem = NO_SCORES
    elif (patches := len(scores.spots)) < MIN_PATCHES:
        problem = FEW_PATCHES.format(patches)
    else:
        heated = [n for n, _ in enumerate(claims, start=1) if scores.shares(n - 1) is not None]
    return {
        "id": row.id,
        "route": row.route,
        "reasons": []
        if policy is None
        else [reason.words for reason in trust_words.worded_reasons(row, policy)],
        "image": image,
        "missing": [reason.words for reason in trust_words.missing_words(row, "grounding")],
        "claims": claims,
        "heated": heated,
        "signs": SIGNS,
        "plain_why": trust_words.plain_why,
        "denied": [claim.phrase for claim in denied],
        "text": None if report is None else _beginning(report, spans, "claim"),
        "heat_problem": problem,
        "colours": ";".join(",".join(map(str, colour)) for _, colour in COLOURS),
    }


def _beginning(text: str, spans: Iterable[HighlightSpan], anchor: str) -> Markup:
    cut = len(text) - MAX_CHARS
    rest = Markup("<i> … {:,} more characters</i>").format(cut) if cut > 0 else ""
    return html(text[:MAX_CHARS], spans, anchor) + rest


class Gallery:
    """Small pictures, inside the page while there is room, and linked from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes_left = MAX_PICTURE_BYTES

    def source(self, name: str) -> str:
        from PIL import Image

        if self._bytes_left <= 0:
            return name
        with Image.open(self._folder / name) as picture:
            picture.thumbnail((SIDE, SIDE))
            content = jpeg(picture)
        self._bytes_left -= len(content)
        return data_uri(content)


def card(row: TrustRow, text: str | None, policy: Policy, gallery: Gallery) -> dict[str, Any]:
    evidence, anchor = row.evidence, f"r{row.row}"
    findings = findings_of(evidence)
    pictures = [_picture(picture, gallery) for picture in evidence.get("pictures", ())]
    return {
        "anchor": anchor,
        "id": row.id,
        "route": row.route,
        "cancer_checked": row.cancer_check != "not_checked",
        "reasons": [reason.words for reason in trust_words.worded_reasons(row, policy)],
        "checks": [
            {
                "name": check.name,
                "question": check.question,
                "value": (value := getattr(row, check.name)),
                "found": trust_words.found_words(row, check.name),
                "why": " ".join(
                    reason.words for reason in trust_words.missing_words(row, check.name)
                )
                if value is None
                else "",
                "asked": policy.asks(check.name),
            }
            for check in trust_words.check_meanings()
        ],
        "text": None if text is None else shown_text(text, findings, anchor),
        "image": _image(image_evidence.grounding_of(evidence)),
        "findings": [
            {
                "line": finding.line,
                "details": finding.details,
                "pictures": [  # of a claim: what there is to check it by
                    picture
                    for picture in pictures
                    if finding.claim is not None
                    and (picture["claim"], picture["start"]) == (finding.claim, finding.start)
                ],
            }
            for finding in findings
        ],
        "pictures": [picture for picture in pictures if picture["claim"] is None],
        "changes": list(trust_words.changes_when_asked_again(evidence)),
    }


def _image(grounding: Grounding | None) -> dict[str, Any] | None:
    if grounding is None:
        return None
    organ, words = grounding.organ, None
    if organ is not None and organ.likeliest not in grounding.why:
        named = f"the report speaks of {' or '.join(organ.claimed)}."
        unknown = "the report names no organ that the image check has learned."
        seen = f"The tissue looks most like {organ.likeliest} ({organ.share:.0%} of patches)"
        words = f"{seen}; {named if organ.claimed else unknown}"
    return {
        "verdict": image_evidence.verdict_words(grounding),
        "kind": grounding.verdict or "not_known",
        "why": trust_words.plain_why(grounding.why),
        "organ": words,
        "models": [image_evidence.verdict_words(member) for member in grounding.members],
    }


def _picture(picture: Mapping[str, Any], gallery: Gallery) -> dict[str, Any]:
    file = picture.get("file")
    return {
        "claim": picture.get("claim"),
        "start": picture.get("start"),
        "caption": CAPTIONS[picture["shows"]],
        "scale": picture["shows"] == "heatmap" and file is not None,
        "file": file,
        "source": None if file is None else gallery.source(file),
        "problem": picture.get("problem"),
    }


class TextFinding(NamedTuple):
    """A span of the text, the kind of finding on it, and a line that explains it."""

    start: int
    end: int
    kind: str
    line: str
    details: tuple[str, ...] = ()  # what else can be checked
    claim: str | None = None  # the phrase by which the pictures of a claim name it


def shown_text(text: str, findings: Sequence[TextFinding], anchor: str) -> Markup:
    """Render the text with numbered findings; a very long text is cut."""
    spans = [
        HighlightSpan(finding.start, finding.end, label=str(number), kind=finding.kind)
        for number, finding in enumerate(findings, start=1)
    ]
    return _beginning(text, spans, anchor)


def findings_of(evidence: Mapping[str, Any]) -> list[TextFinding]:
    grounding, logic = image_evidence.grounding_of(evidence), evidence.get("logic")
    findings = [] if grounding is None else list(_claims(grounding))
    for pair in () if logic is None else Logic.model_validate(logic).contradictions:
        verb = "contradicts" if pair.is_likely else "may contradict"
        why = f": {pair.why}" if pair.why else ""
        for span, opposed in ((pair.first, pair.second), (pair.second, pair.first)):
            line = f"{verb} “{' '.join(opposed.text.split())}”{why}"
            findings.append(TextFinding(span.start, span.end, "contradicted", line))
    return sorted(findings, key=lambda finding: (finding.start, finding.end))


def _claims(grounding: Grounding) -> Iterator[TextFinding]:
    for seen in image_evidence.claims_seen(grounding):
        claim, verdict = seen.support.claim, seen.support.verdict
        by = " by the image" if verdict in {"supported", "contradicted"} else ""
        details = [f"{seen.agreeing} patches of the image speak for it"] if seen.agreeing else []
        if seen.decoy:
            details.append(f"of other organs and diseases the image fits best: {seen.decoy}")
        yield TextFinding(
            claim.span.start,
            claim.span.end,
            seen.kind,
            f"{claim.phrase}: {seen.verdict}{by}; {trust_words.plain_why(seen.why)}",
            tuple(details),
            claim.phrase,
        )
    for claim in grounding.denied:
        line = f"{claim.phrase}: said to be absent, so not looked for"
        yield TextFinding(claim.span.start, claim.span.end, "denied", line)


def technical_tables(rows: Iterable[TrustRow]) -> Iterator[ResultTable]:
    """Yield all numbers of reports and their reasons as in the files, for those who run checks."""
    rows = list(rows)
    reasons = [
        "; ".join(
            [row.evidence["trust"]["reason"], *(f"{e.code}: {e.message}" for e in row.errors)]
        )
        for row in rows
    ]
    yield ResultTable(
        "Reports",
        ("report", *DIMENSIONS, "trust", "reason and codes"),
        [
            (row.id, *(number(getattr(row, name)) for name in DIMENSIONS), trust_text(row), reason)
            for row, reason in zip(rows, reasons, strict=True)
        ],
    )
    claims = [
        (row.id, seen.support.claim.phrase, "; ".join(seen.details()))
        for row in rows
        if (grounding := image_evidence.grounding_of(row.evidence)) is not None
        for seen in image_evidence.claims_seen(grounding)
    ]
    if claims:
        yield ResultTable("Claims", ("report", "claim", "evidence"), claims)
    moved = [
        (row.id, shift["attack"], shift["kind"], f"{shift['distance']:.3f}")
        for row in rows
        for shift in row.evidence.get("stability", {}).get("shifts", ())
    ]
    if moved:
        yield ResultTable("Reports under attack", ("report", "attack", "kind", "distance"), moved)
    notes = [(row.id, note) for row in rows for note in _notes(row.evidence)]
    if notes:
        yield ResultTable("Notes", ("report", "note"), notes)


def _notes(evidence: Mapping[str, Any]) -> Iterator[str]:
    grounding = image_evidence.grounding_of(evidence)
    if grounding is not None:
        yield from image_evidence.organ_lines(grounding)
    for name in DIMENSIONS:
        yield from (f"{name}: {note}" for note in evidence.get(name, {}).get("notes", ()))
    for pair in evidence.get("logic", {}).get("contradictions", ()):
        yield f"logic: {pair['source']}, probability {pair['probability']:.2f}"
    for by in dict.fromkeys(picture.get("encoder") for picture in evidence.get("pictures", ())):
        if by:
            yield f"heatmaps by {by}"


MAX_ROWS = 200  # reports on the page, the worst of the input; all are in trust.jsonl
_MADE_WITH = ("reader", "encoder", "nli", "distance", "subject", "top", "tiles")


def run_trust(settings: TrustSettings) -> Verdicts:
    """Judge every report; into a folder, if one is given, with pictures and, with texts, a page."""
    source = case_source(
        settings.data,
        text=settings.text,
        image=settings.image,
        id_=settings.id,
        images=settings.images,
        encoding=settings.encoding,
    )
    tools = open_instruments(settings.options or settings, source)
    folder = None if settings.output is None else TrustFolder(Path(settings.output))
    illustrate = None
    if folder is not None and settings.pictures:
        illustrate = partial(with_pictures, folder=folder.evidence, tools=tools)

    def conclude(summary: dict[str, Any]) -> None:
        if folder is not None and settings.texts:
            reports = (case.report for case in source.rows())
            with writing_to(folder.folder):
                page = page_text(folder, zip(folder, reports, strict=True), summary)
                write_text(folder.page, page)

    with row_progress(source, "judging") as watch:
        return trust_source(
            source,
            tools,
            folder,
            illustrate=illustrate,
            overwrite=settings.overwrite,
            watch=watch,
            conclude=conclude,
            engine=settings.choose_engine(),
            batch_size=settings.batch_size,
            texts=settings.texts,
        )


def trust_page(path: Path, site: Website | None = None) -> str:
    folder = TrustFolder(path)
    rows = zip(folder, kept_texts(path), strict=False)
    return page_text(folder, rows, read_json(folder.summary, path), site)


def kept_texts(path: Path) -> Iterator[str | None]:
    if not has_texts(path):
        yield from repeat(None)
    yield from (texts.get("report") for texts in read_texts(path))


def page_text(
    folder: TrustFolder,
    rows: Iterable[tuple[TrustRow, str | None]],
    summary: Mapping[str, Any],
    site: Website | None = None,
) -> str:
    gallery, tally = Gallery(folder.folder), trust_words.TrustTally(policy_of(summary))

    def counted() -> Iterator[tuple[TrustRow, str | None]]:
        for row, text in rows:
            tally.add(row)
            yield row, text

    worst = nsmallest(MAX_ROWS, counted(), key=lambda item: trust_words.worst_first(item[0]))
    shown = [row for row, _ in worst]
    evidence = [row.evidence[name] for row in shown for name in DIMENSIONS if name in row.evidence]
    policy = summary["policy"]
    return render(
        "trust.html",
        site=site,
        scripts=["verdicts.js"],
        styles=["trust.css"],
        title=f"Trust in reports: {summary['input']['name']}",
        rows=tally.verdicts.total(),
        verdicts=trust_words.verdict_meanings(tally.policy),
        tally=tally,
        shown=Counter(row.route for row in shown),
        checks=trust_words.check_meanings(),
        reports=[card(row, text, tally.policy, gallery) for row, text in worst],
        technical={  # for those who run the checks
            "policy": policy_line(policy),
            "validated": None if policy["meaning"] is None else policy["meaning"]["validated"],
            "tables": [*map(html_table, [*trust_tables(summary, ()), *technical_tables(shown)])],
            "made_with": [
                f"{name}: {summary[name]}" for name in _MADE_WITH if summary[name] is not None
            ],
            "signatures": sorted({part["signature"] for part in evidence}),
        },
    )
