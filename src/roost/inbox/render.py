"""Mail as the model reads it. Bodies are data: markup inside them is escaped, so that no sender can
imitate the runtime or another sender.
"""

from html import escape

from roost.inbox.models import InboxRow, NoteBody
from roost.inbox.notices import NoticeBody, words


def as_data(text: str) -> str:
    """`text` with the characters that open markup escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _unframed(text: str) -> str:
    """`text` without what could end its frame; all else stays to the letter."""
    return text.replace("</conversation-so-far", "&lt;/conversation-so-far")


def render(row: InboxRow) -> str:
    """One row that is not a prompt as text for the model."""
    body = row.body
    if isinstance(body, NoteBody) and body.mark is not None:
        return f"<conversation-so-far>\n{_unframed(body.text)}\n</conversation-so-far>"
    text = ""
    if isinstance(body, NoteBody):
        text = body.text
    elif isinstance(body, NoticeBody):
        text = words(body)
    if row.kind == "system":
        return f"<system-reminder>\n{as_data(text)}\n</system-reminder>"
    subject = body.subject if isinstance(body, NoteBody) else ""
    attributes = {
        "from": row.sender.actor_id if row.sender else "roost",
        "id": row.id,
        "reply-to": row.reply_to or "",
        "subject": subject,
    }
    shown = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
    return f"<{row.kind}{shown}>\n{as_data(text)}\n</{row.kind}>"
