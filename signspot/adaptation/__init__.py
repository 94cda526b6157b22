"""The user's own subtitled footage adapts an encoder; a held-out part of it says whether that is a gain."""
