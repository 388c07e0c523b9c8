"""Imports flow one way: a module knows those of its own layer and of the layers below."""

import subprocess
import sys

import grimp
import pytest

# From the bottom to the top. A name stands for the module and all below it.
LAYERS = [
    ["base", "border", "runtime", "draws", "divergence", "forks", "kinds", "limits", "threads"],
    ["problem"],
    ["methods", "features", "wrappers"],
    ["metrics", "tables", "store"],
    ["datasets"],
    ["online"],
    ["recipe"],
    ["scoring"],
    ["audit", "report"],
    ["documents"],
    ["runs"],
    ["studies", "checks"],
    ["research"],
    ["estimator", "service"],
    ["cli"],
]
PLACES = {name: place for place, names in enumerate(LAYERS) for name in names}
ANYWHERE = {"ffml", "ffml.__main__"}  # the package loads names when they are first used


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("ffml", cache_dir=None)


def room(module):
    return module.split(".")[1]


def test_every_module_has_its_layer(graph):
    assert {room(m) for m in graph.modules - ANYWHERE} == set(PLACES)


def test_imports_flow_down(graph):
    upwards = {
        f"{importer} imports {imported}"
        for importer in graph.modules - ANYWHERE
        for imported in graph.find_modules_directly_imported_by(importer) - ANYWHERE
        if PLACES[room(imported)] > PLACES[room(importer)]
    }
    assert not sorted(upwards)


def test_private_modules_stay_in_their_room(graph):
    intruders = {
        f"{importer} imports {imported}"
        for importer in graph.modules - ANYWHERE
        for imported in graph.find_modules_directly_imported_by(importer) - ANYWHERE
        if room(imported) != room(importer)
        and any(part.startswith("_") for part in imported.split(".")[2:])
    }
    assert not sorted(intruders)


@pytest.mark.parametrize("room", ["metrics", "audit", "store", "tables"])
def test_who_counts_and_reads_needs_no_jax(room):
    code = f"""if True:
        import importlib, pkgutil, sys
        import ffml.{room} as room
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            importlib.import_module(module.name)
        assert not {{"jax", "jaxlib"}} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], check=True)
