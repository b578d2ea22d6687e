"""What both kinds of trees share: labels of arcs, and which arcs can be in a tree."""
