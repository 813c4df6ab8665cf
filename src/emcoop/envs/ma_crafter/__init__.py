"""MA-Crafter: Crafter (Hafner 2021) for a team, with cooperative collection and crafting (paper, appendix G)."""
