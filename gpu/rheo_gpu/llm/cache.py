"""Keys and values of a batch: what is kept of a tree, and what is forgotten.

All layers lie in one block, so that a step moves its accepted entries with one gather and one write. The entries of
request r are `lengths[r]` from the front. A forward pass writes behind the longest request, at the same place for all:
where an entry lies does not matter to attention, which sees positions in the keys and gaps in the mask.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .errors import Unusable


class Block:
    """Keys and values [layer, 2, R, heads, entry, size] of R requests, growing as needed.

    `lengths` [R] are the entries that a request has kept; `end` is where the entries of the last forward pass begin,
    `width` how many there are. They are lost unless `keep` names them.
    """

    def __init__(self, layers: int, batch: int, device: torch.device | str = "cpu") -> None:
        self.layers = layers
        self.lengths = torch.zeros(batch, dtype=torch.int64, device=device)
        self.end, self.width = 0, 0
        self.seen = torch.zeros(batch, 0, 0, dtype=torch.bool, device=device)
        self._block: Tensor | None = None

    def begin(self, width: int) -> None:
        """Forget what was not kept, and make room for `width` new entries a request."""
        self.end, self.width = int(self.lengths.max()) if len(self.lengths) else 0, width
        if self._block is not None and self._block.shape[4] <= self.end + width:
            self._block = self._grown(self._block, self.end + width)

    def extend(self, width: int) -> None:
        """Make room for more entries behind those of the last forward pass, which stay: one layer of a tree more."""
        self.width += width
        if self._block is not None and self._block.shape[4] <= self.end + self.width:
            self._block = self._grown(self._block, self.end + self.width)

    def branch(self, parents: Tensor, first: bool) -> Tensor:
        """Make room for a layer [R, W] of a draft tree, below `parents` in the layer before; the `first` begins a tree.

        Which of the tree's entries a node sees, its own last: [R, W, entries], itself and the nodes above it.
        """
        batch, width = parents.shape
        itself = torch.eye(width, dtype=torch.bool, device=parents.device).expand(batch, -1, -1)
        if first:
            self.begin(width)
            self.seen = itself
        else:
            self.extend(width)
            index = parents.clamp(min=0)[..., None].expand(-1, -1, self.seen.shape[-1])
            self.seen = torch.cat([self.seen.gather(1, index), itself], -1)
        return self.seen

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put new entries [R, heads, n, size] at the end of the room; all keys and values up to there.

        Raises `Unusable` where a layer has other heads than the first.
        """
        batch, heads, n, size = keys.shape
        if self._block is None:
            room = self.end + self.width + 64
            self._block = keys.new_zeros(self.layers, 2, batch, heads, room, size)
        elif self._block.shape[3] != heads or self._block.shape[5] != size or values.shape != keys.shape:
            raise Unusable(
                f"layer {layer} has {heads} heads of size {size}, expected {self._block.shape[3]} of size "
                f"{self._block.shape[5]} as in the others, keys and values alike"
            )
        stop = self.end + self.width
        self._block[layer, 0, :, :, stop - n : stop] = keys
        self._block[layer, 1, :, :, stop - n : stop] = values
        return self._block[layer, 0, :, :, :stop], self._block[layer, 1, :, :, :stop]

    def prefix(self) -> Tensor:
        """[R, end]: which entries before those of the last forward pass are there."""
        return torch.arange(self.end, device=self.lengths.device) < self.lengths[:, None]

    def keep(self, nodes: Tensor) -> None:
        """Keep the entries `nodes` [R, n] of the last forward pass, in this order; -1 is none, behind all others."""
        there = nodes >= 0
        if self._block is not None:
            spare = self._block.shape[4] - 1  # never read: room is always made for one entry more
            place = torch.arange(nodes.shape[1], device=nodes.device)
            target = torch.where(there, self.lengths[:, None] + place, spare)
            source = torch.where(there, self.end + nodes, spare)
            rows = torch.arange(len(nodes), device=nodes.device)[:, None]
            self._block[:, :, rows, :, target] = self._block[:, :, rows, :, source]
        self.lengths = self.lengths + there.sum(1)
        self.width = 0

    def select(self, rows: Tensor) -> None:
        """Keep these requests alone."""
        self.lengths = self.lengths[rows]
        if self._block is not None:
            self._block = self._block[:, :, rows]

    def _grown(self, block: Tensor, needed: int) -> Tensor:
        room = block.new_zeros(*block.shape[:4], max(needed + 64, 2 * block.shape[4]), block.shape[5])
        room[:, :, :, :, : block.shape[4]] = block
        return room
