"""Horovod on the workers of a launcher: the flags of horovodrun, the hosts that it polls, workers that leave or are lost.

A kind whose launcher starts horovodrun uses it, as one whose pods start torchrun uses `kinds/torchrun.py`.
"""
