"""`histoeval train nli`: a cross-encoder that tells entailment, neutral and contradiction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from histoeval.io.settings_files import FilePath, ModelName
from histoeval.nli.builtin import TOKENS, EntailerManifest, limits_of
from histoeval.nli.entailer import LabelledPair, NliPair
from histoeval.report import Noun
from histoeval_research.train.cards import card
from histoeval_research.train.core.encoder import (
    TorchEncoder,
    cut_vocabulary,
    load_encoder,
)
from histoeval_research.train.core.loop import (
    THIS_MACHINE,
    Checkpoint,
    Schedule,
    TrainingSite,
    TrainingStage,
    fit,
)
from histoeval_research.train.core.model_folder import (
    ModelFolder,
    by_name,
    encoder_name,
    request_of,
    versions,
    weights_of,
)
from histoeval_research.train.nli.data import (
    NO_ENTAILMENT,
    EncodedPairs,
    General,
    encode_pairs,
    mixed_pairs,
    negation_pairs,
    read_pairs,
    split_general,
)
from histoeval_research.train.nli.model import (
    CrossEncoder,
    Floats,
    NliTeacher,
    batch_of,
    pair_loss,
    taught,
)
from histoeval_research.train.nli.pairs import (
    PairSettings,
    edit_pairs,
    edited_statements,
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


class NliTraining(Schedule):
    """How an NLI model learns."""

    epochs: Annotated[int, Field(ge=1)] = 3
    batch: Annotated[int, Field(ge=1)] = 128
    rate: Annotated[float, Field(gt=0)] = 2e-4
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.05


class NliSettings(Noun):
    """The YAML file of `histoeval train nli`."""

    general: FilePath
    """JSON lines of premise, hypothesis, label and source; the source snli_test is tested on."""
    negation: FilePath | None = None
    """Clinical sentences with conditions that they affirm or deny, as NegEx published them."""
    test: FilePath | None = None
    """JSON lines of pathology pairs with label and category, which are only tested on."""
    ontology: FilePath | None = None
    """JSON lines of id, name, synonyms and parents, for pairs of names."""
    reports: tuple[FilePath, ...] = ()
    """JSON lines of true reports as `text` or `answer`: what they say is no contradiction."""
    encoder: ModelName
    teacher: NliTeacher | None = None
    """A larger network that learns first, and whose answers this one learns from."""
    pairs: PairSettings = PairSettings()
    tokens: Annotated[int, Field(ge=16)] = TOKENS
    """Longer pairs are cut."""
    least_pieces: Annotated[int, Field(ge=1)] | None = None
    """Word pieces that stand in fewer texts are cut from the vocabulary; none when omitted."""
    second_opinion: bool = False
    """Whether a re-ranker with term features corrects the network."""
    learning: NliTraining = NliTraining()
    seed: int = 1
    name: str = "nli"
    """What the model is called in signatures."""
    output: FilePath | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _has_what_pairs_are_made_of(self) -> Self:
        if self.pairs.names and self.ontology is None:
            raise ValueError("pairs.names are made from `ontology`: name that file, or set 0")
        if self.pairs.companions and not self.reports:
            raise ValueError("pairs.companions are made from `reports`: name files, or set 0")
        return self


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
    settings: NliSettings,
    output: Path,
    site: TrainingSite = THIS_MACHINE,
) -> dict[str, Any]:
    """Train an NLI model and write its folder; the results, at once if it is there already."""
    request = nli_request(settings)

    def make(draft: Path, checkpoint: Checkpoint) -> dict[str, Any]:
        """The results of a model that is written to a draft folder."""
        site.tell("making pairs")
        material = gather(settings)
        encoder = load_encoder(settings.encoder, settings.tokens, site.device)
        tokenizer = smaller(encoder, material.train, settings.least_pieces)
        limits = limits_of(settings.name, settings.tokens)
        encoded = material.encoded(tokenizer, limits)
        answers = None
        with site.watching("training the NLI model") as watch:
            if (teacher := settings.teacher) is not None:
                site.tell("training the teacher")
                mixed = mixed_pairs(encoded, teacher.mixed, settings.tokens, settings.seed)
                encoded = encoded.with_more(mixed)
                stage = TrainingStage(checkpoint, watch, "teacher")
                answers = _answers(settings, teacher, encoded, tokenizer, site.device, stage)
                site.tell("training")
            torch.manual_seed(settings.seed)
            model = CrossEncoder(encoder.model).to(encoder.device)
            fit(
                model,
                len(encoded),
                _loss(model, encoded, encoder, answers, teacher),
                settings.learning,
                seed=settings.seed,
                stage=TrainingStage(checkpoint, watch),
            )
        site.tell("writing and measuring the model")
        return write(model, tokenizer, settings, request, material, draft)

    return ModelFolder(output).fill(request, make, partial(card, "nli"), overwrite=site.overwrite)


def _answers(
    settings: NliSettings,
    teacher: NliTeacher,
    encoded: EncodedPairs,
    tokenizer: Any,
    device: str | None,
    stage: TrainingStage,
) -> Floats:
    """What the teacher says of every pair, from the checkpoint where it has said it."""

    def act() -> dict[str, Any]:
        answers = taught(teacher, encoded, tokenizer, settings.tokens, settings.seed, device, stage)
        return {"answers": torch.from_numpy(answers)}

    answers: Floats = stage.once(act)["answers"].numpy()
    return answers


def nli_request(settings: NliSettings) -> dict[str, Any]:
    """What makes two trainings the same."""
    given = (settings.general, settings.negation, settings.test, settings.ontology)
    files = by_name([*given, *settings.reports])
    excluded: dict[str, Any] = dict.fromkeys(
        ("general", "negation", "test", "ontology", "reports"), True
    )
    own: dict[str, Any] = {"lists": pairs_sha256()}
    if settings.teacher is not None:
        excluded["teacher"] = {"encoder"}
        own["teacher"] = encoder_name(settings.teacher.encoder)
    return request_of("nli", settings, files, exclude=excluded, **own)


def gather(settings: NliSettings) -> Material:
    """Read and make all pairs."""
    general: General = split_general(read_pairs(settings.general, "source"))
    made = settings.pairs
    train = [*general.train, *made_pairs("train", made.count, settings.seed)]
    train += made_pairs("rest", made.rest)
    train += made_pairs("organs", made.organs, settings.seed)
    train += llm_pairs(made.by_hand, settings.seed)
    train += [pair for _ in range(made.edits) for pair in edit_pairs()]
    train += statement_pairs(made.statements, settings.seed)
    sources = edited_statements(), written_statements(), *map(reports_of, settings.reports)
    train += changed_pairs(sources, made.changed, settings.seed)
    if settings.ontology is not None:
        train += ontology_pairs(settings.ontology, made.names, settings.seed)
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
    companions = list(companion_pairs(settings.reports, made.companions, settings.seed))
    strangers = list(stranger_pairs(sources, made.strangers, settings.seed))
    return Material(
        train, companions, strangers, {name: pairs for name, pairs in tests.items() if pairs}
    )


def smaller(encoder: TorchEncoder, pairs: Sequence[LabelledPair], least: int | None) -> Any:
    """The tokenizer; where asked for, without the pieces that hardly any text has."""
    if least is None:
        return encoder.fast
    texts = dict.fromkeys(text for pair in pairs for text in (pair.premise, pair.hypothesis))
    tokenizer = cut_vocabulary(encoder, texts, least)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _loss(
    model: CrossEncoder,
    encoded: EncodedPairs,
    encoder: TorchEncoder,
    answers: Floats | None,
    teacher: NliTeacher | None,
) -> Callable[[Sequence[int]], Tensor]:
    device: Literal["cuda", "cpu"] = "cuda" if encoder.device.startswith("cuda") else "cpu"
    share = teacher.share if teacher else 0.0

    def loss(positions: Sequence[int]) -> Tensor:
        rows, labels = batch_of(encoded, positions, encoder.device)
        said = None
        if answers is not None:
            said = torch.from_numpy(answers[list(positions)]).to(encoder.device)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = model(*rows)
        return pair_loss(logits, labels, said, share)

    return loss


def write(
    model: CrossEncoder,
    tokenizer: Any,
    settings: NliSettings,
    request: dict[str, Any],
    material: Material,
    folder: Path,
) -> dict[str, Any]:
    """Write the model for `BuiltinEntailer`, and measure it as it is written."""
    from histoeval.nli.builtin import BuiltinEntailer
    from histoeval_research.evaluate.nli import evaluate_nli
    from histoeval_research.train.nli.model import add_opinion, write_entailer

    made_with = versions()
    write_entailer(
        model,
        tokenizer,
        folder,
        name=settings.name,
        tokens=settings.tokens,
        details={"request": request, "versions": made_with},
    )
    if settings.second_opinion:
        add_opinion(folder)
    entailer = BuiltinEntailer(folder)
    scores = {name: evaluate_nli(entailer, pairs) for name, pairs in material.tests.items()}
    return {
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "samples": {"pairs": len(material.train)},
        "scores": {name: each.model_dump(mode="json") for name, each in scores.items()},
        "weights": weights_of(folder),
        "versions": made_with,
    }
