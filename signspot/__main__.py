"""`python -m signspot` is the command line, for environments whose scripts are not on the path."""

from signspot.cli.entry import run

if __name__ == "__main__":
    run()
