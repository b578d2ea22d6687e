"""Small corpora, sittings on them, and a page that is served."""

import json
import threading
import time
import urllib.error
import urllib.request

from partita.data.sentences import Sentence
from partita.label import TagTask, TreeTask
from partita.label.server import LabelServer

GOLD = [
    ("the/DET old/ADJ dog/NOUN barks/VERB", [3, 3, 4, 0], "det amod nsubj root"),
    ("a/DET cat/NOUN sleeps/VERB", [2, 3, 0], "det nsubj root"),
    ("the/DET dog/NOUN sees/VERB a/DET cat/NOUN", [2, 3, 0, 5, 3], "det nsubj root det obj"),
    ("dogs/NOUN bark/VERB", [2, 0], "nsubj root"),
    ("old/ADJ cats/NOUN sleep/VERB", [2, 3, 0], "amod nsubj root"),
    ("a/DET dog/NOUN sees/VERB the/DET old/ADJ cat/NOUN", [2, 3, 0, 6, 6, 3],
     "det nsubj root det amod obj"),
]  # fmt: skip
TAGS = ["ADJ", "DET", "NOUN", "VERB"]
RELATIONS = ["amod", "det", "nsubj", "obj", "root"]


def words(text):
    return tuple(pair.split("/")[0] for pair in text.split())


def gold_tags(sentence):
    return [pair.split("/")[1] for pair in GOLD[sentence][0].split()]


def tag_task(**more):
    sentences = [Sentence({"FORM": words(text)}) for text, _, _ in GOLD]
    return TagTask(sentences, TAGS, column="tag", **more)


def tree_task(**more):
    rows = [
        {"FORM": words(text), "UPOS": tuple(gold_tags(number))}
        for number, (text, _, _) in enumerate(GOLD)
    ]
    return TreeTask([Sentence(each) for each in rows], RELATIONS, format="columns", **more)


def right(question):
    """The right values for all slots of a question."""
    _, heads, relations = GOLD[question["sentence"]]
    columns = {
        "tag": gold_tags(question["sentence"]),
        "head": [str(head) for head in heads],
        "relation": relations.split(),
    }
    return {
        (slot["word"], slot["kind"]): columns[slot["kind"]][slot["word"]]
        for slot in question["slots"]
    }


class Page:
    """What a browser would ask the server, without one."""

    def __init__(self, server):
        self.server, self.address = server, server.address
        self.origin = f"http://127.0.0.1:{server.port}"

    def request(self, path, body=None, headers=None, method=None):
        """Status, headers and body of the answer; headers that are None are left out."""
        given = {"Origin": self.origin, "Content-Type": "application/json", **(headers or {})}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.origin}{path}",
            data,
            {name: value for name, value in given.items() if value is not None},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, dict(response.headers), response.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def call(self, name, tab="a", **body):
        status, _, data = self.request(f"/{self.server.token}/api/{name}", {"tab": tab, **body})
        assert status == 200, data
        return json.loads(data)


def served(sitting, before=None):
    """The page of a sitting, which learns in the background, served by a thread.

    At the address of the server `before`, which was ended, if there is one.
    """
    server = LabelServer(sitting, port=0 if before is None else before.port)
    server.token = server.token if before is None else before.token
    thread = threading.Thread(target=server.run, daemon=True)
    sitting.start()
    thread.start()
    deadline = time.monotonic() + 30
    while not getattr(server._server, "started", False):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield Page(server)
    finally:
        server.stop()
        thread.join()
