"""Evidence put together by hand: who may be where, and what the groups say."""

from types import SimpleNamespace

import numpy as np
import polars as pl

from reveil.adversary.evidence import Evidence
from reveil.adversary.promises import read_promises
from reveil.adversary.view import View
from reveil.core.arrays import Ragged
from reveil.releases.manifest_parts import Counterfeits
from tests.adversary.tables import SCHEMA
from tests.manifests import promise_of


def evidence_of(
    present, fits, values, fakes, changed=None, *, guarantee=None, known="events", bound=None, columns=None
):
    """Return evidence from what an enumerator of worlds takes: per release persons, the values of groups, their fakes.

    ``fits(t, person, g)``; ``changed[person][t]``; ``columns``: the quasi columns of each release.
    """
    promise = promise_of(guarantee or {"kind": "unknown"})
    persons = list(dict.fromkeys(person for here in present for person in here))
    domain = sorted({value for groups in values for own in groups for value in own})
    views, told = [], []
    for t, here in enumerate(present):
        sizes = np.array([len(own) for own in values[t]], np.int64)
        counted = [np.unique([domain.index(v) for v in own], return_counts=True) for own in values[t]]
        counts = np.concatenate([np.zeros(0, np.int64), *(n for _, n in counted)]).astype(np.int64)
        own = [[g for g in range(len(sizes)) if fits(t, person, g)] for person in here]
        made_up = Counterfeits(sum(fakes[t]))
        manifest = SimpleNamespace(counterfeits=made_up, suppressed=0, withheld=0, dirty=0, promise=promise)
        cells = dict.fromkeys(columns[t] if columns else ["age"])
        candidates = Ragged.of_rows(own, np.int32)
        real = sizes - np.array(fakes[t], np.int64)
        views.append(
            View(
                number=t,
                release=SimpleNamespace(manifest=manifest, cells=cells),
                sizes=sizes,
                fakes=np.array(fakes[t], np.int64),
                values=Ragged.of_rows([codes for codes, _ in counted], np.int32),
                counts=counts,
                present=np.array([persons.index(person) for person in here], np.int32),
                candidates=candidates,
                fits=np.bincount(candidates.items, minlength=len(sizes)),
                crowded=np.zeros(len(here), np.bool_),
                truth=None,
                row_groups=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
                row_codes=None,
                row_ids=None,
                promise=promise,
                all_published=len(here) == int(real.sum()),
            )
        )
        events = [(changed or {}).get(person, {}).get(t) for person in here]
        told.append(np.array([-1 if event is None else int(event) for event in events], np.int8))
    names = pl.Series([str(person) for person in persons])
    limits = read_promises([promise], None, SCHEMA).series
    return Evidence(tuple(views), names, pl.Series(domain), known, tuple(told), bound, limits=limits)


def found(evidence, findings):
    """Return {(person, release): (belief, value, exact, lower)} of what an attack found."""
    lower = np.full(len(findings.belief), np.nan) if findings.lower is None else findings.lower
    at = np.zeros(len(findings.belief), int) if findings.at is None else findings.at
    return {
        (evidence.persons[int(p)], int(t)): (float(b), evidence.values[int(v)], bool(e), float(low))
        for p, t, b, v, e, low in zip(
            findings.person, at, findings.belief, findings.value, findings.exact, lower, strict=True
        )
    }
