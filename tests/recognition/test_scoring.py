"""Which signs of test videos a recogniser is tested on."""

import shutil

from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import write_records
from signspot.recognition.scoring import LABELLED, signs_to_test
from signspot.types import Label, LabelSource


def test_without_truth_sure_mouthings_and_verified_signs_are_tested_and_never_d(tiny_copy: Corpus) -> None:
    (test, *_) = tiny_copy.in_split("test")
    shutil.rmtree(tiny_copy.folder / "truth" / "signs")
    shutil.rmtree(tiny_copy.folder / "labels")
    tested = [
        Label("apple", test.id, 1.0, 0.9, LabelSource.MOUTHING),
        Label("apple", test.id, 2.0, 1.0, LabelSource.VERIFIED),
    ]
    others = [
        Label("apple", test.id, 3.0, 0.89, LabelSource.MOUTHING),
        Label("apple", test.id, 4.0, 1.0, LabelSource.DICTIONARY),
        Label("apple", test.id, 5.0, 0.0, LabelSource.VERIFIED),
        Label("pear", test.id, 6.0, 1.0, LabelSource.MOUTHING),
    ]
    write_records([*tested, *others], tiny_copy.layout.labels("all"))
    signs = signs_to_test(tiny_copy, {"apple"})
    assert {name: [(sign.time, sign.source) for sign in tested_signs] for name, tested_signs in signs.items()} == {
        LABELLED: [(sign.time, sign.source) for sign in tested]
    }
