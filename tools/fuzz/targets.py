"""All that is fuzzed, by name."""

from tools.fuzz.commands import Commands
from tools.fuzz.model_files import Checkpoints, Models
from tools.fuzz.readers import Readers
from tools.fuzz.scores import Scores
from tools.fuzz.target import Target

TARGETS: dict[str, type[Target]] = {
    target.name: target for target in (Readers, Models, Checkpoints, Commands, Scores)
}
