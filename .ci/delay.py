#!/usr/bin/env python3
"""Forwards TCP connections to an address and delays what passes, as a network with that round trip does.

usage: delay.py ROUND_TRIP_MS HOST:PORT   prints the port that it listens on, and runs until it is killed.
"""

import asyncio
import sys

half = float(sys.argv[1]) / 2000
host, port = sys.argv[2].rsplit(":", 1)


async def pump(reader, writer):
    """Writes each piece half a round trip after it was read. Later pieces need not wait for earlier ones."""
    loop = asyncio.get_running_loop()
    pieces = asyncio.Queue()

    async def read():
        while piece := await reader.read(1 << 18):
            pieces.put_nowait((loop.time() + half, piece))
        pieces.put_nowait((loop.time() + half, b""))

    reading = asyncio.create_task(read())
    try:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not piece:
                break
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        reading.cancel()
        writer.close()


async def serve(reader, writer):
    # The handshake of TCP takes one round trip.
    await asyncio.sleep(2 * half)
    try:
        upstream = await asyncio.open_connection(host, port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, upstream[1]), pump(upstream[0], writer))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
