"""A project, a scripted model, and the command line of an agent, for the ACP clients."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mcp"))

import programs  # noqa: E402


def call(name, **arguments):
    """An answer of the model that calls a tool."""
    return {"calls": [{"name": name, "arguments": arguments}]}


class Stage:
    """Lives as long as a conversation, which may start several agents."""

    def __init__(self, binary, steps, *arguments):
        self.command = [binary, "acp", "--provider", "cmp", "--model", "m", *arguments]
        self.directory = tempfile.TemporaryDirectory(prefix="pi-acp-", ignore_cleanup_errors=True)
        self.home = Path(self.directory.name).resolve()
        self.model = programs.Model(self.home, steps)
        self.project, self.environment = programs.prepare(self.home, self.model.port, {"servers": {}})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.model.stop()
        self.directory.cleanup()
