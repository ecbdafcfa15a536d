"""Apache Spark: shards are worked on by the workers of a cluster, or by processes of this machine.

Spark is given numbers and opaque bytes: of a table in its hands, a row is a *piece*, which only
:mod:`reveil.engines.spark.steps` opens. No plan, page or log of Spark's can show a value then.
"""
