"""Mail as the model reads it. Bodies are data: markup inside them is escaped, so that no sender can
imitate the runtime or another sender.
"""

from html import escape

from roost.inbox.models import InboxRow, NoteBody
from roost.inbox.notices import NoticeBody, words


def as_data(text: str) -> str:
    """`text` with the characters that open markup escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render(row: InboxRow) -> str:
    """One row that is not a prompt as text for the model."""
    body = row.body
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
