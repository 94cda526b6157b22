"""The MLP on frozen features: it learns with every loss, resumes to the same weights, stops at nonsense."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.truth import write_records
from signspot.dictionary.dictionary import Contents, Dictionary
from signspot.errors import OptionsError
from signspot.losses.watch_read_lookup import Batch, info_nce, watch_lookup, watch_read_lookup
from signspot.models.checkpoints import load_encoder, save_encoder
from signspot.models.encoder_network import make_encoder
from signspot.models.mlp import DomainMlp, EmbeddingMlp, UnitNorm
from signspot.models.registry import build
from signspot.training.configuration import Compute
from signspot.training.corpus_subset import Item, ItemOptions, find_training_subset
from signspot.training.embedding_mlp import (
    EmbeddingTask,
    batch_loss,
    fold_standard,
    initial_mlp,
    retrieval,
    train_embedding_on_corpus,
)
from signspot.training.item_batches import (
    EmbeddingConfig,
    EmbeddingData,
    ItemBatchOptions,
    Loss,
    Standard,
    synonym_pairs,
)
from signspot.training.loop import train
from signspot.training.run_folder import Run
from signspot.training.trunk_features import TrunkFeatures, WindowFeatures
from signspot.types import Exemplar, Grid, Label, LabelSource, Segment
from tests.fixtures.corpora import SMALL_TRUNK, corpus_once

WORDS = ("apple", "dog", "house", "tree")
CONFIG = EmbeddingConfig(epochs=3, seed=4, dimension=8, batch=ItemBatchOptions(items=4, background=2, clips=2))


def hits(mlp: EmbeddingMlp, features: TrunkFeatures) -> float:
    """The number of windows whose most similar exemplar shows their word."""
    with torch.inference_mode():
        windows = mlp(torch.from_numpy(features.videos["v"].features.astype(np.float32)))
        nearest = (windows @ mlp(torch.from_numpy(features.exemplar_means())).T).argmax(dim=1)
    return float((nearest // 2 == torch.arange(4).repeat_interleave(60)).float().mean())


@pytest.mark.parametrize("loss", get_args(Loss))
def test_every_loss_brings_the_two_domains_together(
    loss: Loss, features: TrunkFeatures, items: list[Item], tmp_path: Path
) -> None:
    config = replace(CONFIG, loss=loss, epochs=80, lr=0.05 if loss == "classification" else 0.02)
    mlp = train(EmbeddingTask(config, EmbeddingData(features, items, config)), tmp_path).module
    assert hits(mlp, features) > (0.6 if loss == "classification" else 0.9)  # a classifier need not match domains
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines[0] == "epoch,lr,loss"
    assert float(lines[-1].split(",")[2]) < 0.8 * float(lines[1].split(",")[2])
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_batches_hold_the_features_of_their_places(features: TrunkFeatures, items: list[Item]) -> None:
    batch = EmbeddingData(features, items, CONFIG)[3]
    windows = features.videos["v"].features
    assert torch.equal(batch.clips, torch.from_numpy(windows[batch.indices.clip_window].astype(np.float32)))
    embedded = batch.embedded(batch.clips, batch.exemplars)
    assert len(embedded.clips) == 3 * (1 + 2) + 1
    assert len(embedded.exemplars) == 3 * 2 * 2 + 2
    words = [features.exemplars[i].word for i in batch.indices.exemplars[batch.indices.exemplar_row]]
    assert [WORDS[i] for i in embedded.exemplar_word] == words
    fore = EmbeddingData(features, items, replace(CONFIG, loss="watch_lookup"))[3]
    assert len(fore.clips) == 4
    assert torch.equal(fore.clips, batch.clips[embedded.is_foreground])


def test_folding_changes_nothing() -> None:
    torch.manual_seed(1)
    mlp = EmbeddingMlp(24)
    features, standard = 7 + 30 * torch.randn(10, 24), Standard(torch.randn(24) + 7, 30.0)
    with torch.no_grad():
        before = mlp((features - standard.mean) / standard.scale)
        fold_standard(mlp, standard)
        assert torch.allclose(mlp(features), before, atol=1e-5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_once(tmp_path_factory, words=8, hours=0.02, seed=3, video_seconds=30.0, dictionary_signers=3)


@pytest.mark.parametrize(
    ("loss", "domain_specific", "end"),
    [
        ("classification", False, {"dimension": 24, "mlp_classes": 5}),
        ("watch_read_lookup", True, {"mlp": False}),
        ("watch_lookup", False, {"dimension": 24}),
    ],
)
def test_any_trunk_takes_any_new_mlp(
    loss: Loss, domain_specific: bool, end: dict[str, int], corpus: Corpus, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    trunk = make_encoder("trunk", build("landmark", **SMALL_TRUNK, **end), threshold=0.8, card={"licence": "CC0-1.0"})
    batch = ItemBatchOptions(items=4, background=2, clips=2)
    config = EmbeddingConfig(
        name="new", loss=loss, domain_specific=domain_specific, epochs=1, dimension=12, batch=batch
    )
    trained = train_embedding_on_corpus(config, trunk, corpus, Run(tmp_path, command="signspot train"))
    assert (trained.contract.dimension, trained.contract.threshold, trained.card["licence"]) == (12, 0.8, "CC0-1.0")
    saved = save_encoder(trained, tmp_path / "new.safetensors")
    assert load_encoder(tmp_path / "new.safetensors").hash == saved.hash == trained.hash
    clips = torch.rand(2, 16, 69, 4)
    with torch.inference_mode():
        assert torch.equal(trained.module.trunk(clips), trunk.module.trunk(clips))
        same = torch.equal(trained.module(clips, "continuous"), trained.module(clips, "dictionary"))
    assert same is not domain_specific


def test_retrieval_by_hand() -> None:
    """A word of which the best window is 0.8 s behind its label counts as missed; in its place it ranks second."""
    right, up = [1.0, 0.0], [0.0, 1.0]
    windows = WindowFeatures(np.array([right] * 20 + [[0.1, 0.99]] * 20, np.float16), Grid(25.0, 16, 1, 55))
    clips = np.array([[right], [up], [[0.6, -0.8]]], np.float16)
    features = TrunkFeatures("test", {"v": windows}, tuple(Exemplar(w, w) for w in ("right", "up", "other")), clips)
    start = float(windows.grid.times[0])
    items = [Item(Label(word, "v", start), Segment(0, 2), ()) for word in ("right", "up")]
    embed: Any = UnitNorm(2)
    assert retrieval(embed, features, items, ("right", "up", "other")) == {"mAP": 0.5, "R@5": 0.5}
    later = [replace(item, label=replace(item.label, time=start + 0.8)) for item in items]
    assert retrieval(embed, features, later, ("right", "up")) == {"mAP": 0.75, "R@5": 1.0}
    beyond = [*later, Item(Label("up", "v", 9.0), Segment(9, 11), ())]
    assert retrieval(embed, features, beyond, ("right", "up")) == {"mAP": 0.75, "R@5": 1.0}


def test_the_best_weights_are_chosen_on_validation_videos(corpus: Corpus, tmp_path: Path) -> None:
    trunk = make_encoder("trunk", build("landmark", **SMALL_TRUNK, mlp=False))
    config = replace(CONFIG, compute=Compute(validate_every=1))
    with pytest.raises(OptionsError, match="validation"):
        train_embedding_on_corpus(config, trunk, corpus, Run(tmp_path / "none"))
    copy = open_corpus(shutil.copytree(corpus.folder, tmp_path / "corpus"))
    held_out = copy.in_split("train")[0].id
    verified = [Label(s.word, held_out, s.segment.middle, 1.0, LabelSource.VERIFIED) for s in copy.signs(held_out)]
    write_records(verified, copy.layout.labels("V"))
    moved = {"train": "validation", "test": "train"}
    videos = {name: replace(video, split=moved[video.split]) for name, video in copy.videos.items()}
    trained = train_embedding_on_corpus(config, trunk, replace(copy, videos=videos), Run(tmp_path / "run"))
    lines = map(json.loads, (tmp_path / "run" / "events.jsonl").read_text().splitlines())
    measured = [line["mAP"] for line in lines if line["event"] == "validated"]
    assert len(measured) >= config.epochs
    assert trained.card["metrics"]["validation"]["mAP"] == max(measured)
    assert trained.card["config"]["corpus"]["videos"] == len(corpus.in_split("test"))


SYNONYMS = ("big", "car", "large", "tree")
DICTIONARY = Dictionary(
    Contents(tuple(Exemplar(word, word, Path(f"{word}.pose")) for word in SYNONYMS), synonyms={"tree": ("car", "bush")})
)


def test_synonym_pairs_are_of_the_vocabulary_and_each_is_there_once() -> None:
    assert synonym_pairs("keep", DICTIONARY, SYNONYMS) == []
    assert synonym_pairs("sign", DICTIONARY, SYNONYMS) == [("car", "tree")]
    assert synonym_pairs("sign", DICTIONARY, ("tree", "big")) == []


@pytest.mark.parametrize(
    ("name", "loss"), [("info_nce", info_nce), ("watch_lookup", watch_lookup), ("watch_read_lookup", watch_read_lookup)]
)
def test_the_temperature_is_the_papers_unless_another_is_asked_for(
    features: TrunkFeatures, items: list[Item], name: Loss, loss: Callable[[Batch, float], torch.Tensor]
) -> None:
    config = EmbeddingConfig(loss=name, dimension=8, batch=ItemBatchOptions(items=4))
    data = EmbeddingData(features, items, config)
    mlp, batch, standard = initial_mlp(config, data), data[0], data.standard()
    assert isinstance(mlp, EmbeddingMlp)
    with torch.no_grad():
        clips, exemplars = (mlp((x - standard.mean) / standard.scale) for x in (batch.clips, batch.exemplars))
        embedded = batch.embedded(clips, exemplars)
        paper, other = float(loss(embedded, 0.07)), float(loss(embedded, 0.5))
        assert paper != pytest.approx(other, rel=1e-3)
        assert float(batch_loss(mlp, batch, standard, config)) == pytest.approx(paper, rel=1e-5)
        warmer = batch_loss(mlp, batch, standard, replace(config, temperature=0.5))
        assert float(warmer) == pytest.approx(other, rel=1e-5)


def test_of_domain_specific_layers_the_dictionarys_see_exemplars_and_learn(
    features: TrunkFeatures, items: list[Item]
) -> None:
    config = replace(CONFIG, loss="info_nce", domain_specific=True)
    data = EmbeddingData(features, items, config)
    mlp, batch, standard = initial_mlp(config, data), data[0], data.standard()
    assert isinstance(mlp, DomainMlp)
    with torch.no_grad():
        clips = mlp((batch.clips - standard.mean) / standard.scale, "continuous")
        exemplars = mlp((batch.exemplars - standard.mean) / standard.scale, "dictionary")
        expected = float(info_nce(batch.embedded(clips, exemplars), config.temperature))
    loss = batch_loss(mlp, batch, standard, config)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    loss.backward()
    for domain in ("continuous", "dictionary"):
        gradients = [weights.grad for weights in mlp.domains[domain].parameters()]
        assert all(gradient is not None and bool(gradient.any()) for gradient in gradients)
    with torch.no_grad():
        before = mlp((batch.exemplars - standard.mean) / standard.scale, "dictionary")
        fold_standard(mlp, standard)
        assert torch.allclose(mlp(batch.exemplars, "dictionary"), before, atol=1e-5)


def test_labels_of_test_videos_are_not_learned_from(corpus: Corpus) -> None:
    splits = corpus.splits()
    assert corpus.labels(list(splits.test))
    assert {label.video for label in find_training_subset(corpus).labels} <= set(splits.train)


def test_labels_of_some_words_and_look_up_of_all(corpus: Corpus) -> None:
    """Table 3: only training words are labelled, and background words may be any of the dictionary's."""
    subset = find_training_subset(corpus)
    words = corpus.splits().words
    every = subset.items(ItemOptions())
    some = subset.items(ItemOptions(labelled="train"))
    assert {item.word for item in every} - set(words.train), "else there is nothing to tell apart"
    assert some == [item for item in every if item.word in words.train]
    assert {word for item in some for word in item.background} & set(words.test)
    corpus.layout.splits.write_text('{"train": [], "test": []}')
    with pytest.raises(OptionsError, match="'train'"):
        find_training_subset(open_corpus(corpus.folder)).items(ItemOptions(labelled="train"))
