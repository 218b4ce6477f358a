"""What other processes do to a store of results. A file of its own, so that a new process imports little."""

import os
import signal

from nicecf.benchmark.store import Store


def write_cells(folder, model):
    results = Store.open(folder)
    for number in range(25):
        cell = {"dataset": f"d{number}", "model": model, "method": "wit", "status": "done"}
        line = {"dataset": f"d{number}", "model": model, "method": "wit", "status": "found"}
        results.write_cell(cell, [line | {"row": row} for row in range(20)])


def die_while_writing(folder):
    with Store(folder).writing() as connection:
        connection.execute("PRAGMA cache_size = 1")  # so that it is written before the end
        connection.execute("UPDATE records SET reason = hex(randomblob(2000))")
        connection.execute("INSERT INTO about VALUES ('half', '1')")
        os.kill(os.getpid(), signal.SIGKILL)
