"""Tables with one row for each visit: a person's rows become one record by declared rules, before anything else.

The promise of a release is about a person. With a row for each visit it would be about visits, and somebody with ten of
them could be a group alone; so the rows are put together first, and what is put together is the record.
"""
