"""`python -m segjudge` is the command `segjudge`."""

from segjudge.cli import program

if __name__ == "__main__":
    program()
