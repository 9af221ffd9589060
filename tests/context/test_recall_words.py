from roost.context.recall import Remembered, memory_block, recall_note


def test_where_there_is_nothing_nothing_is_said() -> None:
    assert memory_block([], writable=True) == ""
    assert recall_note(0, 0) == ""


def test_the_block_names_files_and_headings_within_bounds() -> None:
    files = [Remembered(f"project/MEMORY-{n}.md", ("Rules", "x" * 400)) for n in range(30)]
    block = memory_block(files, writable=True)
    assert "- project/MEMORY-0.md: Rules; xxx" in block
    assert "- and 10 more" in block
    assert len(block) < 6_500
    assert memory_block([Remembered("a.md", ())], writable=True).count("- a.md\n") == 1


def test_where_writing_is_off_that_is_said_in_any_case() -> None:
    assert "memory.disable_write" in memory_block([], writable=False)
    assert "memory.disable_write" not in memory_block([Remembered("a", ())], writable=True)


def test_the_note_says_what_there_is_in_few_words() -> None:
    note = recall_note(2, 1)
    assert "2 files of memory and 1 open task" in note
    assert "1 open task" in recall_note(0, 1)
    assert "memory and" not in recall_note(3, 0).partition(".")[0]
    assert len(note) / 4 < 130
