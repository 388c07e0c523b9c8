"""HTTP as uvicorn speaks it, with an end to headers that never end."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 65_536  # bytes of a request's line and headers
HEAD_SECONDS = 20.0  # in which they have to come


class Protocol(HttpToolsProtocol):
    """Ends a connection whose headers are too large or come too slowly."""

    _head = 0  # bytes so far of headers that are not complete
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._complete()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless headers are too large."""
        super().data_received(data)
        if self._late is not None and not self.transport.is_closing():
            self._head += len(data)
            if self._head > MOST_HEAD:
                self.send_400_response("The headers are too large; send fewer.")

    def on_message_begin(self) -> None:
        """Begin with the next request."""
        super().on_message_begin()
        self._begin()

    def on_headers_complete(self) -> None:
        """Answer."""
        self._complete()
        super().on_headers_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: who asks for another protocol is answered by this one, and writes no log."""

    def _begin(self) -> None:
        self._complete()
        self._late = self.loop.call_later(HEAD_SECONDS, self._end)

    def _complete(self) -> None:
        self._head = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
