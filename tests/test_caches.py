"""What is cached by text has a bound, so that a metric that scores for days stays small."""

import inspect
import pkgutil
from importlib import import_module

import pytest

ROOMS = ("terms", "facts", "concordance", "reader", "align", "nli", "metrics")
BY_NAME = """
align.opposites.vector._direction judges.listing.load_list_prompt nli.features.parse._words
reader.lexicon._kinds reader.lexicon._words reader.lexicon.listed resources.load_toml
terms.assertion._verdict terms.assertion._wording
terms.catalogue.table terms.decisive_findings._entries terms.findings._words
terms.language._endings terms.naming._at_sites terms.naming.without_site terms.sites._listed
terms.sites.contains terms.sites.is_everywhere terms.sites.organ_of terms.sites.site_closeness
terms.sites.system_of terms.values.implied_grades._rows terms.values.laterality._by_word
terms.values.markers._words_of terms.values.quantities._subjects terms.values.quantities.ending
terms.values.schemes._mention
""".split()
"""Functions of which the arguments are names of lists and ids of catalogues, and no texts."""


def unbounded() -> set[str]:
    found = set()
    for room in ROOMS:
        package = import_module(f"histoeval.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(import_module(module.name)).items():
                if (
                    not hasattr(value, "cache_parameters")
                    or not inspect.signature(value).parameters
                ):
                    continue
                if value.cache_parameters()["maxsize"] is None:
                    found.add(f"{value.__module__}.{name}".removeprefix("histoeval."))
    return found


@pytest.mark.heavy
def test_only_what_is_cached_by_names_of_lists_has_no_bound() -> None:
    assert unbounded() <= set(BY_NAME)
