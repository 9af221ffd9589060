"""The words in which facts are planted, and those in which somebody asks for them later.

In a phrasing `{v}` is the value, `{s}` a service, `{e}` where it runs, `{t}` some other thing. Many
say what they say in passing, without a word that announces it; none is known to what is measured.
"""

from typing import Final, NamedTuple


class Phrasing(NamedTuple):
    """Words, and what is asked later."""

    said: str
    asked: str


class Literal(NamedTuple):
    """A sort of exact value: how it looks, and how it stands in speech, calls and outputs."""

    value: str
    """`{n}`: a number of five digits, `{h}`: eight hexadecimal digits, `{k}`: four of a key."""
    said: tuple[Phrasing, ...]
    called: Phrasing
    printed: Phrasing


SERVICES: Final = (
    *("billing", "ledger", "mailer", "search", "gateway", "reports", "catalog", "payments"),
    *("identity", "webhooks", "scheduler", "exports", "pricing", "media", "notifier", "audit"),
)
PLACES: Final = ("staging", "production", "sandbox", "canary", "demo", "nightly")
LITERALS: Final = (
    Literal(
        "postgres://{s}_rw:{h}@db-{n}.internal:5432/{s}_{e}",
        (
            Phrasing("The database of {s} on {e} is {v} by the way.", "database url {s} {e}"),
            Phrasing("{s} ({e}) keeps its tables in {v}", "{s} tables {e} postgres"),
            Phrasing("{e} 环境里 {s} 的数据库地址是 {v}，别的都一样。", "{s} {e} 数据库地址"),
            Phrasing(
                "I could log in to the {e} database of {s} with {v}", "{s} {e} database login"
            ),
        ),
        Phrasing("./dev psql {v} -c 'select 1' # is the {s} db on {e} up", "psql {s} {e}"),
        Phrasing("connected {s} ({e}) database to {v}", "{s} {e} database connected"),
    ),
    Literal(
        "{n}",
        (
            Phrasing("You will find {s} behind port {v} on {e}.", "{s} port {e}"),
            Phrasing("The {e} instance of {s} took {v} as its port", "which port has {s} on {e}"),
            Phrasing("{s} 在 {e} 上的端口是 {v}。", "{s} {e} 端口"),
            Phrasing("Someone moved {s} to port {v}, though only for {e}.", "{s} {e} port moved"),
        ),
        Phrasing("./dev tunnel --service {s} --to {e} --local-port {v}", "tunnel {s} {e} port"),
        Phrasing("{s}: listening for {e} traffic, port {v}", "{s} {e} listening port"),
    ),
    Literal(
        "{S}_LEASE_MS={n}",
        (
            Phrasing("With {v} the {e} runs of {s} went through", "{s} lease setting {e}"),
            Phrasing("On {e}, {s} is started with {v} in its environment.", "{s} {e} environment"),
            Phrasing("{e} 的 {s} 启动时带 {v}，之前没有。", "{s} {e} 启动"),
        ),
        Phrasing("env {v} ./dev start {s} --where {e}", "start {s} {e} lease"),
        Phrasing("environment of {s} at {e}: {v} (inherited)", "{s} {e} environment lease"),
    ),
    Literal(
        "K{k}-{k}-{k}",
        (
            Phrasing("Their licence for {s} on {e}: {v}", "{s} licence key {e}"),
            Phrasing("{s} answers on {e} once it has the key {v}", "key of {s} for {e}"),
            Phrasing("{e} 的 {s} 用的许可证是 {v}", "{s} {e} 许可证"),
        ),
        Phrasing("./dev licence {s} --at {e} --key {v}", "licence {s} {e} key"),
        Phrasing("licence {v} accepted for {s} on {e}", "{s} licence accepted {e}"),
    ),
    Literal(
        "/srv/{s}/{e}/dumps/{h}.tar.zst",
        (
            Phrasing("Last night's dump of {s} ({e}) went to {v}", "{s} {e} dump of last night"),
            Phrasing("There is a backup of {s} from {e} in {v}.", "backup file {s} {e}"),
            Phrasing("{s} 的 {e} 备份放在 {v}", "{s} {e} 备份"),
        ),
        Phrasing("./dev unpack {v} # the {e} dump of {s}", "unpack dump {s} {e}"),
        Phrasing("wrote dump of {s} at {e} to {v}", "{s} {e} dump written where"),
    ),
    Literal(
        "deployctl roll {s} --to {e} --batch {n} --hold",
        (
            Phrasing("To roll it out there, people type {v}", "command to roll out {s} {e}"),
            Phrasing("What worked in the end was {v} and then waiting.", "deployctl roll {s} {e}"),
            Phrasing("上线用的是 {v} 这一条。", "{s} {e} 上线 deployctl"),
        ),
        Phrasing("./dev record {v}", "deployctl {s} {e} batch"),
        Phrasing("history: {v}", "deployctl roll {s} {e}"),
    ),
    Literal(
        "OPS-{n}",
        (
            Phrasing("The outage of {s} on {e} is tracked as {v}.", "ticket for {s} outage {e}"),
            Phrasing("{v} is about {s} being slow on {e}", "{s} slow {e} ticket"),
            Phrasing("{e} 上 {s} 的故障单是 {v}", "{s} {e} 故障单"),
        ),
        Phrasing("./dev ticket show {v} --about {s} --seen-on {e}", "ticket {s} {e}"),
        Phrasing("linked incident {v} of {s} in {e}", "{s} incident {e}"),
    ),
    Literal(
        "4.{d}.{d}-rc.{d}{d}",
        (
            Phrasing("{e} still runs {s} {v}, the others are ahead.", "{s} version {e}"),
            Phrasing("We were on {v} of {s} when {e} broke", "which {s} version when {e} broke"),
            Phrasing("{s} 在 {e} 的版本停在 {v}", "{s} {e} 版本"),
        ),
        Phrasing("./dev pin {s} {v} --only {e}", "pin {s} {e}"),
        Phrasing("{s} build {v} is live on {e}", "{s} build live {e}"),
    ),
)
RULES: Final = (
    Phrasing("Never touch {t}", "touch {t} rule"),
    Phrasing("{t} is off limits while the audit runs", "{t} audit"),
    Phrasing("hands off {t}, the other team owns that", "who owns {t}"),
    Phrasing("whatever you do, {t} stays byte for byte as it is", "may {t} be changed"),
    Phrasing("不要修改 {t} 里的任何文件", "修改 {t}"),
    Phrasing("{t} 归别的组，别动它", "{t} 归谁"),
    Phrasing("I want every change to {t} in a commit of its own", "commit for change to {t}"),
    Phrasing("nobody merges {t} without Dana looking at it first", "merge {t} review Dana"),
    Phrasing("tests below {t} run with one worker here", "tests {t} worker"),
    Phrasing("改 {t} 之前先跑一遍对账", "{t} 对账"),
    Phrasing("new code under {t} comes with types or not at all", "{t} types for new code"),
    Phrasing("please keep {t} free of new dependencies", "dependencies {t}"),
    Phrasing("in {t} we write tabs", "tabs or spaces in {t}"),
    Phrasing("必须先备份再动 {t}", "{t} 备份"),
)
THINGS: Final = (
    *("legacy/", "vendor/zlib/", "deploy/prod.yaml", "db/seeds/", "proto/v1/", "web/fonts/"),
    *("infra/dns/", "src/auth/", "docs/api/", "scripts/release.sh", "src/money/", "i18n/zh/"),
    *("tools/codegen/", "fixtures/golden/", "charts/", "mobile/ios/", "src/queue/", "etl/jobs/"),
    *("bench/data/", "ci/images/", "src/cache/", "third_party/", "styles/tokens.css", "lib/pdf/"),
)
DECISIONS: Final = (
    Phrasing("We decided to keep {t} on {c}", "what was decided about {t}"),
    Phrasing("so {t} goes through {c} from here on", "how does {t} go"),
    Phrasing("{c} it is for {t}; the alternative was twice the code", "{t} alternative code"),
    Phrasing("I moved {t} over to {c} and that stays", "{t} moved to"),
    Phrasing("{t} 最后用 {c}，理由是简单", "{t} 最后用什么"),
    Phrasing("for {t} I am going with {c}", "{t} choice"),
    Phrasing("between the two for {t}, {c} reads better and I left it at that", "{t} between two"),
)
CHOICES: Final = (
    *("a single writer thread", "integer cents", "server-sent events", "advisory locks"),
    *("UTC timestamps", "a table of its own", "cursor paging", "content hashes", "two queues"),
    *("a nightly batch", "optimistic locking", "plain JSON files", "weak references"),
)
MATTERS: Final = (
    *("retry of refunds", "currency rounding", "invoice numbering", "session expiry"),
    *("thumbnail creation", "webhook delivery", "search reindexing", "rate limiting"),
    *("password reset", "report scheduling", "cache eviction", "price import", "audit trail"),
    *("mail throttling", "file upload", "tenant isolation", "feature flags", "csv export"),
    *("address validation", "coupon stacking", "login throttle", "stock sync", "tax lookup"),
    *("image cropping", "queue draining", "order merging", "dunning letters", "slug creation"),
)
DEAD_ENDS: Final = (
    Phrasing("{w} did not work for {t}", "what did not work {t}"),
    Phrasing("{w} left {t} exactly as broken as before", "{t} broken as before"),
    Phrasing("no luck with {t} after {w}; same trace", "{t} no luck"),
    Phrasing("{t} fails all the same with {w}", "{t} fails same"),
    Phrasing("对 {t} 来说 {w} 行不通", "{t} 行不通"),
    Phrasing("{w}: a day gone, {t} unchanged, reverted", "{t} reverted"),
    Phrasing("{w} only hid the trouble with {t}", "{t} trouble hidden by"),
)
ATTEMPTS: Final = (
    *("raising the pool size", "a longer timeout", "pinning the driver", "disabling the cache"),
    *("upgrading OpenSSL", "a second index", "turning off keep-alive", "warming the workers"),
    *("batching the writes", "an older compiler", "vacuuming first", "retrying on the client"),
)
TASKS: Final = (
    Phrasing("write the missing tests for {t}", "missing tests {t}"),
    Phrasing("{t}: move the constants into the settings", "{t} constants settings"),
    Phrasing("find out why {t} is slow on Mondays", "{t} slow Mondays"),
    Phrasing("document how {t} is switched off", "document {t} switched off"),
    Phrasing("给 {t} 补上监控", "{t} 监控"),
)
CHATTER: Final = (
    "Next I look at how the callers use it.",
    "The shape of this is clear now; one more file.",
    "That matches what the tests expect.",
    "Reading on, nothing unusual so far.",
    "先看一下调用方。",
    "Let me see the output of the next run.",
    "Good, this part is as it was described.",
)
WISHES: Final = (
    "Go on with the clean-up of the services, and look at the logs as you go.",
    "Carry on where you were. The customers wait, though there is no hurry.",
    "接着做，日志也看一下。",
    "Next part, please: the same for the other services.",
)
NOISE: Final = (
    "{s} served a request in {x} ms",
    "{s} cache warm, {x} entries",
    "worker {x} of {s} idle",
    "{s} on {e}: heartbeat ok",
    "GET http://10.0.{x}.7:8080/{s}/health 200",
    "trace {h} {s} done",
    "{s} reloaded its settings, nothing changed",
    "scheduler woke {s} after {x} s",
    "connection {h} of {s} closed by peer",
    "{s} {e} queue length {x}",
)
