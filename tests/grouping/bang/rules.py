"""The two axioms and the capacity rule, checked from what they say."""

import itertools


def texts_of(keys, total):
    return ["".join(format(w, "064b") for w in row)[:total] for row in keys.tolist()]


def check_rules(regions, members, keys, capacity):
    """Check blocks given by their regions and their members; ``keys`` are those of all records, by id."""
    total = sum(regions.bits)
    own = [format(number, f"0{level}b") if level else "" for number, level in regions.numbers()]
    assert len(set(own)) == len(own)
    assert "" in own, "the blocks cover the space"
    for one, other in itertools.combinations(own, 2):
        nested = one.startswith(other) or other.startswith(one)
        apart = any(a != b for a, b in zip(one, other, strict=False))
        assert nested != apart, "two regions are nested or disjoint"
    texts = texts_of(keys, total)
    for region, block in zip(own, members, strict=True):
        for record in block:
            assert max((r for r in own if texts[record].startswith(r)), key=len) == region, "the innermost region"
    sizes = [len(block) for block in members]
    if sum(sizes) >= capacity:
        assert min(sizes) >= capacity
    else:
        assert len(own) == 1
    for block in members:
        size = len(block)
        if size > 2 * capacity:
            prefixes = [texts[record][:level] for record in block for level in range(total + 1)]
            inside = {prefix: sum(texts[r].startswith(prefix) for r in block) for prefix in set(prefixes)}
            assert not any(capacity <= count <= size - capacity for count in inside.values()), "it could be split"
            cells = [texts[record] for record in block]
            assert size < 3 * capacity or max(map(cells.count, cells)) > size - capacity
