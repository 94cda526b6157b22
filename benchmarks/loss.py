"""One step of the loss, forward and backward, against the matrix products that it cannot do without."""

import torch
from torch.nn import functional

from benchmarks.isolation import Call, fastest, run
from benchmarks.rows import Comparison, against
from benchmarks.sizes import Sizes
from signspot.losses.watch_read_lookup import BACKGROUND, Bags, Batch, watch_read_lookup

_CLIPS_AN_ITEM = 11  # the labelled one and 10 of the background
_DIMENSION = 256
_KINDS: tuple[Bags, ...] = ("appendix", "released")


def loss_rows(sizes: Sizes) -> list[Comparison]:
    """A row for either kind of bags."""
    options = {"items": sizes.items, "exemplars": sizes.batch_exemplars, "rounds": 4 * sizes.rounds}
    spent = {name: 1000 * s for name, s in run(Call("loss:step", options), apart=sizes.apart).values.items()}
    shape = f"{sizes.items * _CLIPS_AN_ITEM:,} clips × {sizes.batch_exemplars:,} exemplars × {_DIMENSION}"
    return [
        Comparison(
            "Training",
            f'`watch_read_lookup`, bags="{bags}", {shape}: a step, against two matrix products of that size',
            against(spent[bags], spent["products"], "ms"),
            spent[bags] / spent["products"],
            "a small multiple",
        )
        for bags in _KINDS
    ]


def step(items: int, exemplars: int, rounds: int) -> dict[str, float]:
    """Seconds of a step with either kind of bags, and of two products of clips with exemplars."""
    batch = make_batch(items, exemplars)

    def learn(bags: Bags) -> None:
        batch.clips.grad = batch.exemplars.grad = None
        watch_read_lookup(batch, bags=bags).backward()  # type: ignore[no-untyped-call]

    clips, columns = batch.clips.detach(), batch.exemplars.detach()
    return fastest(
        rounds,
        {
            "appendix": lambda: learn("appendix"),
            "released": lambda: learn("released"),
            "products": lambda: (clips @ columns.T, clips @ columns.T),
        },
    )


def make_batch(items: int, exemplars: int) -> Batch:
    """A batch as in training: each item has a word of its own, and background words that items share."""
    generator = torch.Generator().manual_seed(0)
    clip = torch.arange(items * _CLIPS_AN_ITEM)
    owner = torch.arange(exemplars) * items // exemplars
    number = torch.arange(exemplars) - torch.searchsorted(owner, owner)  # of an exemplar among its item's
    shared = items + torch.randint(4 * items, (items, exemplars), generator=generator)
    word = torch.where(number < 3, owner, shared[owner, number // 2])  # 3 exemplars of the label, 2 of other words
    return Batch(
        clips=_unit(len(clip), generator),
        clip_item=clip // _CLIPS_AN_ITEM,
        clip_word=torch.where(clip % _CLIPS_AN_ITEM == 0, clip // _CLIPS_AN_ITEM, BACKGROUND),
        exemplars=_unit(exemplars, generator),
        exemplar_item=owner,
        exemplar_word=word,
        exemplar_foreground=number < 3,
    )


def _unit(count: int, generator: torch.Generator) -> torch.Tensor:
    rows = functional.normalize(torch.randn(count, _DIMENSION, generator=generator), dim=1)
    return rows.requires_grad_()
