"""Learning in sessions, measured: streams of sessions, and methods that learn them.

What is learned from:
  data.py          data sets as features of a frozen encoder, computed once and kept on disk
  local_copies.py  data sets of the paper as pixels, from the user's copy
  streams.py, scenarios.py   in which sessions they come

What learns:
  ground.py        what a method trains: a network, its inputs, for how long
  pixels.py        … small pictures and a network from scratch
  replay.py        … with pictures kept from before
  methods/         one small file a method; in trained.py the other ground, the last stages

What is measured:
  loop.py, jobs.py   a method goes through a stream, session by session; kept, and taken up again
  probes.py          what its features are worth, whatever it makes of them
  confidence.py      calibration, and telling the unknown
  tables.py, paper_tables.py, paper_plots.py   means over seeds, as tables and curves
"""
