"""`python -m signspot`: the command line where its script is not on the path."""

from signspot.cli.entry import run

if __name__ == "__main__":
    run()
