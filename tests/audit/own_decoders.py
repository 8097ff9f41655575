"""Our own decoders, called as anybody's are: whole steps with models that map tokens to a row of probabilities."""

import numpy as np
import rheo_gpu
import rheo_reference
import torch


def numpy_decoder(ids, draft_model, target_model, K, verify="rheo"):
    config = rheo_reference.Config(
        slots=2, head=1, depth=K, beam=1, nodes=2, sparse=None, verify=verify, target=None, draft=None
    )
    tape = rheo_reference.Tapes.fill(np.random.default_rng(), config)[0]

    def rows(model):
        return lambda prefixes: np.stack([model(list(prefix)) for prefix in prefixes])

    prefix = tuple(int(x) for x in ids)
    return rheo_reference.decode_step(rows(target_model), rows(draft_model), prefix, config, tape).tokens


def torch_decoder(ids, draft_model, target_model, K, verify="rheo"):
    config = rheo_gpu.Config(slots=2, head=1, depth=K, beam=1, nodes=2, sparse=None, verify=verify)
    tape = rheo_gpu.Tape.fill(config, 1)
    prefix = [int(x) for x in ids]

    def rows(model, paths):
        strings = [[*prefix, *(int(x) for x in path if x >= 0)] for path in paths[0]]
        return torch.stack([model(string) for string in strings])[None]

    step = rheo_gpu.decode_step(
        lambda trees: rows(target_model, trees.paths),
        lambda layer: rows(draft_model, layer.paths),
        config,
        tape,
        None,
        None,
    )
    return step.verified.tokens[0, : step.verified.lengths[0]]
