from batched import verify as verify_batch
from engine import verify, verify_shorter


def test_lossless(rheo_audit):
    rheo_audit(verify, adapter="chain", arrays="list")


def test_the_shorter_one_is_biased(rheo_audit):
    rheo_audit(verify_shorter, adapter="chain", arrays="list", expect="biased")


def test_batches_are_lossless(rheo_audit):
    roles = {"tokens": "draft_tokens", "p": "target_probs", "q": "draft_probs"}
    rheo_audit(verify_batch, "chain", roles=roles, returns="padded", batched=True, tables=["dyadic", "two dyadic"])
