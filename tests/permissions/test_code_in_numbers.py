"""Bash runs what stands in the index of a name wherever it expects a number."""

import subprocess
from pathlib import Path

import pytest
from shell_desk import Desk

HIDDEN = [
    "[[ 'x[$(touch ../PWN)]' -eq 1 ]]",
    "[[ 1 -lt 'x[`touch ../PWN`]' ]]",
    "[[ 'a[$''(touch ../PWN)]' -eq 1 ]]",
    "[[ ! 'a[$(touch ../PWN)]' -ge 3 ]]",
    "if [[ 'a[$(touch ../PWN)]' -eq 1 ]]; then ls; fi",
    "[[ $(cat evil) -eq 1 ]]",
    "echo $(( $(cat evil) ))",
    "(( $(cat evil) ))",
    "for ((i=$(cat evil);i<1;i++)); do ls; done",
    "timeout 1 bash -c \"[[ 'a[\\$(touch ../PWN)]' -eq 1 ]]\"",
    "x='a[$(touch ../PWN)]'; arr=([x]=1)",
    "declare 'a[$(touch ../PWN)]=1'",
    "typeset 'a[$(touch ../PWN)]=1'",
    "declare 'x=a[$(touch ../PWN)]'; [[ x -eq 1 ]]",
    "readonly 'x=a[$(touch ../PWN)]'; echo ${HOME:x}",
    "export 'BASH_ENV=evil.sh'; bash -c ls",
    "sleep 0 & wait -n -p 'a[$(touch ../PWN)]'",
]
HARMLESS = [
    '[[ "$x" -eq 1 && $y -gt 10 ]]',
    "(( x > 3 && y < 4 ))",
    "for ((i=0;i<10;i++)); do echo $i; done",
    "n=3; for i in 1 2 3; do [[ $i -eq $n ]] && echo yes; done",
    "echo $(( (1 + 2) * 3 )) $((x << 2)) $((x ? 1 : 2))",
    "export A=1 B=2; ls",
    "sleep 0 & wait $!",
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


@pytest.mark.parametrize("command", HIDDEN)
def test_code_that_hides_in_a_number_asks(desk: Desk, command: str) -> None:
    (desk.root / "evil").write_text("a[$(touch ../PWN)]\n")
    (desk.root / "evil.sh").write_text("touch ../PWN\n")
    assert desk.verdict(command) == "ask"
    # The danger is real: bash does what the analysis feared.
    subprocess.run(["bash", "-c", command], cwd=desk.root, capture_output=True, check=False)
    assert (desk.root.parent / "PWN").exists()


@pytest.mark.parametrize("command", HARMLESS)
def test_honest_numbers_do_not_ask(desk: Desk, command: str) -> None:
    assert desk.verdict(command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "jq -n --rawfile a /etc/passwd '$a'",
        "jq -n --slurpfile a ../x '$a'",
        "file -m /etc/passwd f",
    ],
)
def test_files_that_an_option_reads_are_no_secret_way_out(desk: Desk, command: str) -> None:
    assert desk.verdict(command) == "ask"
