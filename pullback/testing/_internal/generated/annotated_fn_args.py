"""The arguments of functions without a signature. Every function here has one, which tests read themselves."""

from __future__ import annotations

from typing import Any

annotated_args: dict[Any, list[dict[str, Any]]] = {}
