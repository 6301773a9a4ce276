"""Texts that no package has enough of: what people ask of a tool, and what they tell each other.

Both are made here from patterns: requests from the first lines of operations and functions ("Creates a customer"), and
turns of everyday conversations, with the questions somebody might later ask about them, from lists of ordinary words.
They are not meant to be good prose. A student only has to see such sentences to learn where its teachers put them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

_VERB = re.compile(
    r"^(?:(?:This|The) \w+ )?([A-Z]?[a-z]+?)(e?s)? (an?|the|all|one|your|some|this|multiple|new) (.{6,90}?)[.;:(]"
)
_REQUESTS = (
    "I want to {verb} {rest}",
    "How do I {verb} {rest}?",
    "Can you {verb} {rest} for me?",
    "I need a tool that can {verb} {rest}.",
    "Please help me {verb} {rest}",
    "Is there a way to {verb} {rest}?",
    "what can I use to {verb} {rest}",
    "My team has to {verb} {rest} by tomorrow; what would you suggest?",
    "{verb} {rest}",
)


def requests(sentence: str, chance: random.Random) -> Iterator[str]:
    """What a user might say who wants what this sentence describes."""
    match = _VERB.match(sentence + ".")
    if match is None:
        return
    verb, ending, article, rest = match.groups()
    verb = verb.lower()
    if ending == "es" and not verb.endswith(("ch", "sh", "ss", "x")):
        verb += "e"
    for pattern in chance.sample(_REQUESTS, 2):
        yield pattern.format(verb=verb, rest=f"{article} {rest}")


_NAMES = [
    "Anna",
    "Ben",
    "Carla",
    "David",
    "Elena",
    "Farid",
    "Grace",
    "Hugo",
    "Ines",
    "Jonas",
    "Katya",
    "Liam",
    "Mona",
    "Nils",
    "Olga",
    "Priya",
    "Quentin",
    "Rosa",
    "Samir",
    "Tessa",
    "Umar",
    "Vera",
    "Wendy",
    "Yusuf",
    "Zoe",
    "Marta",
    "Felix",
    "Nora",
    "Theo",
    "Aisha",
    "Bruno",
    "Clara",
    "Diego",
    "Emil",
    "Fiona",
    "Gustav",
    "Hana",
    "Ivan",
    "Julia",
]
_KIN = [
    "sister",
    "brother",
    "mother",
    "father",
    "cousin",
    "neighbour",
    "colleague",
    "boss",
    "daughter",
    "son",
    "partner",
    "friend",
    "roommate",
    "coach",
    "aunt",
]
_PLACES = [
    "the lake",
    "the mountains",
    "the new museum",
    "a small bakery",
    "the harbour",
    "my old school",
    "the botanical garden",
    "the dentist",
    "a concert hall",
    "the farmers' market",
    "the office",
    "a campsite by the river",
    "the hospital",
    "the animal shelter",
    "Lisbon",
    "Kyoto",
    "Chicago",
    "a pottery studio",
    "the library",
    "the gym",
    "a wedding in the countryside",
    "the beach",
    "the climbing wall",
    "the court house",
]
_DOINGS = [
    "painting landscapes",
    "baking sourdough bread",
    "learning the violin",
    "training for a half marathon",
    "restoring an old motorbike",
    "volunteering at the food bank",
    "growing tomatoes on the balcony",
    "writing a novel",
    "taking swimming lessons",
    "playing chess online",
    "studying for the bar exam",
    "looking for a new flat",
    "knitting a blanket",
    "repairing the roof",
    "coaching a youth football team",
    "photographing birds",
    "moving to another city",
    "saving money for a house",
    "watching old science fiction films",
    "cooking Indian food",
    "doing yoga every morning",
    "hosting a game night",
    "building a website for my shop",
    "recovering from knee surgery",
    "adopting a dog",
]
_FEELINGS = [
    "happy",
    "proud",
    "nervous",
    "exhausted",
    "grateful",
    "excited",
    "worried",
    "relieved",
    "surprised",
    "disappointed",
    "calm",
    "lonely",
    "inspired",
]
_THINGS = [
    "a red bicycle",
    "a second-hand camera",
    "a pair of hiking boots",
    "an electric guitar",
    "a silver necklace",
    "two concert tickets",
    "a puppy called Max",
    "a cookbook",
    "a telescope",
    "a sewing machine",
    "new glasses",
    "a wooden bookshelf",
    "a board game",
    "a tent",
]
_TIMES = [
    "last weekend",
    "yesterday",
    "on Friday",
    "two weeks ago",
    "in March",
    "last summer",
    "this morning",
    "on my birthday",
    "a month ago",
    "on 7 May 2023",
    "in 2021",
    "last night",
    "the day before yesterday",
    "during the holidays",
    "tomorrow",
    "next month",
    "for three years now",
]
_TURNS = (
    "Hey {b}! I went to {place} with my {kin} {time}. It was great, I felt so {feeling}.",
    "{b}, guess what? I started {doing} {time} and I am really {feeling} about it.",
    "I bought {thing} {time}. My {kin} thinks it is too expensive, but it makes me {feeling}.",
    "That sounds lovely! How did your {kin} like {place}?",
    "Sorry to hear that. I was {feeling} too when I stopped {doing}.",
    "My {kin} gave me {thing} for my birthday, can you believe it?",
    "We are planning a trip to {place} {time}. Do you want to come along?",
    "Thanks, {b}! {doing} helps me a lot when I feel {feeling}.",
    "I have been {doing} since {time}; it keeps me busy after work.",
    "Nothing much. {time} I only met my {kin} at {place}, and we talked about {doing}.",
    "My doctor told me to rest, so no {doing} for a while. I am {feeling}.",
    "Wow, congratulations! You must be {feeling}. When did you get {thing}?",
    "I prefer tea to coffee, and I am allergic to nuts, so {place} was difficult for me.",
    "Remind me to call my {kin} about {thing} before {time}.",
)
_QUESTIONS = (
    "When did {a} go to {place}?",
    "What did {a} buy {time}?",
    "How does {a} feel about {doing}?",
    "Who went to {place} with {a}?",
    "What did {a}'s {kin} give to {a}?",
    "Why is {a} {feeling}?",
    "How long has {a} been {doing}?",
    "Where did {a} and {b} meet {time}?",
    "What hobby did {a} start {time}?",
    "What does {a} plan to do {time}?",
    "Which gift made {b} {feeling}?",
    "Would {a} enjoy {doing}?",
)


def conversations(count: int, chance: random.Random) -> Iterator[tuple[str, bool]]:
    """Turns with their speaker, and questions about such turns."""
    for _ in range(count):
        first, second = chance.sample(_NAMES, 2)
        blanks = {
            "a": first,
            "b": second,
            "place": chance.choice(_PLACES),
            "kin": chance.choice(_KIN),
            "doing": chance.choice(_DOINGS),
            "thing": chance.choice(_THINGS),
            "feeling": chance.choice(_FEELINGS),
            "time": chance.choice(_TIMES),
        }
        turn = " ".join(chance.choice(_TURNS).format(**blanks) for _ in range(chance.choice((1, 1, 2))))
        yield f"{first}: {turn}" if chance.random() < 0.7 else turn, chance.random() < 0.3
        yield chance.choice(_QUESTIONS).format(**blanks), True
