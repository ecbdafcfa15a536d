"""The BANG file: space halved cyclically through its dimensions, and blocks that are regions without their inner ones.

``scales`` puts values into cells, ``keys`` interleaves the bits of the cells, ``regions`` are prefixes of keys,
``building`` makes the blocks of a whole table at once and ``file`` keeps them while records come and go.

Nothing here looks at a sensitive value, except :func:`reveil.grouping.bang.building.build` when it is given a model
that does.
"""
