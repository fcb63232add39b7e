"""Every table and figure of the five papers behind softmargin, run again: published numbers beside ours.

``exhibits()`` lists them; the command line ``softmargin papers`` runs them. One module is one experiment with the
tables and figures that show it; ``conventions`` converts the papers' penalties and widths. What experiments of your own
need too is public here: splits into train, tune and test rows, the choice among ties, screening of genes, a runner that
can be interrupted, and paired tests.
"""

from softmargin.papers._catalogue import choose, exhibits
from softmargin.papers._exhibit import Cell, Exhibit, Experiment, Note, Part, Results
from softmargin.papers._protocol import (
    PairedTest,
    between_within_ratio,
    paired_test,
    pick,
    split_rows,
    variation_ratio,
)
from softmargin.papers._run import Job, Store, jobs_of, repeat, run_jobs
from softmargin.papers._verdict import VERDICTS, Verdict, compare, tally
from softmargin.papers._write import PAPERS, Shown, show, write_markdown, write_page

__all__ = [
    "PAPERS",
    "VERDICTS",
    "Cell",
    "Exhibit",
    "Experiment",
    "Job",
    "Note",
    "PairedTest",
    "Part",
    "Results",
    "Shown",
    "Store",
    "Verdict",
    "between_within_ratio",
    "choose",
    "compare",
    "exhibits",
    "jobs_of",
    "paired_test",
    "pick",
    "repeat",
    "run_jobs",
    "show",
    "split_rows",
    "tally",
    "variation_ratio",
    "write_markdown",
    "write_page",
]
