"""Random objects at the edges of a schema: what an API server stores and nobody expects."""

from __future__ import annotations

import copy
import random
from typing import Any

Schema = dict[str, Any]

STRINGS = (
    "", " ", "-", "a", "A" * 300, "0", "-1", "1e999", "null", "{}", "{name}", "{0}", "{kind!r:>9999}", "%s%n", "$(HOSTNAME)",
    "$$(A)", "; touch /tmp/x", "`id`", "$(id)", "../../etc/passwd", "/", "a/b/c", "\x07\x1b[2J", "\u202eexe", "\u0000",
    "ß日本🚀", "x" * 5000, "Never", "Always", "ExitCode", "OnFailure", "Running", "All", "None", "Launcher", "Worker", "Master",
    "nvidia.com/gpu", "0-5,7-1", "9" * 30,
)  # fmt: skip
TIMES = (
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2026-01-01T00:00:00+24:00", "2026-01-01t00:00:00z",
)  # fmt: skip
QUANTITIES = ("0", "-1", "1e9", "1E18", "500m", "1n", "9" * 18, ".5", "1Ei", 0, -1, 2**31 - 1)
INTEGERS = (0, -1, 1, 2, 3, 127, 137, 20_001, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63))


class ObjectGenerator:
    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def mutated(self, obj: Any, schema: Schema, changes: int) -> Any:
        """A copy with some changes that the schema allows, or nearly so."""
        changed = copy.deepcopy(obj)
        for _ in range(changes):
            changed = self._mutate(changed, schema, 0)
        return changed

    def value(self, schema: Schema, depth: int = 0) -> Any:
        """A random value of the schema."""
        if schema.get("x-kubernetes-int-or-string"):
            return self._rng.choice(QUANTITIES)
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                count = self._rng.choice((0, 1, 1, 2, 5)) if depth < 8 else 0
                return [self.value(schema.get("items", {}), depth + 1) for _ in range(count)]
            case "integer":
                return self._rng.choice(INTEGERS)
            case "number":
                return self._rng.choice((0.0, -1.5, 1e18))
            case "boolean":
                return self._rng.random() < 0.5
            case "string":
                return self._string(schema)
            case _:
                return self._rng.choice((None, 1, "x", [], {}, [[[]]]))

    def _string(self, schema: Schema) -> str:
        if schema.get("enum"):
            return str(self._rng.choice(schema["enum"]))
        return self._rng.choice(TIMES if schema.get("format") == "date-time" else STRINGS)

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties: Schema = schema.get("properties", {})
        chosen = [name for name in properties if self._rng.random() < (0.3 if depth < 4 else 0.1)]
        result = {
            name: self.value(properties[name], depth + 1) for name in {*chosen, *schema.get("required", ())} & {*properties}
        }
        if isinstance(inner := schema.get("additionalProperties"), dict) and depth < 8:
            keys = [self._rng.choice(STRINGS[:30]) for _ in range(self._rng.randrange(3))]
            result |= {key: self.value(inner, depth + 1) for key in keys}
        return result

    def _mutate(self, value: Any, schema: Schema, depth: int) -> Any:
        properties: Schema = schema.get("properties", {})
        inner = schema.get("additionalProperties")
        if isinstance(value, dict) and (properties or isinstance(inner, dict)) and self._rng.random() < 0.95:
            names = [*properties, *(key for key in value if key not in properties)]
            # Most changes are made where the object has something: the templates have hundreds of unused fields.
            present = [name for name in names if name in value]
            name = self._rng.choice(present if present and self._rng.random() < 0.7 else names or ["x"])
            below = properties.get(name, inner if isinstance(inner, dict) else {})
            value[name] = self._mutate(value[name], below, depth + 1) if name in value else self.value(below, depth + 1)
            return value
        if isinstance(value, list) and value and self._rng.random() < 0.8:
            index = self._rng.randrange(len(value))
            value[index] = self._mutate(value[index], schema.get("items", {}), depth + 1)
            return value
        return self.value(schema, depth)
