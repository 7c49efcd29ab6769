"""YAML that people write: files read with the line of every key, and settings checked.

YAML itself says that keys differ; its usual readers take the last one and say nothing, and a file
in which a key stands twice is refused here.

A setting can be changed for one run with `--set key=value`; dots lead into nested settings.
Files and folders are named from the place where their name was written: in a YAML file from that
file's folder, on the command line from the folder that one stands in.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import Repr
from typing import Annotated, Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError, ValidationInfo

from histoeval.errors import InputError, SettingError, did_you_mean, explain_validation, first_fault
from histoeval.io.folder_kinds import wrong_folder

KeyPath = tuple[str, ...]  # the keys that lead to a value; items of a list by their numbers
_MERGE = "tag:yaml.org,2002:merge"

Settings = TypeVar("Settings", bound=BaseModel)


class YamlFile(NamedTuple):
    content: Any
    lines: Mapping[KeyPath, int]

    def line_of(self, place: Sequence[object]) -> int | None:
        """Return the line of a key, or of its nearest parent in the file."""
        keys = tuple(map(str, place))
        lines = (self.lines.get(keys[:depth]) for depth in range(len(keys), 0, -1))
        return next((line for line in lines if line is not None), None)


def _text_of(path: Path, name: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except IsADirectoryError as error:
        raise wrong_folder(path, "cannot be read: it is a folder") from error
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8, from byte {error.start + 1} on") from error


def read_toml(path: Path, what: str = "") -> YamlFile:
    """Read a TOML file, without lines; `what` precedes its name in messages."""
    name = f"{what} {path}".strip()
    try:
        return YamlFile(tomllib.loads(_text_of(path, name)), {})
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name} is not TOML: {error}") from error


def read_yaml(path: Path, what: str = "") -> YamlFile:
    """Read the only document of a YAML file in UTF-8; `what` precedes its name in messages."""
    name = f"{what} {path}".strip()
    text = _text_of(path, name)
    try:
        return _parsed(text, name)
    except yaml.YAMLError as error:
        raise InputError(f"{name} is not YAML: {fault_of(error)}") from error
    except RecursionError as error:
        raise InputError(f"{name} is not YAML that can be used: it is nested too deeply") from error
    except ValueError as error:  # of dates that are none
        raise InputError(f"{name} is not YAML that can be used: {error}") from error


def read_model(
    path: Path,
    model_class: type[Settings],
    what: str,
    read: Callable[[Path, str], YamlFile] = read_yaml,
    advice: str = "",
) -> Settings:
    """Read and validate a YAML file, or a TOML file by `read_toml`."""
    yaml_file = read(path, what)
    try:
        return model_class.model_validate(yaml_file.content)
    except ValidationError as error:
        line = yaml_file.line_of(first_fault(error)["loc"])
        name = f"{what} {path}" if line is None else f"{what} {path}, line {line},"
        fault = explain_validation(error, model=model_class)
        raise InputError(f"{name} cannot be used: {fault}{advice}") from error


def fault_of(error: Any) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    return f"line {mark.line + 1}: {problem}" if mark and problem else str(error)


def _parsed(text: str, name: str) -> YamlFile:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return YamlFile(None, {})
        lines: dict[KeyPath, int] = {}
        for key_path, node in _keys(root, (), set()):
            line = node.start_mark.line + 1
            if key_path in lines:
                raise InputError(
                    f"{name}, line {line}: {'.'.join(key_path)} stands twice, first in line "
                    f"{lines[key_path]}; keep one of them"
                )
            lines[key_path] = line
        return YamlFile(loader.construct_document(root), lines)
    finally:
        loader.dispose()


def _keys(node: Any, key_path: KeyPath, seen_nodes: set[int]) -> Iterator[tuple[KeyPath, Any]]:
    """Yield all keys and items below a node; aliased nodes come once."""
    if id(node) in seen_nodes:
        return
    seen_nodes.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                child_path = (*key_path, str(key.value))
                yield child_path, key
                yield from _keys(value, child_path, seen_nodes)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            child_path = (*key_path, str(number))
            yield child_path, item
            yield from _keys(item, child_path, seen_nodes)


_SHORT = Repr()
# A message shows what was written, and of much of it the beginning.
_SHORT.maxstring = _SHORT.maxother = 200


class _Typed(str):
    """A text from the command line; file names in it are relative to the working folder."""

    __slots__ = ()


def _whole_path(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    folder = Path() if isinstance(value, _Typed) else (info.context or {}).get("folder", Path())
    return Path(folder, Path(value).expanduser()).absolute()


def _folder_or_name(value: Any, info: ValidationInfo) -> Any:
    """Expand the path of an existing folder; anything else stays, as a name on the hub."""
    path = _whole_path(value, info)
    return str(path if path.is_dir() else value) if isinstance(path, Path) else value


# A file or folder, whether it is there or not.
FilePath = Annotated[Path, BeforeValidator(_whole_path)]

# A model: a folder that is there, or else a name on the hub.
ModelName = Annotated[str, BeforeValidator(_folder_or_name)]


def read_settings(
    path: Path, model_class: type[Settings], overrides: Sequence[str] = ()
) -> Settings:
    raw_settings = read_yaml(path).content
    if not isinstance(raw_settings, dict | None):
        raise InputError(f"{path} must hold settings, each as `name: value` on a line of its own")
    content = {str(name): value for name, value in (raw_settings or {}).items()}
    overridden: set[str] = set()
    for override in overrides:
        name, separator, text = override.partition("=")
        keys = [key.strip() for key in name.split(".")]
        if not separator or not all(keys):
            raise SettingError(f"--set {override} says nothing: write --set key=value")
        try:
            value = _typed(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise SettingError(f"--set {override} has a value that is not YAML: {error}") from error
        overridden.add(".".join(keys))
        settings = content
        for key in keys[:-1]:
            nested = settings.get(key)
            settings[key] = dict(nested) if isinstance(nested, dict) else {}
            settings = settings[key]
        settings[keys[-1]] = value
    try:
        return model_class.model_validate(content, context={"folder": path.absolute().parent})
    except ValidationError as error:
        messages = (_fault(fault, path, model_class, overridden) for fault in error.errors())
        faults = dict.fromkeys(messages)
        raise SettingError("; ".join(faults)) from error


def _typed(value: Any) -> Any:
    """Mark all texts in a value as coming from the command line."""
    if isinstance(value, str):
        return _Typed(value)
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, dict):
        return {name: _typed(item) for name, item in value.items()}
    return value


def _fault(
    fault: Mapping[str, Any], path: Path, model_class: type[BaseModel], overridden: set[str]
) -> str:
    """Describe a fault: source, setting, problem, and what is allowed."""
    key_path = [str(part) for part in fault["loc"]]
    key = ".".join(key_path)
    source = "--set" if key in overridden else str(path)
    if fault["type"] == "missing":
        return f"{source}: the setting {key} is missing"
    if fault["type"] == "extra_forbidden":
        return f"{source}: there is no setting {key}{_instead(key_path, model_class)}"
    message = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if fault["type"] == "too_short":
        message = f"should have {fault['ctx']['min_length']} or more entries"
    message = message.replace("a valid tuple", "a list")
    input_note = (
        "" if isinstance(fault["input"], dict) else f" and is {_SHORT.repr(fault['input'])}"
    )
    return f"{source}: {key} {message}{input_note}" if key else f"{source}: {message}"


def _instead(key_path: Sequence[str], model_class: type[BaseModel]) -> str:
    """List the existing settings in place of an unknown one."""
    fields = model_class.model_fields
    for part in key_path[:-1]:
        annotation = fields[part].annotation if part in fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return ""
        fields = annotation.model_fields
    return f"{did_you_mean(key_path[-1], fields)}; there are {', '.join(fields)}"
