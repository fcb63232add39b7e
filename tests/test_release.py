"""What publishes the library is well formed and says the same everywhere: workflows, recipe, templates, versions."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
pytestmark = pytest.mark.skipif(not GITHUB.is_dir(), reason="about the repository, which is not at hand")
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def steps(path):
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_parse_and_ask_for_no_more_rights_than_reading(path):
    flow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert flow["permissions"] == {"contents": "read"}
    assert flow.get("on") or flow.get(True), "nothing says when it runs (YAML may read the key `on` as a truth value)"
    for name, job in flow["jobs"].items():
        assert job["runs-on"], name
        needs = job.get("needs", [])
        assert {needs} <= set(flow["jobs"]) if isinstance(needs, str) else set(needs) <= set(flow["jobs"]), name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), f"{name}: {step}"
            if "uses" in step:
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", step["uses"]), step["uses"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_the_makefile_has(path):
    called = {
        word
        for step in steps(path)
        for line in step.get("run", "").splitlines()
        if line.strip().startswith("make ")
        for word in re.sub(r"\w+=(\$\{\{.*?\}\}|\S+)", "", line).split()[1:]
    }
    missing = {name for name in called if not re.search(rf"^{re.escape(name)}:", MAKEFILE, re.M)}
    assert not missing


def test_only_the_publishing_job_holds_an_identity_and_it_waits_for_a_tag():
    jobs = {
        name: job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
        if "id-token" in job.get("permissions", {})
    }
    assert set(jobs) == {"publish", "deploy"}
    assert all("github.ref" in job["if"] for job in jobs.values())


@pytest.mark.parametrize("path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_templates_have_a_name_and_a_body(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem != "config":
        assert form["name"]
        assert form["description"]
        assert all(part["attributes"]["label"] for part in form["body"])


def test_the_recipe_asks_for_the_versions_of_the_project():
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    asked = dict(re.findall(r"^\s+- ([\w-]+) >=([\d.]+)", recipe[recipe.index("  run:") :], re.M))
    for requirement in PROJECT["project"]["dependencies"]:
        name, lowest = requirement.split(">=")
        assert asked[name] == lowest


def test_wheels_are_built_for_every_python_that_is_claimed():
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    workflow = (GITHUB / "workflows" / "tests.yml").read_text(encoding="utf-8")
    for version in claimed:
        assert f'"{version}"' in workflow


def test_the_citation_has_what_a_citation_needs_and_no_gaps():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["authors"]
    assert not re.search(r"TODO|XXX|placeholder|0000|example\.", (ROOT / "CITATION.cff").read_text(), re.I)
    assert all(one["authors"] and one["title"] and one["year"] for one in citation["references"])
