"""S3D, the other rgb trunk (Appendix B): I3D with every 3D convolution split into space, then time."""

from dataclasses import dataclass

from signspot.models.batch_norm import make_domain_specific
from signspot.models.heads import ClassifierHead
from signspot.models.inception import InceptionSize, InceptionTrunk


@dataclass(frozen=True)
class S3DOptions:
    """How an S3D is built."""

    frames: int = 16  # frames in a clip
    classes: int | None = None  # words of its classifier; None: it has none
    domain_norm: bool = False  # one set of batch norms a domain (Appendix C.1)
    image_size: int = 224  # pixels of a side
    width: float = 1.0  # share of the channels of every layer; less is for small computers
    motion: bool = False  # see only what moves: clothes, faces and rooms are not there to be learned
    gating: bool = False  # self-gating at the end of every branch (S3D-G)


class S3D(InceptionTrunk):
    """Inception-v1 with separable convolutions (Xie et al.), with or without self-gating."""

    def __init__(self, options: S3DOptions | None = None) -> None:
        chosen = options or S3DOptions()
        super().__init__(
            InceptionSize(chosen.frames, chosen.image_size, chosen.width, chosen.motion),
            separable=True,
            gating=chosen.gating,
        )
        self.logits = ClassifierHead(self.dimension, chosen.classes) if chosen.classes else None
        if chosen.domain_norm:
            make_domain_specific(self)
