"""What a configuration trains: its key `kind` says so, and the rest is read into the record of that kind."""

from difflib import get_close_matches
from os import PathLike

from signspot.errors import OptionsError
from signspot.training.config import SigningConfig
from signspot.training.embedding_config import EmbeddingConfig
from signspot.training.rgb_config import RgbConfig
from signspot.training.toml_file import KIND, fill, read_table

Config = SigningConfig | EmbeddingConfig | RgbConfig
KINDS: dict[str, type[SigningConfig] | type[EmbeddingConfig] | type[RgbConfig]] = {
    "signing": SigningConfig,  # a landmark trunk, by contrast; what a file without the key is about
    "embedding": EmbeddingConfig,  # an MLP on a frozen trunk
    "rgb": RgbConfig,  # an RGB trunk, by classification
}


def read_training(path: str | PathLike[str]) -> Config:
    """Read the TOML file of any training.

    Raises:
        OptionsError: as `read_toml`; or there is no such kind.
    """
    values = read_table(path)
    kind = values.pop(KIND, "signing")
    if kind not in KINDS:
        near = get_close_matches(str(kind), KINDS, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else f" There are: {', '.join(KINDS)}"
        raise OptionsError(f"no kind of training '{kind}' in {path}.{hint}")
    return fill(KINDS[kind], values, str(path))
