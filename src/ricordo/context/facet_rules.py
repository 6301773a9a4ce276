"""The set phrases by which a message shows that it corrects, is frustrated or praises, in several languages.

They look at the beginning of a message and at fixed phrases, and say nothing where they are not sure. Messages in other
languages are not judged; ``is_read`` says so, so that silence is not taken for satisfaction.
"""

from __future__ import annotations

import re
from functools import cache

from ricordo.text.stopwords import STOP_WORDS

LANGUAGES = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch")
FEWEST_WORDS = 4
"""Shorter messages in Latin letters are looked at whatever their language is."""
STOP_SHARE = 0.15
"""A text is in a language if at least this share of its words are stop words of that language."""

_START = r"(?:^|[.!?;\n]\s*|(?:no|but|ok|okay|hmm|hm|ah|oh|yes|hey)[,.!]?\s+)"
_CORRECTIONS = (
    rf"""{_START}(?:no+pe?\b(?=[,.!\s]|$)(?!\s+(?:need|problem|worries|idea|one|rush)\b)
      |wrong\b|not\ (?:quite|like\ that|that)\b
      |that(?:'s|\ is|\ was)\ (?:not|wrong|incorrect)\b|that\ isn'?t\b|actually,?\ (?:no|that|i\ (?:meant|wanted))\b
      |(?:please\ )?(?:undo|revert)\ (?:that|this|it|the|your|all)\b|wait,?\ (?:no|that|why)\b|stop\b(?=[,.!]|$))
    | \bi\ (?:said|meant|told\ you|already\ (?:said|told|asked)|(?:did\ not|didn'?t)\ (?:ask|want|mean|say))\b
    | \bnot\ what\ i\ (?:asked|meant|wanted|said)\b
    | \byou\ (?:forgot|missed|broke|misunderstood|misread|ignored|deleted\ the\ wrong|should(?:n'?t|\ not)\ have)\b
    | \b(?:it|that|this|they)(?:'s|\ is|\ are)?\ (?:still\ (?:broken|failing|wrong|fails|not|doesn'?t)|incorrect)\b
    | \b(?:doesn'?t|does\ not|didn'?t|did\ not)\ work\b""",
    r"""^(?:nein\b|falsch\b|nicht\ so\b|doch\ nicht\b)|\bdas\ (?:ist|war)\ (?:falsch|nicht\ (?:richtig|das|was))
    | \bso\ (?:nicht|war\ das\ nicht)\b|\bich\ (?:meinte|hatte\ (?:doch\ )?gesagt|wollte\ (?:doch\ )?nicht)\b
    | \bdu\ hast\ .{0,40}\b(?:vergessen|übersehen|kaputt|missverstanden)|\b(?:mach|nimm)\ das\ (?:rückgängig|zurück)\b
    | \b(?:funktioniert|klappt|geht)\ (?:so\ |immer\ noch\ |noch\ )?nicht\b|\bimmer\ noch\ (?:falsch|kaputt)\b""",
    r"""^(?:non(?=[,.!])|pas\ comme\ (?:ça|cela)\b)|\bc['’]est\ (?:faux|incorrect)
    | \bce\ n['’]est\ pas\ (?:ça|ce\ que)
    | \bj['’](?:ai\ (?:dit|demandé)|avais\ (?:dit|demandé))|\bje\ voulais\ (?:dire|plutôt)|\bpas\ ce\ que\ j['’]
    | \btu\ as\ (?:oublié|cassé|raté|mal\ compris)|\b(?:ça|cela)\ ne\ (?:marche|fonctionne)\ (?:toujours\ )?pas
    | \bannule\ (?:ça|cela|tout)\b|\btoujours\ (?:faux|cassé)""",
    r"""^(?:no\ es\b|no\ así|está\ mal\b|incorrecto\b)|\b(?:eso|esto)\ (?:no\ es|está\ mal|es\ incorrecto)
    | \b(?:dije|quise\ decir|quería\ decir|te\ pedí)\b|\bno\ (?:es\ )?lo\ que\ (?:pedí|quería|dije)
    | \b(?:olvidaste|rompiste|te\ olvidaste)\b|\bno\ (?:funciona|sirve)\b|\bsigue\ (?:sin|mal|fallando)\b
    | \bdeshaz\ (?:eso|esto|todo)\b""",
    r"""^(?:sbagliato\b|non\ così)|\b(?:non\ è|è)\ (?:sbagliato|giusto\ così|quello\ che)
    | \b(?:ho\ detto|intendevo|volevo\ dire)\b|\bnon\ (?:quello|ciò)\ che\ (?:ho|volevo)
    | \bhai\ (?:dimenticato|rotto|sbagliato|frainteso)\b|\bnon\ funziona\b|\bannulla\ (?:questo|tutto)\b
    | \bancora\ (?:rotto|sbagliato)\b""",
    r"""^(?:não,|errado\b|assim\ não)|\b(?:isso|isto)\ (?:não\ é|está\ errado)
    | \b(?:eu\ disse|quis\ dizer|eu\ pedi)\b|\bnão\ (?:é|foi)\ (?:isso|o\ que\ (?:pedi|quis|disse))
    | \bvocê\ (?:esqueceu|quebrou|entendeu\ mal)\b|\bnão\ funciona\b|\bdesfaça\b|\bcontinua\ (?:errado|quebrado)\b""",
    r"""^(?:nee\b|fout\b|niet\ zo\b)|\bdat\ (?:is|was)\ (?:fout|niet\ (?:goed|wat|juist))
    | \bik\ (?:zei|bedoelde|vroeg\ (?:niet|om))\b|\bniet\ wat\ ik\b|\bje\ bent\ .{0,30}\bvergeten\b
    | \b(?:werkt|doet)\ (?:het\ )?(?:nog\ steeds\ )?niet\b|\bmaak\ (?:dat|het)\ ongedaan\b""",
)
_FRUSTRATIONS = (
    r"""\b(?:wtf|ffs|omg|argh+|ugh+|damn(?:\ it)?|for\ (?:god'?s|fuck'?s|heaven'?s)\ sake|fuck(?:ing)?|bullshit)\b
    | \bfor\ the\ (?:second|third|fourth|fifth|last|\d+(?:nd|rd|th))\ time\b | \bhow\ (?:many\ times|often\ do\ i)\b
    | \b(?:why\ (?:do|did|are|would)\ you\ (?:keep|always|constantly)|you\ keep\ (?:on\ )?\w+ing|yet\ again)\b
    | \bthis\ is\ (?:ridiculous|terrible|useless|awful|frustrating|annoying|a\ (?:mess|waste|joke))\b
    | \b(?:seriously|come\ on)\s*[?!] | \bi'?m\ (?:getting\ )?(?:tired|sick|annoyed|frustrated|fed\ up)\b
    | \bstop\ (?:doing|changing|adding|guessing|apologi[sz]ing)\b | [?!]{3,}""",
    r"""\b(?:verdammt|so\ ein\ mist|scheiße|scheisse|zum\ \w+ten\ mal|schon\ wieder|wie\ oft\ (?:noch|soll))\b
    | \bhör\ (?:endlich\ )?auf\b
    | \bdas\ (?:nervt|ist\ (?:lächerlich|furchtbar|nutzlos))\b""",
    r"""\b(?:merde|putain|bon\ sang|encore\ une\ fois|pour\ la\ \w+ième\ fois|combien\ de\ fois|arrête\ de)\b
    | \bc['’]est\ (?:ridicule|n['’]importe\ quoi|nul|pénible)\b|\bj['’]en\ ai\ (?:marre|assez)\b""",
    r"""\b(?:mierda|joder|maldita\ sea|otra\ vez\ lo\ mismo|cuántas\ veces|deja\ de\ \w+r)\b
    | \besto\ es\ (?:ridículo|inútil|horrible)\b|\bestoy\ harto\b|\bestoy\ harta\b""",
    r"""\b(?:merda|cavolo|accidenti|quante\ volte|smettila)\b|\bè\ (?:ridicolo|inutile|assurdo)\b|\bsono\ stufo\b""",
    r"""\b(?:merda|droga|caramba|quantas\ vezes|pare\ de\ \w+r)\b|\bisso\ é\ (?:ridículo|inútil)\b|\bestou\ farto\b""",
    r"""\b(?:verdorie|verdomme|hoe\ vaak|alweer|hou\ op|ik\ ben\ het\ zat)\b
    | \bdit\ is\ (?:belachelijk|waardeloos)\b""",
)
_PRAISES = (
    rf"""\b(?:thanks|thank\ you|thx|ty|cheers)\b(?!\s+(?:but|for\ nothing))
    | {_START}(?:great|perfect|excellent|awesome|amazing|brilliant|wonderful|fantastic|lovely|nice|beautiful|superb|
        exactly|lgtm|bravo|neat|sweet|cool)(?=\s*(?:[,.!;\n]|$|work\b|job\b|one\b|stuff\b|-))
    | \b(?:well\ done|good\ (?:job|work|catch|call)|love\ (?:it|this|that)|looks\ (?:good|great|perfect)|much\ better)\b
    | \b(?:that|it|this|everything|all)(?:'s)?\ (?:works?|worked|is\ working)\b
        (?:\ (?:now|great|perfectly|fine|well))?(?=\s*(?:[,.!\n]|$))
    | {_START}works\ (?:now|great|perfectly|fine|well)\b | 👍 | 🎉 | ❤ | 💯""",
    r"""\b(?:danke(?:schön)?|vielen\ dank|gut\ gemacht|sehr\ gut|viel\ besser)\b
    | ^(?:super|perfekt|prima|toll|klasse|wunderbar|großartig|genau)\b(?=\s*(?:[,.!\n]|$))
    | \b(?:es|das|jetzt)\ (?:funktioniert|klappt)(?:\ jetzt)?(?=\s*(?:[,.!\n]|$))""",
    r"""\b(?:merci|bien\ joué|bon\ travail|beaucoup\ mieux)\b
    | ^(?:parfait|super|génial|excellent|bravo|exactement)\b(?=\s*(?:[,.!\n]|$))
    | \bça\ (?:marche|fonctionne)(?:\ maintenant)?(?=\s*(?:[,.!\n]|$))""",
    r"""\b(?:gracias|bien\ hecho|buen\ trabajo|mucho\ mejor)\b
    | ^(?:perfecto|genial|excelente|exacto|estupendo|fantástico)\b(?=\s*(?:[,.!\n]|$))
    | \bya\ funciona(?=\s*(?:[,.!\n]|$))""",
    r"""\b(?:grazie|ben\ fatto|ottimo\ lavoro|molto\ meglio)\b
    | ^(?:perfetto|ottimo|fantastico|eccellente|esatto|bravo)\b(?=\s*(?:[,.!\n]|$))
    | \b(?:ora|adesso)\ funziona(?=\s*(?:[,.!\n]|$))""",
    r"""\b(?:obrigad[oa]|bom\ trabalho|muito\ (?:bem|melhor))\b
    | ^(?:perfeito|ótimo|excelente|exato|maravilha)\b(?=\s*(?:[,.!\n]|$))
    | \bagora\ funciona(?=\s*(?:[,.!\n]|$))""",
    r"""\b(?:bedankt|dank\ je|goed\ gedaan|goed\ werk|veel\ beter)\b
    | ^(?:perfect|geweldig|prima|mooi|precies|top)\b(?=\s*(?:[,.!\n]|$))
    | \b(?:het|nu)\ werkt(?:\ nu)?(?=\s*(?:[,.!\n]|$))""",
)


@cache
def phrases(kind: str) -> re.Pattern[str]:
    """What shows a correction, frustration or praise, in all languages: messages mix them."""
    sets = {"correction": _CORRECTIONS, "frustration": _FRUSTRATIONS, "praise": _PRAISES}[kind]
    return re.compile("|".join(f"(?:{one})" for one in sets), re.VERBOSE | re.IGNORECASE)


def is_read(text: str) -> bool:
    """Whether the rules read the language of a text.

    >>> is_read("No, that is wrong."), is_read("Das ist falsch, ich meinte den anderen Knopf."), is_read("Нет, не так")
    (True, True, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter < "\u0250" for letter in letters)
    if letters and latin < 0.7 * len(letters):
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < FEWEST_WORDS:
        return True
    most = max(sum(word in STOP_WORDS[language] for word in words) for language in LANGUAGES)
    return most >= STOP_SHARE * len(words)
