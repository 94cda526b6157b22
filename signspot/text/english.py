"""How English writes what it says otherwise: abbreviations, contractions, signs and measures."""

ABBREVIATIONS: dict[str, tuple[str, ...]] = {
    "dr": ("doctor",),
    "drs": ("doctors",),
    "mr": ("mister",),
    "mrs": ("missus",),
    "messrs": ("misters",),
    "prof": ("professor",),
    "rev": ("reverend",),
    "revd": ("reverend",),
    "sgt": ("sergeant",),
    "capt": ("captain",),
    "lt": ("lieutenant",),
    "cllr": ("councillor",),
    "supt": ("superintendent",),
    "insp": ("inspector",),
    "det": ("detective",),
    "jr": ("junior",),
    "snr": ("senior",),
    "st": ("saint", "street"),
    "rd": ("road",),
    "ave": ("avenue",),
    "mt": ("mount",),
    "vs": ("versus",),
    "etc": ("et cetera",),
    "approx": ("approximately",),
    "dept": ("department",),
    "govt": ("government",),
    "uni": ("university",),
    "tv": ("television",),
    "ok": ("okay",),
    "eg": ("for example",),
    "ie": ("that is",),
}
# Words of their own unless they start with a capital, or a full stop follows.
NEEDS_CAPITAL = frozenset({"st", "rd", "ave", "mt", "lt", "rev", "det"})
# Only with full stops inside.
NEEDS_DOTS = frozenset({"eg", "ie"})

CONTRACTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    # What is written, in pieces: (as written, as said).
    "won't": (("wo", "will"), ("n't", "not")),
    "can't": (("ca", "can"), ("n't", "not")),
    "cannot": (("can", "can"), ("not", "not")),
    "shan't": (("sha", "shall"), ("n't", "not")),
    "ain't": (("ai", "is"), ("n't", "not")),
    "let's": (("let", "let"), ("'s", "us")),
    "gonna": (("gon", "going"), ("na", "to")),
    "wanna": (("wan", "want"), ("na", "to")),
    "gotta": (("got", "got"), ("ta", "to")),
    "o'clock": (("o'clock", "o'clock"),),
    "'em": (("'em", "them"),),
    "cos": (("cos", "because"),),
    "'cause": (("'cause", "because"),),
    "ma'am": (("ma'am", "madam"),),
}
ENDINGS: dict[str, tuple[str, ...]] = {
    "n't": ("not",),
    "'m": ("am",),
    "'re": ("are",),
    "'ll": ("will",),
    "'ve": ("have",),
    "'d": ("would", "had"),
}
# After these, 's is "is"; after anything else it marks whose something is.
IS_AFTER = frozenset({"he", "here", "how", "it", "she", "that", "there", "what", "when", "where", "who", "why"})

SIGNS: dict[str, tuple[str, ...]] = {
    "&": ("and",),
    "@": ("at",),
    "+": ("plus",),
    "=": ("equals",),
    "°": ("degrees",),
    "%": ("percent", "per cent"),
    "£": ("pounds", "pound"),
    "$": ("dollars", "dollar"),
    "€": ("euros", "euro"),
    "¥": ("yen",),
    "₹": ("rupees", "rupee"),
    "½": ("half",),
    "⅓": ("third",),
    "⅔": ("two thirds",),
    "¼": ("quarter",),
    "¾": ("three quarters",),
}
MONEY = {"£": ("pound", "pounds"), "$": ("dollar", "dollars"), "€": ("euro", "euros"), "¥": ("yen", "yen")}
MONEY |= {"₹": ("rupee", "rupees")}
COINS = {"£": ("penny", "pence"), "$": ("cent", "cents"), "€": ("cent", "cents")}
SCALES = {"k": "thousand", "m": "million", "mn": "million", "bn": "billion", "tn": "trillion"}
SCALES |= {name: name for name in ("thousand", "million", "billion", "trillion")}
MEASURES: dict[str, tuple[str, str]] = {
    # As written after a number: (one, several).
    "km": ("kilometre", "kilometres"),
    "cm": ("centimetre", "centimetres"),
    "mm": ("millimetre", "millimetres"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "ml": ("millilitre", "millilitres"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "ft": ("foot", "feet"),
    "hrs": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "mins": ("minute", "minutes"),
    "min": ("minute", "minutes"),
    "secs": ("second", "seconds"),
    "sec": ("second", "seconds"),
    "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometre per hour", "kilometres per hour"),
    "°c": ("degree celsius", "degrees celsius"),
    "°f": ("degree fahrenheit", "degrees fahrenheit"),
    "°": ("degree", "degrees"),
    "p": ("penny", "pence"),
}
