"""The WebSocket of a tab: topics that the page subscribes to."""
