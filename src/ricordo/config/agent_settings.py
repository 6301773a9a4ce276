"""What can be set about agents at work: what hooks tell themand what becomes of what sessions teach."""

from __future__ import annotations

from ricordo.config.rules import setting
from ricordo.frozen import frozen


@frozen
class MemorySettings:
    """What becomes of what sessions teach."""

    capture: str = setting(
        "propose",
        "What sessions teach: off finds nothing, propose lets it wait for review, accept keeps it by itself.",
        sensitive=True,
        choices=("off", "propose", "accept"),
    )


@frozen
class HooksSettings:
    """What ``ricordo hook`` gives to an agent's program while it runs."""

    enabled: bool = setting(True, "Let hooks answer; if off, they answer nothing.", sensitive=True)
    seconds: float = setting(
        2.0,
        "After this time a hook prints the answer it has; if it has none, it uses all the time its program allows.",
        minimum=0.1,
        maximum=60,
    )
    session_start_budget: int = setting(
        1000, "Tokens given when a session starts; 0 gives nothing.", minimum=0, maximum=100_000
    )
    prompt_budget: int = setting(600, "Tokens given with a prompt; 0 gives nothing.", minimum=0, maximum=100_000)
    agent_budget: int = setting(
        600, "Tokens given to an agent that starts with a task; 0 gives nothing.", minimum=0, maximum=100_000
    )
    min_fit: float = setting(0.8, "What fits less is not given with a prompt.", minimum=0, maximum=1)
    transcripts: bool = setting(True, "Take in the transcript before it is compacted and when its session ends.")
    capture: bool = setting(True, "Look for lessons in transcripts that hooks take in; see memory.capture.")
