"""Records to groups, and groups to cells: groupers, recoders and the indexes that they use."""
