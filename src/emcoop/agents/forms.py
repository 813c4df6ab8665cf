"""The written form of an environment's plans: what a model is told to answer, what a human may type.

Both are read off the environment's `plan_schema`, so they can offer nothing that it would refuse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import SkipJsonSchema

from emcoop.core.config import nearest
from emcoop.core.types import NO_TASK, Plan

KIND = "action_type"
"""The field of a symbolic action that names it; its one value is a literal."""

MAX_DEPTH = 6

_SKIPPED: Any = SkipJsonSchema
"""Marks what a JSON schema leaves out (typed as an alias, which no instance check takes)."""


class FormError(ValueError):
    """A text that is no plan; the message says what is wrong with it, and where."""


def action_type(plan_schema: type[BaseModel]) -> Any:
    """The type of one symbolic action: the item of the schema's ``actions`` list (a model or a union of models)."""
    return get_args(plan_schema.model_fields["actions"].annotation)[0]


def action_adapter(plan_schema: type[BaseModel]) -> TypeAdapter[BaseModel]:
    """Validates the JSON form of one symbolic action into an instance of its model."""
    adapter: TypeAdapter[BaseModel] = TypeAdapter(action_type(plan_schema))
    return adapter


def action_models(plan_schema: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The models of the schema's symbolic actions by name, in the order in which it lists them."""
    return {_name(model): model for model in _members(action_type(plan_schema))}


def _members(annotation: Any) -> list[type[BaseModel]]:
    if get_origin(annotation) is Annotated:
        hidden = any(isinstance(mark, _SKIPPED) for mark in get_args(annotation)[1:])
        return [] if hidden else _members(get_args(annotation)[0])  # what the JSON schema skips nobody is told of
    if get_origin(annotation) in (Union, UnionType):
        return [model for member in get_args(annotation) for model in _members(member)]
    return [annotation]


def _name(model: type[BaseModel]) -> str:
    field = model.model_fields.get(KIND)
    values = get_args(field.annotation) if field else ()
    return str(values[0]) if values else model.__name__


# -- for models ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def answer_form(answer_type: type[BaseModel]) -> str:
    """The JSON form of an answer type. Kept, because making a JSON schema costs more than all else in a prompt."""
    return json_form(answer_type.model_json_schema())


@lru_cache(maxsize=64)
def plan_form(plan_schema: type[BaseModel]) -> str:
    """A plan as one line of JSON with the type of each value, then one line for each action there is."""
    schema = plan_schema.model_json_schema()
    most = schema["properties"]["actions"].get("maxItems")
    actions = f"[action, ...{f' at most {most}' if most else ''}]"
    shape = {**schema, "properties": {**schema["properties"], "actions": {"const": "ACTIONS"}}}
    lines = [json_form(shape, schema).replace('"ACTIONS"', actions), "where each action is one of"]
    for model in action_models(plan_schema).values():
        lines.append(f"- {answer_form(model)}")
    return "\n".join(lines)


def json_form(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0) -> str:
    """A JSON schema as one line that shows the shape of what it admits."""
    root = schema if root is None else root
    if "$ref" in schema:
        target = str(schema["$ref"]).rpartition("/")[2]
        return json_form(root["$defs"][target], root, depth) if depth < MAX_DEPTH else target
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return _choice(schema["enum"])
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(json_form(item, root, depth + 1) for item in schema[union]))
    return _typed_form(schema, root, depth)


def _choice(values: Sequence[Any]) -> str:
    """One of several values: texts share their quotation marks, ``"up|down"``."""
    if all(isinstance(value, str) and "|" not in value for value in values):
        return json.dumps("|".join(values), ensure_ascii=False)
    return " or ".join(json.dumps(value) for value in values)


def _typed_form(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        fields = (f"{json.dumps(k)}: {json_form(v, root, depth + 1)}" for k, v in schema["properties"].items())
        return "{" + ", ".join(fields) + "}"
    if kind == "array":
        if "prefixItems" in schema:
            return "[" + ", ".join(json_form(item, root, depth + 1) for item in schema["prefixItems"]) + "]"
        return f"[{json_form(schema.get('items', {}), root, depth + 1)}, ...]"
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if kind == "integer" and low is not None and high is not None:
            return f"<{low} to {high}>"
        bounds = f" from {low}" * (low is not None) + f" to {high}" * (high is not None)
        return f"<{kind}{bounds}>"
    if kind == "string" and ("pattern" in schema or "maxLength" in schema):
        most = f" of at most {schema['maxLength']} characters" if "maxLength" in schema else ""
        return f"<text{most}{' matching ' + schema['pattern'] if 'pattern' in schema else ''}>"
    return {"string": "<text>", "boolean": "true or false", "null": "null"}.get(str(kind), "<value>")


# -- for humans ------------------------------------------------------------------------------------------------------


def compact_forms(plan_schema: type[BaseModel]) -> list[str]:
    """One line per action: its name and its fields in the order in which they are typed, optional ones in []."""
    lines = []
    for name, model in action_models(plan_schema).items():
        schema = model.model_json_schema()
        required = set(schema.get("required", ()))
        words = [name]
        for key, field in schema.get("properties", {}).items():
            if key != KIND:
                word = f"{key}: {json_form(field, schema)}"
                words.append(f"<{word}>" if key in required else f"[{word}]")
        lines.append("  ".join(words))
    return lines


def parse_compact(text: str, plan_schema: type[BaseModel]) -> Plan:
    """A plan typed as ``for block_2:left; push 2 3; wait steps=1``; the task may be left out.

    Values follow the order of the action's fields or name their field. Raises FormError.
    """
    models = action_models(plan_schema)
    task = NO_TASK
    actions: list[BaseModel] = []
    for part in (part.strip() for part in text.split(";")):
        if not part:
            continue
        name, *words = part.split()
        if name == "for" and name not in models:
            if len(words) != 1:
                raise FormError(f"{part!r}: write one task after 'for'")
            task = words[0]
        elif name not in models:
            raise FormError(f"there is no action {name!r}; {nearest(name, models)}")
        else:
            actions.append(_action(name, words, models[name]))
    if not actions:
        raise FormError("a plan needs at least one action")
    return Plan(task, tuple(actions))


def _action(name: str, words: list[str], model: type[BaseModel]) -> BaseModel:
    names = [field for field in model.model_fields if field != KIND]
    values: dict[str, Any] = {}
    if KIND in model.model_fields:
        values[KIND] = name
    free = iter(names)
    for word in words:
        key, equals, value = word.partition("=")
        if not (equals and re.fullmatch(r"[A-Za-z_]\w*", key)):
            key, value = next((n for n in free if n not in values), ""), word
            if not key:
                raise FormError(f"{name} takes {len(names)} values: {', '.join(names) or 'none'}; {word!r} is too many")
        elif key not in names:
            raise FormError(f"{name} has no field {key!r}; {nearest(key, names)}")
        elif key in values:
            raise FormError(f"{name}: {key} is given twice")
        values[key] = _value(value)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise FormError(f"{name}: {explain_errors(error)}") from None


def _value(word: str) -> Any:
    if word[:1] in ("[", "{"):
        try:
            return json.loads(word)
        except (ValueError, RecursionError):
            raise FormError(f"{word!r} is not a JSON value; write it without spaces") from None
    return word


def explain_errors(error: ValidationError) -> str:
    """Pydantic's errors in one line: each place and what is wrong there."""
    items = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(str(p) for p in item['loc']) or 'the value'}: {item['msg']}" for item in items)
