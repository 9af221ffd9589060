"""Skills: pages of advice that are loaded when they are needed, with files beside them."""
