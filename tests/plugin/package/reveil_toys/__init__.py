"""One small thing of each kind that another package can add to Reveil; ``pyproject.toml`` beside it registers them."""
