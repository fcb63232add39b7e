"""Whatever tables, keys, columns, levels and labels are called, a query holds them as names and strings of its dialect.

A query is read here as each database reads it: strings and quoted names are taken out by the rules of the dialect, and
what is left must be the words of the query alone.
"""

import re

import numpy as np
import pandas as pd
import pytest

import softmargin as sm
from softmargin import export
from softmargin.expansions.rules.sql import DIALECTS

HOSTILE = [
    "a'; DROP TABLE t; --",
    'b"; DROP TABLE t; --',
    "c`; DROP TABLE t; --",
    "d]; DROP TABLE t; --",
    "e\\'; DROP TABLE t; --",
    "f\\",
    "g\n; DROP TABLE t --",
    "h*/ DROP TABLE t /*",
    'i\\"; DROP TABLE t; --',
    "j\\`; DROP TABLE t; --",
    "k $$; DROP TABLE t; $$",
    "' OR '1'='1",
]
N = 150


def bare(query, dialect):
    """The query without its strings and quoted names, each of which becomes Q."""
    first, last = map(re.escape, dialect.names)
    plain = r"[^'\\]|\\." if dialect.backslash_escapes else "[^']"
    doubled = "|''" if dialect.doubled_quotes else ""
    string = f"'(?:{plain}{doubled})*'"
    name = rf"(?:\\.|[^\\{last}])*" if dialect.escaped_names else rf"(?:{last}{last}|[^{last}])*"
    return re.sub(f"{string}|{first}{name}{last}", "Q", query, flags=re.DOTALL)


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {name: rng.normal(size=N) if k % 2 == 0 else rng.choice(HOSTILE, N) for k, name in enumerate(HOSTILE)}
    )
    numbers = X[HOSTILE[::2]]
    rank = np.digitize(numbers.iloc[:, 0] + 0.5 * rng.normal(size=N), [-0.4, 0.4])
    several, two = np.array(HOSTILE[:3])[rank], np.array(HOSTILE[4:6])[(rank > 0).astype(int)]
    return {
        "rules": sm.RuleBoostClassifier(n_rules=10).fit(X, two),
        "trees": sm.RuleBoostClassifier(learner="trees", n_rules=5).fit(X, several),
        "linear": sm.MarginClassifier().fit(numbers, several),
        "calibrated": sm.ScoreCalibrator(sm.MarginClassifier(loss="hinge")).fit(numbers, two),
        "automatic": sm.AutoClassifier(effort="fast").fit(X, two),
    }


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["rules", "trees", "linear", "calibrated", "automatic"])
def test_no_name_is_read_as_sql(models, name, dialect):
    for table in HOSTILE if name == "linear" else HOSTILE[:1]:
        query = export.to_sql(models[name], table, dialect=dialect, key=[HOSTILE[0], HOSTILE[-1]])
        left = bare(query, DIALECTS[dialect])
        assert not re.search(r"DROP|--|/\*|[;'\"`\\\]\[$]", left)
    if name == "rules":
        assert not re.search(r"DROP|--|/\*|[;'\"`\\\]\[$]", bare(models[name].sql(dialect=dialect), DIALECTS[dialect]))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_reading_of_this_file_sees_what_is_not_quoted(dialect):
    rules = DIALECTS[dialect]
    assert bare(f"SELECT {rules.name('x')} {rules.string('y')}", rules).replace("N", "") == "SELECT Q Q"
    assert "DROP" in bare("SELECT 'a'; DROP TABLE t; --'", rules)
    if rules.backslash_escapes:
        assert "DROP" in bare("SELECT 'a\\\\'; DROP TABLE t", rules)
    else:
        assert "DROP" in bare("SELECT 'a\\'; DROP TABLE t", rules)
