"""The gateway as a server: its methods, its controls, its life."""
