"""Pod Security admission: the levels baseline and restricted."""
