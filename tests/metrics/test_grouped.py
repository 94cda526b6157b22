"""Values by group: two means, the same in whatever order and from however many workers."""

import math
import pickle

from hypothesis import given
from hypothesis import strategies as st

from signspot.metrics.ranking import Averages, GroupedValues

PAIRS = st.lists(st.tuples(st.sampled_from("abcd"), st.floats(-1e6, 1e6)), max_size=30)


def collect(pairs: list[tuple[str, float]]) -> GroupedValues:
    values = GroupedValues()
    for group, value in pairs:
        values.add(group, value)
    return values


def test_every_group_counts_the_same_or_every_value_does() -> None:
    assert collect([("a", 1), ("a", 1), ("a", 1), ("b", 0)]).value() == Averages(per_group=0.5, per_instance=0.75)


def test_nothing_has_no_mean() -> None:
    empty = GroupedValues().value()
    assert math.isnan(empty.per_group)
    assert math.isnan(empty.per_instance)


@given(PAIRS.filter(len), st.randoms(use_true_random=False), st.integers(0, 30))
def test_workers_and_order_change_no_bit(pairs: list[tuple[str, float]], random, cut: int) -> None:
    shuffled = random.sample(pairs, len(pairs))
    merged = pickle.loads(pickle.dumps(collect(shuffled[:cut])))
    merged.merge(collect(shuffled[cut:]))
    assert merged.value() == collect(pairs).value()
    assert {group: sorted(values) for group, values in merged.items()} == {
        group: sorted(value for name, value in pairs if name == group) for group, _ in pairs
    }
