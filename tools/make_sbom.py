"""Print what Ricordo installs as a software bill of materials (CycloneDX 1.5, JSON): names, versions, licences."""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, distribution, requires

from packaging.requirements import Requirement

EXTRAS = ("", "all")


def wanted(name: str, found: dict[str, Distribution]) -> None:
    """A distribution and all it needs here, by name."""
    for line in requires(name) or ():
        need = Requirement(line)
        if need.marker is not None and not any(need.marker.evaluate({"extra": extra}) for extra in EXTRAS):
            continue
        try:
            one = distribution(need.name)
        except ModuleNotFoundError:
            continue
        key = need.name.lower().replace("_", "-")
        if key not in found:
            found[key] = one
            wanted(need.name, found)


def component(one: Distribution) -> dict[str, object]:
    name, version = one.metadata["Name"], one.version
    licence = one.metadata.get("License-Expression") or (one.metadata.get("License") or "").split("\n")[0]
    plain: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}",
    }
    if licence and len(licence) < 80:
        plain["licenses"] = [{"license": {"name": licence}}]
    return plain


def main() -> int:
    found: dict[str, Distribution] = {}
    wanted("ricordo", found)
    own = distribution("ricordo")
    sbom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(own) | {"type": "application"}},
        "components": [component(found[name]) for name in sorted(found)],
    }
    json.dump(sbom, sys.stdout, indent=1)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
