"""I3D, the rgb trunk of the paper: 16 x 224 x 224 to 1024, with the key names of the public checkpoints."""

from dataclasses import dataclass

from signspot.models.batch_norm import make_domain_specific
from signspot.models.heads import ClassifierHead
from signspot.models.inception import InceptionSize, InceptionTrunk


@dataclass(frozen=True)
class I3DOptions:
    """How an I3D is built."""

    frames: int = 16  # frames in a clip
    classes: int | None = None  # words of its classifier; None: it has none
    domain_norm: bool = False  # one set of batch norms a domain (Appendix C.1)
    image_size: int = 224  # pixels of a side
    width: float = 1.0  # share of the channels of every layer; less is for small computers
    motion: bool = False  # see only what moves: clothes, faces and rooms are not there to be learned


class I3D(InceptionTrunk):
    """Inception-v1 with full 3D convolutions (Carreira and Zisserman).

    With 1,064 classes it has 13,377,864 parameters. `logits` is not part of the embedding; it is kept because
    the trunk is trained as a classifier and the public files hold it.
    """

    def __init__(self, options: I3DOptions | None = None) -> None:
        chosen = options or I3DOptions()
        super().__init__(InceptionSize(chosen.frames, chosen.image_size, chosen.width, chosen.motion))
        self.logits = ClassifierHead(self.dimension, chosen.classes) if chosen.classes else None
        if chosen.domain_norm:
            make_domain_specific(self)
