"""How properties of the core are checked: quickly, because at every change, and without a look at the clock."""

from hypothesis import settings

quickly = settings(max_examples=40, deadline=None)
