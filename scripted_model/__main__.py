"""`python -m scripted_model`: serve until told to stop; the first line printed is the URL."""

import signal


def main() -> None:
    """Serve. Ctrl-C ends it without a word, at any moment."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from scripted_model.command import execute  # takes a while, in which it may be interrupted

    execute()


if __name__ == "__main__":
    main()
