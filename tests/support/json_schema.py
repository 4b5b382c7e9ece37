# SPDX-License-Identifier: BSD-2-Clause
"""JSON Schema as far as tests/fixtures/schemas uses it: type, properties, required, additionalProperties, items."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}


def problems(value, schema, where="$"):
    """The errors in the value, one per line."""
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not any(isinstance(value, TYPES[name]) and (name not in ("integer", "number") or is_number) for name in names):
        return [f"{where} is {type(value).__name__}, not {' or '.join(names)}"]
    found = []
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{where} has no {key}" for key in schema.get("required", []) if key not in value]
        for key, one in value.items():
            if key in known:
                found += problems(one, known[key], f"{where}.{key}")
            elif isinstance(more, dict):
                found += problems(one, more, f"{where}.{key}")
            elif not more:
                found.append(f"{where} has {key}, which the schema does not know")
    if isinstance(value, list) and "items" in schema:
        for place, one in enumerate(value):
            found += problems(one, schema["items"], f"{where}[{place}]")
    return found
