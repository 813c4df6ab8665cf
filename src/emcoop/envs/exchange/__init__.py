"""The information exchange: agents that hold pieces of information which the others need, at no cost to share."""
