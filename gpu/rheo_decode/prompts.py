"""Words to tokens and back: tokenizer, chat template, stop tokens, and text that comes in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rheo_gpu.llm.errors import Unusable, line
from rheo_gpu.llm.target import Target

UNFINISHED = "\N{REPLACEMENT CHARACTER}"


def load_tokenizer(folder: str | Path) -> Any:
    """The tokenizer of a model's folder; nothing is fetched. Raises `Unusable`."""
    from transformers import AutoTokenizer

    if not Path(folder, "config.json").is_file():
        raise Unusable(f"{folder}: no config.json, expected the folder of a causal language model")
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except ModuleNotFoundError:
        raise
    except Exception as error:
        raise Unusable(f"{folder}: no tokenizer that can be read ({line(error)}), expected its files there") from error


def prompt_tokens(tokenizer: Any, prompt: str, raw: bool) -> list[int]:
    """The tokens of a user's turn in the model's chat template, or of the prompt as it is. Raises `Unusable`."""
    if raw:
        tokens: list[int] = tokenizer(prompt).input_ids
    else:
        if not tokenizer.chat_template:
            raise Unusable("the target's tokenizer has no chat template: use --raw")
        turns = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        tokens = tokenizer(text, add_special_tokens=False).input_ids
    if not tokens:
        raise Unusable("the prompt has no tokens, expected a text that the tokenizer knows")
    return tokens


def stop_tokens(target: Target, tokenizer: Any) -> list[int]:
    """The tokens that end a text, by the model's settings and by its tokenizer."""
    found: set[int] = set()
    for owner in (target.model.config, getattr(target.model, "generation_config", None), tokenizer):
        ends = getattr(owner, "eos_token_id", None)
        found |= set(ends) if isinstance(ends, list | tuple) else set() if ends is None else {ends}
    return sorted(found)


class Words:
    """The text of tokens that come in pieces. A character that is not whole yet waits for the next piece."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.tokens, self.text, self.told = tokenizer, list[int](), "", 0

    def add(self, tokens: list[int]) -> str:
        """What can be said after these tokens, and was not said before."""
        self.tokens += tokens
        self.text = self.tokenizer.decode(self.tokens, skip_special_tokens=True)
        return "" if self.text.endswith(UNFINISHED) else self.rest()

    def rest(self) -> str:
        """All that was not said before."""
        said, self.told = self.text[self.told :], len(self.text)
        return said
