"""Reading at scale: subtitled footage and a dictionary in, localised labels out."""
