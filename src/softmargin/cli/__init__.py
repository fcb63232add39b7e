"""The command line: ``softmargin demo`` shows what the library does, on data that need no download."""

__all__ = ["main"]


def main() -> None:
    """Run the ``softmargin`` command."""
    try:
        from softmargin.cli._app import app
    except ImportError as error:
        raise SystemExit(f"{error}. The command line needs: pip install 'softmargin[cli]'") from error
    app()
