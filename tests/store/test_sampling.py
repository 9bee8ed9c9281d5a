"""Samples keep the promises of the HTTP API documents, and follow the rule."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tbcore.store import sampling
from tbcore.store.sampling import priorities, sampled_rows, sampled_rows_of

lengths = st.integers(0, 5000)
counts = st.integers(0, 300)
ordinal_arrays = st.lists(st.integers(0, 100_000), unique=True, max_size=400).map(
    lambda numbers: np.array(sorted(numbers), np.int64)
)


def expected_sample(ordinals: NDArray[np.int64], k: int) -> list[int]:
    """The sample that the rule in the module's docstring gives, computed in plain Python."""
    n = len(ordinals)
    if k == 0 or n <= k:
        return list(range(n))
    others = sorted(range(n - 1), key=lambda row: splitmix64(int(ordinals[row])))[: k - 1]
    return [*sorted(others), n - 1]


def splitmix64(ordinal: int) -> int:
    """The algorithm with Python's integers, as its authors published it."""
    mask = (1 << 64) - 1
    z = (ordinal + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31


def test_priorities_are_those_of_splitmix64() -> None:
    """The first two values for seed 0 are widely published."""
    assert priorities(np.arange(2)).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    ordinals = np.array([0, 1, 77, 2**40, 2**63 - 1], np.int64)
    assert priorities(ordinals).tolist() == [splitmix64(n) for n in ordinals.tolist()]


@given(lengths, counts)
def test_samples_follow_the_rule(n: int, k: int) -> None:
    """Ascending rows, as many as requested: the last one, and those with the lowest priorities."""
    assert sampled_rows(n, k).tolist() == expected_sample(np.arange(n), k)


@given(ordinal_arrays, counts)
def test_samples_of_other_ordinals_follow_the_rule(ordinals: NDArray[np.int64], k: int) -> None:
    """Series from which rows were dropped have such ordinals."""
    assert sampled_rows_of(ordinals, k).tolist() == expected_sample(ordinals, k)


@given(lengths, st.integers(1, 300), st.integers(1, 300))
def test_fewer_samples_are_a_subset_of_more(n: int, a: int, b: int) -> None:
    """A sample of a sample is the same as a sample of the whole series."""
    few, many = sorted((a, b))
    assert set(sampled_rows(n, few)) <= set(sampled_rows(n, many))
    again = sampled_rows(n, many)[sampled_rows_of(sampled_rows(n, many), few)]
    assert again.tolist() == sampled_rows(n, few).tolist()


@given(st.integers(1, 3000), st.integers(2, 100))
def test_one_more_row_changes_at_most_one_of_the_others(n: int, k: int) -> None:
    """Charts must not flicker while they grow."""
    before, after = set(sampled_rows(n, k)[:-1]), set(sampled_rows(n + 1, k)[:-1])
    assert len(after - before) <= 1


@given(st.lists(lengths, max_size=8), st.integers(2, 200))
def test_series_of_the_same_length_are_sampled_alike(others: list[int], k: int) -> None:
    """Whatever was sampled before, the sample of a length is the same."""
    expected = expected_sample(np.arange(2000), k)
    for n in others:
        sampled_rows(n, k)
    assert sampled_rows(2000, k).tolist() == expected


def forget_samples() -> None:
    """Makes the next samples be computed, whatever was sampled before."""
    sampling._cached_sample.cache_clear()
    sampling._candidates.cache_clear()


@settings(deadline=None)
@given(st.lists(st.integers(2, 400), min_size=1, max_size=12), st.integers(1, 60))
def test_long_series_are_sampled_as_the_rule_says(sizes: list[int], k: int) -> None:
    """Lengths may be in any order."""
    # Chunks are made so small that a few hundred rows are many chunks.
    with mock.patch.object(sampling, "_ROWS_HASHED_AT_ONCE", 16):
        forget_samples()
        for n in sizes:
            assert sampled_rows(n, k).tolist() == expected_sample(np.arange(n), k)
    forget_samples()


def test_rows_of_a_growing_series_are_hashed_a_few_times() -> None:
    """Five million ordinals are hashed at once, and not again for each new row."""
    forget_samples()
    with mock.patch.object(sampling, "priorities", wraps=priorities) as hashing:
        for n in (*range(5_000_000, 5_000_100), *range(1_000_000, 5_000_000, 1_000)):
            assert sampled_rows(n, 1000)[-1] == n - 1
    assert sum(len(call.args[0]) for call in hashing.call_args_list) < 36_000_000
    found = sampled_rows(4_999_999, 1000)
    assert np.array_equal(found, sampled_rows_of(np.arange(4_999_999), 1000))


def test_all_rows_are_equally_likely() -> None:
    """Each row but the last is in 9 of 39 samples, over 20,000 samples of 10 of 40 rows.

    The count of each row has a standard deviation of 60; five of these are 300.
    """
    ordinals = np.arange(20_000 * 40, dtype=np.int64).reshape(20_000, 40)
    order = np.argsort(priorities(ordinals[:, :39].ravel()).reshape(-1, 39), axis=1)
    counts = np.bincount(order[:, :9].ravel(), minlength=39)
    assert sampled_rows_of(ordinals[3], 10)[:-1].tolist() == sorted(order[3, :9].tolist())
    assert np.abs(counts - 20_000 * 9 / 39).max() < 300


def test_neighbours_are_chosen_independently() -> None:
    """Hashing consecutive numbers leaves no pattern: pairs of rows are chosen as often as expected.

    A tenth of a million rows is chosen, so both rows of a pair are chosen in one of a hundred
    cases: 10,000, with a standard deviation of 100.
    """
    chosen = np.zeros(1_000_000, np.bool_)
    chosen[sampled_rows(1_000_000, 100_000)] = True
    for distance in (1, 2, 3, 8, 64, 1000):
        both = int((chosen[distance:] & chosen[:-distance]).sum())
        assert abs(both - 10_000) < 500, distance


def test_a_negative_number_of_samples_is_refused() -> None:
    """Unlike 0, a negative number must not return all rows."""
    with pytest.raises(ValueError):
        sampled_rows(10, -1)


def test_samples_are_read_only() -> None:
    """Cached samples are shared by all callers."""
    with pytest.raises(ValueError):
        sampled_rows(100, 10)[0] = 5
