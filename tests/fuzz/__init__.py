"""Random cases against every public estimator and function, with oracles that need no stored answer.

A case is a number under a seed: ``Case(seed, number)`` draws a subject (an estimator or a function), parameters (valid
or not), data with pathologies, and a question. It runs in a process of its own, forked from a parent that has imported
everything, under limits of processor time and memory, so that a crash, a hang or a memory error is a finding and not
the end of the run. What counts as a fault:

* an answer that is not finite, probabilities that do not sum to one or disagree with the labels;
* a certificate that is false: a point of lower objective than the certified gap allows, found by another route;
* two fits that must agree and do not (row order, label names, weights and repeats, sparse and dense, refit and new);
* an error that is no refusal: AttributeError, IndexError, LinAlgError, a message of NumPy's from the depths; a wrong
  parameter accepted, or refused without naming it; an ordinary problem refused or not brought to convergence;
* a RuntimeWarning, an interrupt served late, a crash, more than 20 s of processor time.

``python -m tests.fuzz --seconds 600`` runs cases, ``--seed S --case K`` repeats one in the foreground.
"""
