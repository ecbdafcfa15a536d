"""``reveil studio``: the same in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from reveil.cli.console import Console
from reveil.core.errors import ConfigError


@click.command("studio")
@click.argument("folder", type=click.Path(), default=".")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address by which it is reached.")
@click.option("--no-open", is_flag=True, help="Open no browser; the address is printed in any case.")
@click.option("--token-file", type=click.Path(), metavar="F", help="Lines name:token, one for each person.")
@click.option("--tls-cert", type=click.Path(), metavar="F", help="The certificate of the host.")
@click.option("--tls-key", type=click.Path(), metavar="F", help="Its key.")
def command(
    folder: str,
    port: int,
    host: str,
    no_open: bool,
    token_file: str | None,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Serve FOLDER with its configs, tables, releases and vaults to a browser on this machine.

    Nothing leaves the machine, and nothing is loaded from elsewhere. The first address has a token; whoever has it can
    do what you can at the command line. Another host than this machine itself needs --token-file and --tls-cert. Who
    did what is noted in FOLDER/reveil-studio.log. Needs the extra: pip install 'reveil[studio]'.
    """
    try:
        from reveil.studio.serving import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "python_multipart", "anyio"):
            raise
        raise ConfigError("the studio is not installed", hint="Install it with: pip install 'reveil[studio]'") from None
    from reveil.studio.settings import studio_settings

    settings = studio_settings(
        Path(folder),
        host=host,
        port=port,
        token_file=None if token_file is None else Path(token_file),
        tls_cert=None if tls_cert is None else Path(tls_cert),
        tls_key=None if tls_key is None else Path(tls_key),
    )
    serve(settings, Console().say, opened=not no_open)
