"""A trunk as a classifier: it learns, goes on to the same weights after a stop, and forgets batch norms when asked."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from signspot.corpus.corpus import Corpus
from signspot.corpus.truth import write_records
from signspot.errors import OptionsError
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.registry import build
from signspot.training.landmark_clips import ClipOptions, LabelledSigns
from signspot.training.recogniser import RecogniserConfig, train_recogniser, train_recogniser_on_corpus
from signspot.types import Label

SMALL = {"width": 16, "hand_width": 8, "part_width": 8, "last_width": 16, "features": 32, "norm": "batch"}
CONFIG = RecogniserConfig(steps=30, warm_up=3, lr=1e-2, clips=ClipOptions(clips=8), model=SMALL)


def test_it_learns_and_is_saved(labelled_signs: LabelledSigns, tmp_path: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    trained = train_recogniser(CONFIG, labelled_signs, tmp_path, lambda done, total: steps.append((done, total)))
    encoder = make_encoder("trunk", trained.module, card=trained.card)
    rows = [line.split(",") for line in (tmp_path / "curve.csv").read_text().splitlines()]
    assert rows[0] == ["step", "lr", "loss", "continuous accuracy", "dictionary accuracy"]
    assert float(rows[-1][2]) < 0.7 * float(rows[1][2])
    assert steps[-1] == (30, 30)
    assert encoder.card["data"] == "12 labelled signs and 12 exemplars of 2 words"
    saved = save_encoder(encoder, tmp_path / "trunk.safetensors")
    assert load_encoder(tmp_path / "trunk.safetensors").hash == saved.hash
    assert encoder.contract.dimension == 32


def test_batch_norms_forget_when_the_dictionary_joins(labelled_signs: LabelledSigns, tmp_path: Path) -> None:
    config = replace(CONFIG, steps=4, continuous_only_fraction=0.5)
    remembered = train_recogniser(config, labelled_signs, tmp_path / "kept").module.state_dict()
    forgot = train_recogniser(
        replace(config, reinitialise=True), labelled_signs, tmp_path / "forgot"
    ).module.state_dict()
    assert not all(torch.equal(remembered[name], value) for name, value in forgot.items())
    assert {int(value) for name, value in forgot.items() if name.endswith("num_batches_tracked")} == {2}
    rows = (tmp_path / "forgot" / "curve.csv").read_text().splitlines()
    assert rows[2].endswith("nan")  # continuous signing alone
    assert not rows[3].endswith("nan")


def test_mistakes_are_named() -> None:
    with pytest.raises(OptionsError, match=r"continuous_only_fraction .* got 3"):
        RecogniserConfig(continuous_only_fraction=3)
    with pytest.raises(OptionsError, match=r"steps .* got 0"):
        RecogniserConfig(steps=0)
    with pytest.raises(OptionsError, match="norm = 'layer'"):
        RecogniserConfig(reinitialise=True)
    with pytest.raises(OptionsError, match=r"continuous_only_fraction .* got 0\.0"):
        RecogniserConfig(reinitialise=True, model={"norm": "batch"})
    with pytest.raises(OptionsError, match="norm = 'layer'"):
        build("landmark", domain_norm=True)
    assert RecogniserConfig(steps=100, warm_up=10).lr_scale(0) == pytest.approx(0.1)
    assert 0 < RecogniserConfig(steps=100).lr_scale(99) < 1e-3


def test_domain_specific_batch_norms_of_both_domains_learn(labelled_signs: LabelledSigns, tmp_path: Path) -> None:
    """Both sets start alike; after a few steps each has weights and statistics of its own."""
    model = {**SMALL, "domain_norm": True}
    trained = train_recogniser(
        replace(CONFIG, steps=3, warm_up=1, model=model), labelled_signs, tmp_path
    ).module.state_dict()
    torch.manual_seed(CONFIG.seed)
    before = build("landmark", mlp=False, **model).state_dict()
    by_domain = {domain: [name for name in trained if f".{domain}." in name] for domain in ("continuous", "dictionary")}
    assert len(by_domain["continuous"]) == len(by_domain["dictionary"]) > 0
    learned = [name for name in by_domain["dictionary"] if name.endswith((".weight", ".bias"))]
    assert learned
    assert not [name for name in learned if torch.equal(trained[name], before[name])]
    for one, other in zip(by_domain["continuous"], by_domain["dictionary"], strict=True):
        assert one.endswith("num_batches_tracked") or not torch.equal(trained[one], trained[other])


@pytest.mark.parametrize("labels_given", [True, False], ids=["labels are given", "labels of the corpus"])
def test_the_vocabulary_is_of_training_videos_alone(labels_given: bool, tiny_copy: Corpus, tmp_path: Path) -> None:
    """A word that is labelled in test videos only is not learned."""
    (test, *_), (train, *_) = tiny_copy.in_split("test"), tiny_copy.in_split("train")
    times = [sign.end for sign in tiny_copy.signs(train.id)]
    words = sorted(tiny_copy.dictionary())[:3]
    labels = [Label(word, train.id, time) for word in words[:2] for time in times[:3]]
    labels.append(Label(words[2], test.id, tiny_copy.signs(test.id)[0].end))
    config = replace(CONFIG, steps=1, clips=ClipOptions(clips=4, dictionary=0.0))
    shutil.rmtree(tiny_copy.folder / "labels")
    write_records(labels, tiny_copy.layout.labels("all"))
    trained, _ = train_recogniser_on_corpus(
        config, tiny_copy, tmp_path / "run", labels=labels if labels_given else None
    )
    assert trained.words == tuple(words[:2])
