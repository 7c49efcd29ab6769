"""A metric for torchmetrics: the numbers are ours, in one process and in several."""

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import histoeval

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")

from histoeval.adapters.torchmetrics import HistoEvalMetric

pytestmark = pytest.mark.heavy

REFERENCES = ["left breast carcinoma grade two", "colon adenoma with low grade dysplasia", "a b"]
CANDIDATES = ["left breast carcinoma grade one", "colon adenoma with dysplasia of low grade", "a c"]


@pytest.mark.parametrize("spec", ["rouge_l", "bleu", "chrf"])
def test_batches_come_to_the_corpus_value(spec: str) -> None:
    metric = HistoEvalMetric(spec)
    metric.update(CANDIDATES[:1], REFERENCES[:1])
    metric.update(preds=CANDIDATES[1:], target=REFERENCES[1:])
    ours = histoeval.load(spec).compute(predictions=CANDIDATES, references=REFERENCES)
    assert metric.compute().item() == pytest.approx(ours.value, rel=1e-12)


def test_a_call_gives_the_value_of_its_batch_and_reset_forgets() -> None:
    metric = HistoEvalMetric("rouge_l")
    assert metric(["a b"], [["c", "a b"]]).item() == 1, "of several references the best counts"
    assert metric(["a b"], ["c d"]).item() == 0
    assert metric.compute().item() == 0.5
    metric.reset()
    metric.update(["a"], ["b"])
    assert metric.compute().item() == 0


def test_it_says_which_way_is_better_and_within_what() -> None:
    metric = HistoEvalMetric("bleu")
    assert metric.higher_is_better is True
    assert (metric.plot_lower_bound, metric.plot_upper_bound) == (0, 100)
    assert metric.is_differentiable is False


def test_pairs_without_a_score_are_named_and_do_not_count() -> None:
    metric = HistoEvalMetric("rouge_l")
    with pytest.warns(UserWarning, match="1 pairs have no score .* candidate is empty"):
        metric.update(["a b", ""], ["a b", "c"])
    assert (metric.compute().item(), metric.problems) == (1, 1)
    metric.reset()
    with pytest.warns(UserWarning, match="candidate is empty"):
        metric.update([""], ["c"])
    assert torch.isnan(metric.compute())


def test_what_is_no_list_of_texts_is_refused_and_numbers_are_counted_as_problems() -> None:
    metric = HistoEvalMetric("rouge_l")
    neither: list[Any] = [{"a b": 1}, {"a b"}, None, b"a b"]
    for wrong in neither:
        with pytest.raises(histoeval.SettingError, match="give a list of texts"):
            metric.update(wrong, ["a b"])
        with pytest.raises(histoeval.SettingError, match="give a list of texts"):
            metric.update(["a b"], wrong)
    no_texts: list[Any] = [[1], torch.tensor([1]), [b"a b"]]
    for wrong in no_texts:
        with pytest.warns(UserWarning, match="not a text"):
            metric.update(wrong, wrong)
    assert metric.problems == 3


def test_it_is_copied_and_pickled_with_what_it_has_counted_and_without_models() -> None:
    metric = HistoEvalMetric("bleu")
    metric.update(CANDIDATES, REFERENCES)
    content = pickle.dumps(metric)
    assert len(content) < 10_000
    for other in (pickle.loads(content), metric.clone()):
        assert other.compute() == metric.compute()
        other.update(["x"], ["y"])
        assert other.compute() != metric.compute()


def test_values_are_drawn_within_the_range_of_the_metric() -> None:
    agg = pytest.importorskip("matplotlib")
    agg.use("agg")
    metric = HistoEvalMetric("rouge_l")
    figure, axes = metric.plot([metric(["a b"], ["a b"]), metric(["a b"], ["a c"])])
    assert [*axes.lines[0].get_ydata()] == pytest.approx([1, 0.5])
    agg.pyplot.close(figure)


def test_metrics_of_a_collection_stay_apart_although_they_begin_alike() -> None:
    """torchmetrics merges metrics whose states are equal after the first batch."""
    both = torchmetrics.MetricCollection(
        {"words": HistoEvalMetric("rouge_1"), "order": HistoEvalMetric("rouge_l")}
    )
    both.update(["a b"], ["a b"])
    both.update(["a b"], ["b a"])
    found = both.compute()
    assert (found["words"].item(), found["order"].item()) == (1, 0.75)


def test_states_are_added_up_over_processes_also_where_one_has_seen_nothing() -> None:
    """The states of two other processes are handed over in place of a network."""
    others = [HistoEvalMetric("bleu"), HistoEvalMetric("bleu")]
    others[0].update(CANDIDATES[1:], REFERENCES[1:])
    metric = HistoEvalMetric("bleu", distributed_available_fn=lambda: True)
    metric.dist_sync_fn = gathering(metric, others)
    metric.update(CANDIDATES[:1], REFERENCES[:1])
    ours = histoeval.load("bleu").compute(predictions=CANDIDATES, references=REFERENCES)
    assert metric.compute().item() == pytest.approx(ours.value, rel=1e-12)


def gathering(metric: Any, others: list[Any]) -> Any:
    names: Iterator[str] = iter(metric._reductions)

    def gather(state: Any, group: Any) -> list[Any]:
        name = next(names)
        return [state, *(getattr(other, name) for other in others)]

    return gather


def work(rank: int, port: int, answers: Any) -> None:
    """One of two processes that know of each other by gloo."""
    place = f"tcp://127.0.0.1:{port}"
    torch.distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
    metric = HistoEvalMetric("bleu")
    if rank == 0:
        metric.update(CANDIDATES, REFERENCES)
    answers[rank] = metric.compute().item()
    torch.distributed.destroy_process_group()


@pytest.mark.release
def test_two_processes_agree_on_the_value(unused_port: int) -> None:
    with torch.multiprocessing.Manager() as manager:
        answers = manager.dict()
        torch.multiprocessing.spawn(work, (unused_port, answers), nprocs=2)
        ours = histoeval.load("bleu").compute(predictions=CANDIDATES, references=REFERENCES)
        assert dict(answers) == {0: pytest.approx(ours.value), 1: pytest.approx(ours.value)}


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
