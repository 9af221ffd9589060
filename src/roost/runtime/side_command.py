"""`/btw`: a question aside, about the conversation and not of it. Pure."""

from typing import Final

NAME: Final = "btw"
DESCRIPTION: Final = "ask something about the conversation, which goes on as if you had not"
TEMPLATE: Final = "$ARGUMENTS"
