"""The display tree as it grows: every string is cleaned on its way in, and counted."""

from __future__ import annotations

from mudroom.extract.clean import clean_exposed, has_suspects
from mudroom.extract.display import END, Block, BlockKind, Inline

__all__ = ["DisplayBuilder"]

_PARAGRAPH, _HEADING = BlockKind.PARAGRAPH, BlockKind.HEADING
_BARE = {kind: Block(kind, number=-1) for kind in BlockKind}
_new = tuple.__new__  # a paragraph made so costs half


class DisplayBuilder:
    """Blocks in reading order, and how much text they show."""

    __slots__ = ("_targets", "blocks", "removed_chars", "visible_chars")

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._targets: list[list[Block]] = []
        self.removed_chars = 0
        """Characters that exposed text may not hold."""
        self.visible_chars = 0

    def text(self, untrusted_text: str) -> str:
        """A string fit to be shown."""
        if not has_suspects(untrusted_text):
            return untrusted_text
        cleaned = clean_exposed(untrusted_text)
        self.removed_chars += cleaned.removed
        return cleaned.text

    def inline(self, untrusted_inline: list[str], raw: str, heading: int = 0) -> None:
        """A paragraph, or a heading of level 1 to 6; `raw` is all its strings joined, which the caller has at hand."""
        self.visible_chars += len(raw)
        inline = untrusted_inline
        if has_suspects(raw):
            inline = [self.text(part) if type(part) is str else part for part in untrusted_inline]
        self.blocks.append(
            Block(_HEADING, inline, number=heading)
            if heading
            else _new(Block, (_PARAGRAPH, inline, "", "", 0, ()))
        )

    def paragraph(self, inline: Inline) -> None:
        """A paragraph of inline text that was cleaned already."""
        self.blocks.append(Block(_PARAGRAPH, inline))

    def heading(self, level: int, inline: Inline) -> None:
        """A heading, level 1 to 6."""
        self.blocks.append(Block(_HEADING, inline, number=level))

    def words(self, untrusted_text: str) -> None:
        """A paragraph of plain words."""
        self.visible_chars += len(untrusted_text)
        self.paragraph([self.text(untrusted_text)])

    def code(self, untrusted_code: str, language: str = "") -> None:
        """Verbatim text; the language is one of a list, or nothing."""
        self.visible_chars += len(untrusted_code)
        self.blocks.append(Block(BlockKind.CODE, text=self.text(untrusted_code), label=language))

    def lines(self, untrusted_text: str) -> None:
        """Plain text whose line breaks are kept."""
        self.visible_chars += len(untrusted_text)
        self.blocks.append(Block(BlockKind.LINES, text=self.text(untrusted_text)))

    def rule(self) -> None:
        """A thematic break."""
        self.blocks.append(Block(BlockKind.RULE))

    def open(self, kind: BlockKind, number: int = -1, label: str = "") -> None:
        """Begin a container."""
        is_bare = number == -1 and not label
        self.blocks.append(_BARE[kind] if is_bare else Block(kind, number=number, label=label))

    def close(self) -> None:
        """End the container that was begun last."""
        self.blocks.append(END)

    def divert(self) -> None:
        """Collect the following blocks apart, until `restore`."""
        self._targets.append(self.blocks)
        self.blocks = []

    def restore(self) -> list[Block]:
        """The blocks collected since `divert`; collecting goes on where it was."""
        collected = self.blocks
        self.blocks = self._targets.pop()
        return collected
