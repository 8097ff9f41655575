"""Language models for the torch decoder: targets, drafts, generation. Needs the extra `llm`.

errors.py     what is unusable, in one line
cache.py      keys and values of a batch, compacted to what was accepted
narrow.py     matrix products for few rows; attention.py, attention of few queries
target.py     a Hugging Face causal model as target; trial.py refuses those that cannot be one
head.py       an EAGLE-3-style draft head; eagle.py drafts with it, unroll.py is what training needs of it
drafter.py    what a draft model has to answer; ngram.py and small.py are two more
files.py      heads as files; published.py, in the layout of EAGLE-3; loading.py finds out what a user means by a draft
methods.py    sizes, rules and processing by the name of a method
step.py       the parts of a decode step
reach.py      exact acceptance of given trees; union.py reads several trees at once
generate.py   texts; texts.py knows when each ends, statistics.py what the steps did
"""
