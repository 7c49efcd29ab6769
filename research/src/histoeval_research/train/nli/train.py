"""`histoeval train nli`: a cross-encoder that tells entailment, neutral and contradiction."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from histoeval.nli.builtin import BuiltinEntailer, EntailerManifest, limits_of
from histoeval.nli.entailer import LabelledPair, NliPair
from histoeval_research.evaluate.nli import evaluate_nli
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import cut_vocabulary, load_encoder
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    TrainingSite,
    TrainingStage,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    by_name,
    encoder_name,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.nli.config import NliSettings
from histoeval_research.train.nli.data import negation_pairs, read_pairs, split_general
from histoeval_research.train.nli.model import CrossEncoder, Floats, learned, taught, write_entailer
from histoeval_research.train.nli.pairs import (
    MADE,
    llm_pairs,
    made_pairs,
    pairs_sha256,
    statement_pairs,
    written_statements,
)
from histoeval_research.train.nli.report_pairs import (
    changed_pairs,
    companion_pairs,
    ontology_pairs,
    reports_of,
    stranger_pairs,
)
from histoeval_research.train.nli.reranker import add_reranker
from histoeval_research.train.nli.tokens import (
    NO_ENTAILMENT,
    EncodedPairs,
    encode_pairs,
    mixed_pairs,
)


@dataclass(frozen=True, slots=True)
class Material:
    """All pairs: those to learn from, and three sets to test on."""

    train: Sequence[LabelledPair]
    companions: Sequence[NliPair]
    """Pairs of which only one thing is known: they do not contradict each other."""
    strangers: Sequence[NliPair]
    """Pairs of which it is only known that the premise does not entail the hypothesis."""
    tests: dict[str, Sequence[LabelledPair]]

    def encoded(self, tokenizer: Any, limits: EntailerManifest) -> EncodedPairs:
        """All pairs to learn from, as the model will read them."""
        pairs = encode_pairs([*self.train, *self.companions], tokenizer, limits)
        if not self.strangers:
            return pairs
        return pairs.with_more(encode_pairs(self.strangers, tokenizer, limits, NO_ENTAILMENT))


def train_nli(
    settings: NliSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train an NLI model and write its folder; the results, at once if it is there already."""
    request = nli_request(settings)
    seed, tokens, teacher = settings.seed, settings.tokens, settings.teacher

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        site.tell("making pairs")
        material = gather(settings)
        encoder = load_encoder(settings.encoder, tokens, site.device)
        texts = dict.fromkeys(t for pair in material.train for t in (pair.premise, pair.hypothesis))
        tokenizer = cut_vocabulary(encoder, texts, settings.least_pieces)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        encoded = material.encoded(tokenizer, limits_of(settings.name, tokens))
        answers: Floats | None = None
        with site.watching("training the NLI model") as watch:
            if teacher is not None:
                site.tell("training the teacher")
                encoded = encoded.with_more(mixed_pairs(encoded, teacher.mixed, tokens, seed))
                stage = TrainingStage(checkpoint, watch, "teacher")
                ask = partial(taught, teacher, encoded, tokenizer, tokens, seed, site.device, stage)
                outcome = stage.once(lambda: {"answers": torch.from_numpy(ask())})
                answers = outcome["answers"].numpy()
                site.tell("training")
            model = learned(
                encoder,
                encoded,
                settings.learning,
                seed,
                TrainingStage(checkpoint, watch),
                answers=answers,
                share=teacher.share if teacher else 0.0,
            )
        site.tell("writing and measuring the model")
        return write(model, tokenizer, settings, request, material, draft)

    return ModelFolder(output).fill(request, make, partial(card, "nli"), overwrite=site.overwrite)


def nli_request(settings: NliSettings) -> dict[str, Any]:
    """What makes two trainings the same."""
    given = (settings.general, settings.negation, settings.test, settings.ontology)
    paths = ("general", "negation", "test", "ontology", "reports")
    hidden: dict[str, Any] = dict.fromkeys(paths, True)
    own: dict[str, Any] = {"lists": pairs_sha256()}
    if settings.teacher is not None:
        hidden["teacher"] = {"encoder"}
        own["teacher"] = encoder_name(settings.teacher.encoder)
    return request_of("nli", settings, by_name([*given, *settings.reports]), hidden, **own)


def gather(settings: NliSettings) -> Material:
    """Read and make all pairs."""
    general = split_general(read_pairs(settings.general, "source"))
    made, seed = settings.pairs, settings.seed
    train = [*general.train, *made_pairs("train", made.count, seed)]
    train += made_pairs("rest", made.rest)
    train += made_pairs("organs", made.organs, seed)
    train += llm_pairs(made.by_hand, seed)
    train += made_pairs("edits", made.edits * MADE["edits"])
    train += statement_pairs(made.statements, seed)
    sources = *written_statements(), *map(reports_of, settings.reports)
    train += changed_pairs(sources, made.changed, seed)
    if settings.ontology is not None:
        train += ontology_pairs(settings.ontology, made.names, seed)
    if settings.negation is not None:
        train += negation_pairs(settings.negation)
    tests: dict[str, Sequence[LabelledPair]] = {
        "SNLI test": general.test,
        "made pairs": list(made_pairs("dev", made.dev)),
    }
    if made.organs:
        tests["pairs of other organs"] = list(made_pairs("organs_dev", made.dev))
    if settings.test is not None:
        tests["written pairs"] = read_pairs(settings.test)
    companions = list(companion_pairs(settings.reports, made.companions, seed))
    strangers = list(stranger_pairs(sources, made.strangers, seed))
    return Material(
        train, companions, strangers, {name: pairs for name, pairs in tests.items() if pairs}
    )


def write(
    model: CrossEncoder,
    tokenizer: Any,
    settings: NliSettings,
    request: dict[str, Any],
    material: Material,
    folder: Path,
) -> dict[str, Any]:
    """Write the model for `BuiltinEntailer`, and measure it as it is written."""
    made_with = versions()
    details = {"request": request, "versions": made_with}
    name, tokens = settings.name, settings.tokens
    write_entailer(model, tokenizer, folder, name=name, tokens=tokens, details=details)
    if settings.second_opinion:
        add_reranker(folder)
    entailer = BuiltinEntailer(folder)
    scores = {name: evaluate_nli(entailer, pairs) for name, pairs in material.tests.items()}
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "samples": {"pairs": len(material.train)},
        "scores": {name: each.model_dump(mode="json") for name, each in scores.items()},
        "weights": weights_of(folder),
        "versions": made_with,
    }
