"""Settings: each has its help, panel, flag and bounds beside its type.

A settings model is a dataclass or a `FrozenModel` whose fields carry an `Option`. The shell makes
its options of them, `histoeval.score(...)` and the other verbs their arguments, and the run reads
the model itself::

    @dataclass(frozen=True)
    class ScoreSettings:
        metrics: Annotated[str, Option("Metrics, separated by commas.")] = "concordance"

A field without an `Option` can be set from Python only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, is_dataclass
from inspect import Parameter, Signature, get_annotations, isclass, isfunction, signature
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from histoeval.errors import SettingError, explain_validation

# panels that several verbs have
COLUMNS = "Columns (guessed when omitted)"
REFERENCES = "References"
MODELS = "Models (builtin when omitted; others need the extra hf)"
JUDGES = "Judges"
REQUESTS = "Requests"
ACCESS = "Keys and certificates"
VLM = "Vision-language model"
INPUT = "What the model is shown and asked"
ENGINE = "Engine (it never changes a result)"
STATISTICS = "Statistics"
REQUIRED = Parameter.empty  # the default of a setting that must be given

# In Python a path may be a text, and several values any sequence; the shell knows one type of each.
_SHELL_TYPES: dict[Any, Any] = {
    str | Path: Path,
    str | Path | None: Path | None,
    Sequence[str]: list[str] | None,
    Sequence[str | Path]: list[Path] | None,
}


class Option:
    """The flag, type and help of a setting in the shell."""

    def __init__(
        self,
        text: str,
        panel: str | None = None,
        *,
        name: str | None = None,
        shell: Any = None,
        read: Callable[[Any], Any] | None = None,
        only: str = "",
        python: str | None = None,
        required: bool | None = None,
        **more: Any,
    ) -> None:
        """Describe one setting.

        Args:
            text: the help; of a settings model it is for Python only.
            panel: the group of options that it stands in.
            name: the flag, if it is not the name of the field; `--no-X` turns something off.
            shell: its type in the shell, if that is not the usual one for the type of the field. A
                settings model stands for the options of all its fields; a function for those of its
                arguments, and its value is the function with these arguments.
            read: makes the value of what the shell gives.
            only: the fields of a settings model that are options here; all when empty.
            python: the help of the argument in Python, if it is not `text`.
            required: whether the shell must give it, if that is not so in Python.
            more: bounds and other settings of the option, as Typer calls them.
        """
        self.text = text
        self.panel = panel
        self.name = name
        self.shell = shell
        self.read = read
        self.only = frozenset(only.split())
        self.python = text if python is None else python
        self.is_required = required
        self.more = more


class Argument(Option):
    """A setting that has no flag, but a place on the command line."""


class Keyword(Option):
    """A setting of Python that the shell has no option for."""


class Setting(NamedTuple):
    name: str
    annotation: Any  # its type as written, for Python
    default: Any
    kind: Any  # its type in the shell
    option: Option | None

    @property
    def is_model(self) -> bool:
        return is_settings(self.kind)

    @property
    def shell_default(self) -> Any:
        """The default in the shell."""
        if self.option is not None and self.option.is_required is not None:
            return REQUIRED if self.option.is_required else None
        if self.is_negated:
            return False
        return None if self.default in ((), {}) else self.default

    @property
    def is_negated(self) -> bool:
        """True if its flag turns off a default."""
        name = self.option.name if self.option else None
        return self.default is True and name is not None and name.startswith("--no-")

    @property
    def shell_name(self) -> str:
        flag = self.option.name if self.option else None
        name = "" if flag is None else flag.removeprefix("--").replace("-", "_")
        return name if name.isidentifier() and not iskeyword(name) else self.name

    def settings(self) -> Iterator[Setting]:
        """The settings of a model that the shell has options for."""
        only = self.option.only if self.option else frozenset()
        for setting in settings_of(self.kind):
            is_option = setting.option is not None or setting.is_model
            is_wanted = not only or setting.name in only
            if is_option and is_wanted and not isinstance(setting.option, Keyword):
                yield setting


@contextmanager
def single_line_validation_errors() -> Iterator[None]:
    """Turn a validation error into a single sentence."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        raise SettingError(explain_validation(error, "")) from error


def is_settings(kind: Any) -> bool:
    """True for a class of settings, or a function whose arguments are settings."""
    return isfunction(kind) or (
        isclass(kind) and (is_dataclass(kind) or hasattr(kind, "model_fields"))
    )


def setting(name: str, annotation: Any, default: Any) -> Setting:
    is_annotated = get_origin(annotation) is Annotated
    kind, *marks = get_args(annotation) if is_annotated else (annotation,)
    option = next((mark for mark in marks if isinstance(mark, Option)), None)
    usual = _SHELL_TYPES.get(kind, kind)
    shell = usual if option is None or option.shell is None else option.shell
    return Setting(name, annotation, default, shell, option)


def settings_of(model: Any) -> Iterator[Setting]:
    """Yield the settings of a class: its own, then those of its bases."""
    hints = get_type_hints(model, include_extras=True)
    if isfunction(model):
        for parameter in signature(model).parameters.values():
            yield setting(parameter.name, hints[parameter.name], parameter.default)
        return
    fields = getattr(model, "model_fields", None) or model.__dataclass_fields__
    names = [name for home in model.__mro__ for name in get_annotations(home)]
    for name in dict.fromkeys(names):
        if (field := fields.get(name)) is not None:
            default = field.default
            if field.default_factory not in (MISSING, None):
                default = field.default_factory()
            elif default is MISSING or repr(default) == "PydanticUndefined":
                default = REQUIRED
            yield setting(name, hints[name], default)


def signature_of(model: Any, returned: Any) -> Signature:
    """Return the signature of a function that takes the fields of a model as its arguments."""
    by_keyword = {name for name, field in model.__dataclass_fields__.items() if field.kw_only}
    parameters = []
    for field in settings_of(model):
        is_keyword = field.name in by_keyword
        how = Parameter.KEYWORD_ONLY if is_keyword else Parameter.POSITIONAL_OR_KEYWORD
        is_annotated = get_origin(field.annotation) is Annotated
        kind = get_args(field.annotation)[0] if is_annotated else field.annotation
        parameters.append(Parameter(field.name, how, default=field.default, annotation=kind))
    return Signature(parameters, return_annotation=returned)


def arguments_text(model: Any) -> str:
    """Return the settings of a model as the paragraph `Args:` of a docstring."""
    lines = (
        f"    {field.name}: {field.option.python}" for field in settings_of(model) if field.option
    )
    return "\n".join(["Args:", *lines])
