#!/usr/bin/env python3
"""Judges YAML documents by a JSON Schema: what an editor with a YAML language server would say.

usage: judge_documents.py SCHEMA < documents
Documents are separated by NUL. Prints one line for each: "yes", or "no" and why. Exit 3: a module is missing.
YAML is resolved by the core schema of YAML 1.2, as language servers do, and not as PyYAML does by itself.
"""
import json
import re
import sys

try:
    import yaml
    from jsonschema import Draft202012Validator
except ImportError as error:
    print(f"{error}; Debian has it as python3-yaml and python3-jsonschema", file=sys.stderr)
    sys.exit(3)

RESOLVERS = [
    ("null", r"~|null|Null|NULL|", lambda text: None),
    ("bool", r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    ("int", r"[-+]?[0-9]+", int),
    ("octal", r"0o[0-7]+", lambda text: int(text[2:], 8)),
    ("hex", r"0x[0-9a-fA-F]+", lambda text: int(text[2:], 16)),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", float),
    ("infinity", r"[-+]?\.(?:inf|Inf|INF)", lambda text: float(text.replace(".", ""))),
    ("nan", r"\.(?:nan|NaN|NAN)", lambda text: float("nan")),
]


class CoreLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    yaml_implicit_resolvers = {}


for name, pattern, convert in RESOLVERS:
    CoreLoader.add_implicit_resolver(f"tag:core,{name}", re.compile(rf"^(?:{pattern})\Z"), None)
    CoreLoader.add_constructor(f"tag:core,{name}", lambda loader, node, convert=convert: convert(node.value))


def key_text(loader, node):
    """Keys are texts, whatever they look like; of nothing, the empty one."""
    return "" if node.tag == "tag:core,null" else str(loader.construct_scalar(node))


def mapping(loader, node):
    return {key_text(loader, key): loader.construct_object(value, deep=True) for key, value in node.value}


CoreLoader.add_constructor("tag:yaml.org,2002:map", mapping)


def main():
    with open(sys.argv[1]) as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for text in sys.stdin.read().split("\0"):
        error = next(validator.iter_errors(yaml.load(text, Loader=CoreLoader)), None)
        why = "" if error is None else f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
        print("yes" if error is None else "no " + why.replace("\n", " ")[:300], flush=False)


if __name__ == "__main__":
    main()
