#!/usr/bin/env python3
"""Compares the time of `check` for the overlays of a directory with the time of kubeconform for their build output.

Usage: kubeconform.py PROGRAM KUBECONFORM DOCUMENT OVERLAYS

PROGRAM checks all overlays below OVERLAYS in one run, and builds and validates them in another. KUBECONFORM is given what
they build, written to files beforehand, and the schemas of the definitions in an OpenAPI v2 DOCUMENT. All with two threads,
in turn, SMP_RUNS=11 times; the medians are told, of the time that passes and of the time of processors.

Of schemas there is a file for each kind, `kind-group-version.json`, with all that it refers to in it and without fields of
other names: what kubeconform's own are like (standalone, strict).
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

REFERENCE = "#/definitions/"
GVKS = "x-kubernetes-group-version-kind"
# Parsed as numbers and as strings.
EITHER = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
QUANTITY = {"oneOf": [{"type": "string"}, {"type": "number"}]}


class Definitions:
    def __init__(self, definitions):
        self.definitions = definitions

    def resolved(self, schema, within):
        """The schema with inlined references. A recursive reference accepts any value."""
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(REFERENCE)
            if name in within:
                return {}
            if name.endswith("api.resource.Quantity"):
                return QUANTITY
            return self.resolved(self.definitions[name], within | {name})
        if schema.get("format") == "int-or-string":
            return EITHER
        new = {key: value for key, value in schema.items() if key in ("type", "enum", "format", "required")}
        if "items" in schema:
            new["items"] = self.resolved(schema["items"], within)
        if "properties" in schema:
            fields = schema["properties"].items()
            new["properties"] = {name: nullable(self.resolved(field, within)) for name, field in fields}
            new["additionalProperties"] = False
        if "additionalProperties" in schema:
            new["additionalProperties"] = self.resolved(schema["additionalProperties"], within)
        return new


def nullable(schema):
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return schema


def write_schemas(document, directory):
    with open(document, encoding="utf-8") as file:
        definitions = Definitions(json.load(file)["definitions"])
    directory.mkdir()
    for name, definition in definitions.definitions.items():
        for gvk in definition.get(GVKS, []):
            group = [gvk["group"].split(".")[0]] if gvk["group"] else []
            path = "-".join([gvk["kind"].lower(), *group, gvk["version"].lower()]) + ".json"
            with open(directory / path, "w", encoding="utf-8") as file:
                json.dump(definitions.resolved(definition, frozenset({name})), file)


def write_built(program, overlays, directory):
    """Returns the overlays that build with output."""
    directory.mkdir()
    names = ("kustomization.yaml", "kustomization.yml", "Kustomization")
    found = sorted({path.parent for name in names for path in pathlib.Path(overlays).rglob(name)})
    built = []
    for overlay in found:
        run = subprocess.run([program, "build", "--offline", overlay], capture_output=True, check=False)
        if run.returncode == 0 and run.stdout:
            (directory / f"{len(built)}.yaml").write_bytes(run.stdout)
            built.append(overlay)
    return built


def seconds(command):
    """The wall time and the CPU time of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode not in (0, 1):
        sys.exit(f"{command[:3]} ended with {run.returncode}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(program, kubeconform, document, overlays):
    os.environ.update(RAYON_NUM_THREADS="2", GOMAXPROCS="2", KUBECONFIG=os.devnull)
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        write_schemas(document, folder / "schemas")
        built = write_built(program, overlays, folder / "built")
        location = f"{folder}/schemas/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
        flags = ["-n", "2", "-strict", "-ignore-missing-schemas", "-schema-location", location]
        ways = {
            "check": [program, "check", "--offline", "-o", "json", *built],
            "build --validate": [program, "build", "--offline", "--validate", *built],
            "kubeconform": [kubeconform, *flags, folder / "built"],
        }
        figures = {way: [] for way in ways}
        for _ in range(int(os.environ.get("SMP_RUNS", "11"))):
            for way, command in ways.items():
                figures[way].append(seconds(command))
    medians = {way: [statistics.median(column) for column in zip(*rows)] for way, rows in figures.items()}
    print(f"{len(built)} overlays that build to something")
    for way, (took, worked) in medians.items():
        ratios = [medians["kubeconform"][i] / figure for i, figure in enumerate((took, worked))]
        print(
            f"{way:17} {took * 1000:6.0f} ms, of processors {worked * 1000:6.0f} ms;"
            f" kubeconform takes {ratios[0]:.1f} times as long, {ratios[1]:.1f} of processors"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
