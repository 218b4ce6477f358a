"""A server and clients that open connections and do nothing, too little, or too much with them."""

import asyncio
import logging
import random
from contextlib import asynccontextmanager

import pytest
import uvicorn

from nicecf.service.connections import RESERVE, Connections, OnceInAWhile
from nicecf.service.limits import Limits

LARGE = b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def app(scope, receive, send):
    """Answer /healthz at once, /read when the body is there, /slow when a second request comes, all else at once."""
    if scope["path"] == "/read":
        while (await receive()).get("more_body"):
            pass
    if scope["path"] == "/slow":
        await asyncio.sleep(20)
    body = b"a" * 20_000_000 if scope["path"] == "/large" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send(
        {"type": "http.response.start", "status": 401 if scope["path"] == "/refused" else 200, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(**limits):
    config = uvicorn.Config(app, port=0, lifespan="off", log_level="warning", http=Connections(Limits(**limits)))
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    clients = []

    async def connect(sent=b""):
        reader, writer = await asyncio.open_connection(*server.servers[0].sockets[0].getsockname())
        clients.append(writer)
        writer.write(sent)
        return reader, writer

    try:
        yield connect
    finally:
        for writer in clients:
            writer.close()
        server.should_exit = server.force_exit = True
        await running


def talk(about, **limits):
    async def all_of_it():
        async with serving(**limits) as connect:
            return await asyncio.wait_for(about(connect), 30)

    return asyncio.run(all_of_it())


async def answer(reader):
    """The status of an answer; None where the connection was closed without one."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return int(head.split()[1])


async def is_closed(reader):
    try:
        return await asyncio.wait_for(reader.read(), 10) == b""
    except ConnectionError:
        return True


def test_idle_connections_give_way_and_health_is_answered(caplog, monkeypatch):
    monkeypatch.setattr("nicecf.service.connections._GATHERING", 0.05)

    async def about(connect):
        idle = [await connect() for _ in range(60)]
        reader, _ = await connect(HEALTH)
        status = await answer(reader)
        await asyncio.sleep(0.2)
        return status, sum(reader.at_eof() or reader.exception() is not None for reader, _ in idle)

    status, n_closed = talk(about, connections=20)
    assert status == 200
    assert n_closed == 41  # 20 stay, of which one is that of the check
    lines = [one.getMessage() for one in caplog.records if one.name == "nicecf.service"]
    assert lines == ["connections were closed: 41 as there were too many"]


def test_where_all_connections_are_busy_a_few_more_are_for_health_alone():
    async def about(connect):
        for _ in range(5):
            await connect(b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await asyncio.sleep(0.1)
        health, _ = await connect(HEALTH)
        other, _ = await connect(b"GET /read HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        statuses = [await answer(health), await answer(other)]
        more = [await connect() for _ in range(2 * RESERVE)]
        last, _ = await connect(HEALTH)
        statuses.append(await answer(last))
        await asyncio.sleep(0.05)
        return statuses, sum(reader.at_eof() or reader.exception() is not None for reader, _ in more)

    statuses, n_closed = talk(about, connections=5)
    assert statuses == [200, 503, 200]
    assert n_closed == RESERVE + 1


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127"], ids=["nothing", "half a header"])
def test_headers_that_do_not_come_end_a_connection(sent):
    async def about(connect):
        reader, writer = await connect(sent)
        for _ in range(4):  # a byte now and then changes nothing
            await asyncio.sleep(0.05)
            writer.write(b"a" if sent else b"")
        return await is_closed(reader)

    assert talk(about, header_seconds=0.1)


def test_the_headers_of_a_second_request_have_their_time_too():
    async def about(connect):
        reader, writer = await connect(HEALTH)
        status = await answer(reader)
        await reader.readexactly(2)
        writer.write(b"GET /healthz HTT")
        return status, await is_closed(reader)

    assert talk(about, header_seconds=0.1) == (200, True)


def test_a_connection_serves_one_request_after_the_other():
    async def about(connect):
        reader, writer = await connect()
        statuses = []
        for _ in range(3):
            await asyncio.sleep(0.06)
            writer.write(HEALTH)
            statuses.append(await answer(reader))
            await reader.readexactly(2)
        return statuses

    assert talk(about, header_seconds=0.1) == [200, 200, 200]


def test_requests_that_are_sent_at_once_are_all_answered_however_long_they_are_busy():
    async def about(connect):
        reader, _ = await connect(3 * HEALTH)
        return [(await answer(reader), await reader.readexactly(2)) for _ in range(3)]

    assert talk(about) == [(200, b"ok")] * 3


def test_a_body_that_nobody_reads_is_not_sent_for_ever(monkeypatch):
    monkeypatch.setattr("nicecf.service.connections._LINGER", 0.1)

    async def about(connect):
        reader, writer = await connect(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000000\r\n\r\n")
        status = await answer(reader)
        n_sent = 0
        try:
            for _ in range(100):
                writer.write(b"a" * 1_000)
                await writer.drain()
                n_sent += 1
                await asyncio.sleep(0.01)
        except ConnectionError:
            pass
        return status, n_sent

    status, n_sent = talk(about)
    assert status == 200
    assert n_sent < 100


def test_an_answer_that_nobody_reads_is_not_held_for_ever(monkeypatch, caplog):
    monkeypatch.setattr("nicecf.service.connections._READING", 0.2)
    monkeypatch.setattr("nicecf.service.connections._GATHERING", 0.01)

    async def about(connect):
        _, writer = await connect(LARGE)
        writer.transport.pause_reading()
        await asyncio.sleep(0.6)

    talk(about)
    assert [one.getMessage() for one in caplog.records if one.name == "nicecf.service"] == [
        "connections were closed: 1 as they did not read their answer"
    ]


def test_who_does_not_read_gives_way_to_others():
    async def about(connect):
        for _ in range(3):
            _, writer = await connect(20 * LARGE)  # one behind the other, of which none is read
            writer.transport.pause_reading()
        await asyncio.sleep(0.2)
        reader, _ = await connect(b"GET /other HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return await answer(reader)

    assert talk(about, connections=3) == 200


def test_a_large_answer_that_is_read_is_whole():
    async def about(connect):
        reader, _ = await connect(LARGE)
        return await answer(reader), len(await reader.readexactly(20_000_000))

    assert talk(about) == (200, 20_000_000)


def test_a_body_that_breaks_after_its_answer_is_no_error_of_ours(caplog):
    async def about(connect):
        closed = []
        for _ in range(5):
            reader, writer = await connect(b"POST /refused HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert await answer(reader) == 401
            await reader.readexactly(2)
            writer.write(b"no chunk\r\n")
            closed.append(await is_closed(reader))
        return closed

    assert talk(about) == [True] * 5
    assert not [one for one in caplog.records if one.name == "asyncio"]


def test_a_connection_whose_refused_body_arrived_stays_open(monkeypatch):
    monkeypatch.setattr("nicecf.service.connections._LINGER", 0.2)

    async def about(connect):
        reader, writer = await connect(b"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n")
        statuses = [await answer(reader)]
        await reader.readexactly(2)
        writer.write(b"body")
        await asyncio.sleep(0.4)
        writer.write(HEALTH)
        return [*statuses, await answer(reader)]

    assert talk(about) == [401, 200]


def test_a_request_that_takes_too_long_is_ended():
    async def about(connect):
        reader, _ = await connect(b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return await is_closed(reader)

    assert talk(about, header_seconds=0.05, seconds=0.05, patience=0.0)


def test_whatever_is_sent_health_is_answered():
    rng = random.Random(0)
    pieces = [
        b"GET ",
        b"POST /read HTTP/1.1\r\n",
        b"Host: 127.0.0.1\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 99999999999999\r\n",
    ]
    pieces += [
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"\x00\xff",
        b"A" * 70_000,
        HEALTH,
        b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    ]

    async def about(connect):
        statuses = []
        for _ in range(150):
            _, writer = await connect(b"".join(rng.choices(pieces, k=rng.randint(1, 8))))
            if rng.random() < 0.5:
                writer.close()
        for _ in range(5):
            reader, _ = await connect(HEALTH)
            statuses.append(await answer(reader))
        return statuses

    assert talk(about, connections=20) == [200] * 5


def test_a_message_is_logged_once_in_a_while():
    log = logging.Logger("test")
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    log.addHandler(handler)
    log.addFilter(OnceInAWhile())
    for number in range(1_000):
        log.warning("Invalid HTTP request received.")
        log.warning("other %s", number)
        log.error(f"Fatal error\nprotocol: {number:x}")
    assert lines == ["Invalid HTTP request received.", "other 0", "Fatal error\nprotocol: 0"]
