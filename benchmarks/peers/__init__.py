"""One adapter per peer: the same problem handed over in the peer's own parameters, the result handed back in ours.

Every adapter of a penalised linear problem takes ``C`` (or ``Cs``) and ``l1_ratio`` in softmargin's convention,
``C * sum phi(y f) + (1 - l1_ratio)/2 |b|^2 + l1_ratio |b|_1``, labels in {-1, +1}, and returns ``(coefs, intercepts)``.
"""
