"""Finds signs in signing video: whether and where a sign of a dictionary occurs.

    import signspot

    spotter = signspot.load()
    dictionary = signspot.open_dictionary("my-signs/")
    for hit in spotter.spot("news.mp4", dictionary["apple"]):
        print(f"{hit.start:.2f}-{hit.end:.2f} s  {hit.word}  {hit.score:.2f}")

The public names stand in `__init__.pyi`. They are loaded when they are first used, so that `import signspot` and
`signspot --help` are quick.
"""

from lazy_loader import attach_stub

from signspot.version import VERSION

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
__version__ = VERSION
