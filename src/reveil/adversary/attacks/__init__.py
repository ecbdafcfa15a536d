"""The attacks, one to a file, found by their entry points in the group ``reveil.attacks``."""
