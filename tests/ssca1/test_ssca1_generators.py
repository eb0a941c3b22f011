"""The generators of SSCA#1 against glibc, the definition of MT19937, and a published run."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
import pytest

from pysw_cl.errors import InputError
from pysw_cl.ssca1.codons import ACID, BASES, CODONS, encode, similarity
from pysw_cl.ssca1.generators import SPEC_PAIRS, Data, GlibcRandom, ornl, paper, spec


def whole(data: Data) -> list[bool]:
    """Which pairs do both sequences still hold?"""
    return [min(data.find(pair)) >= 0 for pair in data.pairs]


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, 2**31, 2613174142, 2**32 - 1])
def test_rand_is_that_of_glibc(seed: int) -> None:
    name = ctypes.util.find_library("c")
    if name is None or "libc.so.6" not in name:
        pytest.skip("needs glibc")
    libc = ctypes.CDLL(name)
    libc.srand(ctypes.c_uint(seed))
    wanted = [libc.rand() for _ in range(1000)]
    numbers = GlibcRandom(seed)
    found = np.concatenate([numbers.take(count) for count in (1, 29, 30, 31, 0, 909)])
    assert found.tolist() == wanted


def test_mersenne_twister() -> None:
    """The first number of the seed 5489, and the 10,000th, are in C++'s standard."""
    drawn = np.random.RandomState(5489).randint(0, 1 << 32, 10_000, dtype=np.uint32)
    assert (int(drawn[0]), int(drawn[-1])) == (3499211612, 4123659995)


def test_codons() -> None:
    assert CODONS[16 * 3 + 4 * 1 + 2] == "tgc" and bytes(BASES[54]).decode() == "tgc"
    assert [CODONS[code] for code in encode("*WA")] == ["tga", "tgg", "gcg"]
    assert [CODONS[code] for code in encode("*WA", first=True)] == ["taa", "tgg", "gct"]
    scores = similarity()
    assert sorted(np.unique(scores)) == [-3, 4, 5] and (np.diag(scores) == 5).all()
    assert scores[CODONS.index("tga"), CODONS.index("taa")] == 4 and len(set(ACID)) == 21


def test_inserts_of_the_published_run() -> None:
    data = ornl(32846, 2613174141, 2)
    assert list(map(list, data.inserted)) == [[9674, 3989, 29873], [18789, 14384, 23040]]
    assert len(data.main) == len(data.match) == 32846 and all(whole(data))
    text = data.pairs[2].codons(1, True)
    assert data.match[23040 : 23040 + len(text)].tolist() == text.tolist()


def test_pairs_of_spec() -> None:
    """All of main's codons are random but those that are inserted, which are never lost."""
    data = spec(1 << 15, 1)
    added = sum(len(pair.codons(0, True)) for pair in SPEC_PAIRS)
    assert len(data.main) == (1 << 15) + added
    drawn = np.random.RandomState(11).randint(0, 1 << 32, 1 << 15, dtype=np.uint32) >> 17
    wanted = np.ceil(63 * drawn.astype(float) / 32767).astype(np.uint8)
    first = min(data.inserted[0])
    assert data.main[:first].tolist() == wanted[:first].tolist() and wanted.min() == 0
    for k, pair in enumerate(SPEC_PAIRS):
        for side, codes in enumerate((data.main, data.match)):
            text, start = pair.codons(side, True), data.inserted[side][k]
            assert codes[start : start + len(text)].tolist() == text.tolist()
    assert all(all(whole(spec(40, seed))) for seed in range(20))


def test_a_pair_that_is_lost() -> None:
    """It is overwritten where two of them overlap, which few seeds bring about."""
    found = [whole(ornl(200, seed, 1)) for seed in range(20)]
    assert not all(map(all, found)) and any(map(all, found))
    found = [whole(ornl((1 << 15) + 78, seed, 1)) for seed in range(1, 21)]
    assert sum(map(all, found)) >= 18


def test_random_letters_and_bad_input() -> None:
    data = paper((10, 300), 3)
    assert (len(data.match), len(data.main), data.main.max()) == (10, 300, 3)
    with pytest.raises(InputError, match="1 ranks need 128 codons, not 100"):
        ornl(100, 1, 1)
