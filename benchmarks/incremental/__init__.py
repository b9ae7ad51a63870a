"""Learning in sessions, measured: streams of sessions, and methods that learn them.

data.py      data sets, and the features of their pictures, computed once and kept on disk
streams.py   in which sessions a data set comes
methods/     one small file a method
confidence.py   calibration, and telling the unknown
loop.py      a method goes through a stream; accuracy on all that was seen, session by session
tables.py    means over seeds, as tables and curves
"""
