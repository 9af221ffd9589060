"""How often what is looked for is among the first five, beside an index as it is usually made."""

import random
import re
import sqlite3
from collections.abc import Callable

import pytest

from roost.db.transaction import Reader, Transaction
from roost.memory import history_store as store
from roost.memory.history_store import Filters, Heard, Passage, Place
from roost.memory.index import Index
from roost.memory.rank import Candidate, query_of, ranked

DISTRACTORS = 1_500
WORDS = """the a of to in and for on with by server client request timeout retry session actor
turn step policy model token budget cache file folder path line patch edit undo snapshot shell
command output error test build deploy release branch commit merge review note plan task goal
notice inbox message queue lock thread process memory database migration schema table index query
row column transaction reader writer config key value default option flag user person project
parser lexer node tree graph edge route handler event stream chunk buffer socket port host address
certificate password login account invoice payment order customer report chart page button style
color font image icon layout window screen keyboard mouse network packet driver kernel"""
RUNS = """数据库 迁移 脚本 检查点 写手 端口 服务器 客户端 请求 超时 重试 会话 模型 预算 缓存
文件 目录 路径 补丁 编辑 撤销 快照 命令 输出 错误 测试 构建 部署 发布 分支 提交 合并
评审 笔记 计划 任务 目标 通知 消息 队列 线程 进程 内存 索引 查询
事务 配置 默认 选项 用户 项目 解析 节点 路由 事件 缓冲 地址 证书 密码 登录
账户 发票 付款 订单 客户 报告 页面 按钮 样式 图片 窗口 键盘 网络"""
STOP = ["the", "a", "of", "to", "in", "and", "for", "on", "with", "by"]
PLAIN = [one for one in WORDS.split() if one not in STOP]
ENGLISH = [*STOP, *PLAIN, *(one + end for one in PLAIN for end in ("ing", "ed", "er"))]
CHINESE = RUNS.split()
VERBS = ["get", "set", "find", "load", "store", "parse", "render", "close", "open", "merge"]


class Made:
    """Passages with the questions that each of some of them answers."""

    def __init__(self) -> None:
        chance = random.Random(7)
        self.texts: list[str] = []
        self.questions: dict[str, list[tuple[str, int]]] = {}
        for kind in ("english", "chinese", "identifier", "literal"):
            self.questions[kind] = [self._asked(kind, chance) for _ in range(60)]
        self.texts += [_noise(chance) for _ in range(DISTRACTORS)]

    def _asked(self, kind: str, chance: random.Random) -> tuple[str, int]:
        if kind == "english":
            told = chance.sample(ENGLISH[10:], 4)
            core = " ".join(told)
            question = f"{told[2]} {chance.choice(STOP)} {told[0]}s {told[1]}"
        elif kind == "chinese":
            told = chance.sample(CHINESE, 4)
            core, question = "".join(told), told[0] + told[1]
        elif kind == "identifier":
            verb, *names = [chance.choice(VERBS), *chance.sample(PLAIN, 3)]
            core = f"{verb}{''.join(one.title() for one in names)}(x)"
            question = "".join(one.title() for one in names[:2]) + names[2].title()
        else:
            core = f"exit code {chance.randint(100, 999)}在端口{chance.randint(10_000, 60_000)}"
            question = re.findall(r"\d{5}", core)[0]
        text = f"{_noise(chance)} {core} {_noise(chance)}"
        self.texts.append(text)
        return question, len(self.texts) - 1

    def recall(self, kind: str, search: Callable[[str], list[int]]) -> float:
        asked = self.questions[kind]
        return sum(at in search(question)[:5] for question, at in asked) / len(asked)


def _noise(chance: random.Random) -> str:
    words = chance.choices(ENGLISH, k=chance.randint(8, 20))
    if chance.random() < 0.5:
        words.append("".join(chance.choices(CHINESE, k=chance.randint(3, 8))))
    if chance.random() < 0.5:
        words.append(
            chance.choice(VERBS) + "".join(w.title() for w in chance.choices(ENGLISH, k=2))
        )
    return " ".join(words)


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


@pytest.fixture(scope="module")
def ours(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[int]]:
    index = Index(tmp_path_factory.mktemp("index") / "search.db")
    heard = [
        Heard(at + 1, f"m{at}", "s", "p", 1, (Passage(Place(0, 0, 0), "", text),))
        for at, text in enumerate(made.texts)
    ]

    def fill(tx: Transaction) -> None:
        store.add(tx, heard, 0)

    index.write(fill)

    def search(question: str) -> list[int]:
        query = query_of(question)

        def look(db: Reader) -> list[store.FoundPassage]:
            return store.search(db, query.words, Filters(), 80)

        found = index.read(look)
        candidates = [
            Candidate(one.row - 1, one.score, made.texts[one.row - 1], 1) for one in found
        ]
        return [hit.of for hit in ranked(query, candidates, 1, 5)]

    return search


@pytest.fixture(scope="module")
def usual(made: Made) -> Callable[[str], list[int]]:
    """`unicode61`, any of the words, BM25."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='unicode61')")
    connection.executemany("INSERT INTO t (body) VALUES (?)", [(one,) for one in made.texts])

    def search(question: str) -> list[int]:
        words = " OR ".join(f'"{one}"' for one in re.findall(r"\w+", question))
        sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 5"
        return [row[0] - 1 for row in connection.execute(sql, (words,))]

    return search


@pytest.mark.parametrize(
    ("kind", "least", "better"),
    [
        ("english", 0.9, 0.0),
        ("chinese", 0.9, 0.5),
        ("identifier", 0.9, 0.5),
        ("literal", 0.95, 0.5),
    ],
)
def test_what_is_looked_for_is_among_the_first_five(
    made: Made,
    ours: Callable[[str], list[int]],
    usual: Callable[[str], list[int]],
    kind: str,
    least: float,
    better: float,
) -> None:
    found, before = made.recall(kind, ours), made.recall(kind, usual)
    assert found >= least, (found, before)
    assert found >= before + better, (found, before)
