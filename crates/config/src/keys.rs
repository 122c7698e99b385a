//! The documentation of every key: `mission config keys` prints it, and a key
//! that stands only in the code or only here fails a test.

/// When a changed value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// At SIGHUP or `mission daemon reload`.
    Live,
    Restart,
}

#[derive(Debug)]
pub struct KeySpec {
    pub key: &'static str,
    pub reload: Reload,
    pub description: &'static str,
}

const fn live(key: &'static str, description: &'static str) -> KeySpec {
    KeySpec {
        key,
        reload: Reload::Live,
        description,
    }
}

const fn restart(key: &'static str, description: &'static str) -> KeySpec {
    KeySpec {
        key,
        reload: Reload::Restart,
        description,
    }
}

pub const KEYS: &[KeySpec] = &[
    restart(
        "database.url",
        "Where everything is stored: `sqlite:/path/to/file` or `postgres://user@host/name`. \
         Empty means SQLite in the data folder.",
    ),
    restart(
        "journal.store",
        "Where the journals of new executions are kept: `files` (one each, in the data folder) or \
         `database`. Those that are there stay where they are.",
    ),
    live(
        "daemon.drain_secs",
        "How long a stopping daemon waits for requests it has begun, 0 to 8.",
    ),
    live(
        "daemon.sample_secs",
        "How often the daemon's numbers are taken for plots over time, 1 to 3600. Of each moment \
         1440 are kept, and one in fifteen for as many more.",
    ),
    live(
        "ipc.max_connections",
        "Connections at once, 1 to 10000; one more is told to come back.",
    ),
    live(
        "ipc.max_in_flight",
        "Requests at once on one connection, 1 to 1000.",
    ),
    live(
        "ipc.requests_per_second",
        "Requests per second on one connection, 1 to 10000000.",
    ),
    live(
        "ipc.request_timeout_secs",
        "How long one request may take, 1 to 3600.",
    ),
    restart(
        "http.enabled",
        "Serve the web board, the operations and metrics over HTTP on this machine.",
    ),
    restart(
        "http.listen",
        "Loopback address and port for HTTP; port 0 takes a free one and keeps to it, and \
         `mission status` shows it.",
    ),
    restart(
        "http.allow_public",
        "Allow `http.listen` to be an address that others can reach. Nothing is encrypted: put a \
         proxy with TLS before it.",
    ),
    restart(
        "http.hosts",
        "Names besides those of the loopback under which HTTP may be reached, for example \
         `[\"board.example\"]`; requests for any other are refused.",
    ),
    live(
        "http.requests_per_second",
        "Requests per second of one browser or token over HTTP, 1 to 1000000.",
    ),
    live(
        "log.level",
        "The least severe lines to write: error, warn, info, debug or trace.",
    ),
    restart(
        "log.max_file_mb",
        "Size at which a log file is set aside, 1 to 1000.",
    ),
    restart(
        "log.max_files",
        "Log files to keep, the one being written included, 1 to 100.",
    ),
    restart(
        "timeline.queue",
        "Events that may wait to be stored, 16 to 1000000; producers then wait.",
    ),
    restart(
        "timeline.batch",
        "Events stored in one commit at most, 1 to 10000.",
    ),
    restart(
        "recording.segment_mb",
        "Size at which the recording of a slot goes on in a new file, 1 to 4096; for slots started \
         afterwards.",
    ),
    restart(
        "recording.keep_mb",
        "Size of all files of one slot's recording, 2 to 1000000; the oldest file is deleted when a \
         new one is begun. For slots started afterwards.",
    ),
    restart(
        "otlp.endpoint",
        "Send metrics to this OpenTelemetry collector, for example `http://127.0.0.1:4318`. Empty \
         means off.",
    ),
    restart(
        "otlp.interval_secs",
        "Seconds between two sendings of metrics, 1 to 3600.",
    ),
    restart(
        "anomalies.silent_secs",
        "Seconds without a byte from an agent that works before it counts as stuck, 1 to 86400.",
    ),
    restart(
        "anomalies.still_secs",
        "Seconds without a new word on the screen of an agent that works (a turning sign or a clock is no word) before it counts as stuck, 1 to 86400.",
    ),
    restart(
        "anomalies.flood_bytes_per_second",
        "Output per second that counts as a flood, 1 to 1000000000.",
    ),
    restart(
        "anomalies.flood_secs",
        "Seconds such output must last to be a flood, 1 to 3600.",
    ),
    restart(
        "anomalies.garbage_percent",
        "Share of a screen's characters that are no text from which it counts as garbage, 1 to 100.",
    ),
    restart(
        "anomalies.garbage_secs",
        "Seconds a garbled screen must stay, 1 to 3600.",
    ),
    restart(
        "anomalies.crash_count",
        "Failures of the same program within the window that are a crash loop, 2 to 100.",
    ),
    restart(
        "anomalies.crash_window_secs",
        "Seconds within which failures are counted, 1 to 86400.",
    ),
    live(
        "notifications.desktop",
        "Show a notification on the desktop (notify-send, or osascript on macOS) when a question \
         waits.",
    ),
    live(
        "notifications.webhook_url",
        "POST a question that waits to this address: https, or http to this machine. Empty means \
         none.",
    ),
    live(
        "notifications.webhook_secret_file",
        "A file of mode 0600 with the secret that signs what is posted. Empty means unsigned.",
    ),
    live(
        "notifications.dwell_secs",
        "Seconds a question must have waited before anybody is notified, 0 to 86400.",
    ),
    live(
        "notifications.cooldown_secs",
        "Seconds after a notification in which nobody is notified about the same slot, 0 to 86400.",
    ),
    live(
        "permissions.rules",
        "Rules on what agents may do, each a table: `effect` (allow, ask or deny), `tool`, \
         `argument`, `path`, `server`, `engine`, `slot`. What is left out is everything.",
    ),
    live(
        "autopilot.engine",
        "The agent CLI of tasks that name none: claude, codex, gemini, opencode or the name of a \
         manifest.",
    ),
    live(
        "autopilot.max_agents",
        "Agents that may work on tasks at once, 1 to 1000.",
    ),
    live(
        "autopilot.engine_limits",
        "Agents of one engine that may work on tasks at once, for example `[\"claude=2\"]`.",
    ),
    live(
        "autopilot.check_rounds",
        "Rounds of checks an attempt may fail before a person is asked, 1 to 100.",
    ),
    live(
        "autopilot.unchanged_rounds",
        "Rounds of failed checks in a row without a change by the agent before a person is asked, 1 \
         to 100.",
    ),
    live(
        "autopilot.settle_ms",
        "Milliseconds an agent that has worked must rest until its turn counts as over, 50 to \
         600000; ten times as long when nobody saw it work.",
    ),
    live(
        "autopilot.stall_secs",
        "Seconds without a sign of an agent that works before its attempt is given up, 1 to 86400.",
    ),
    live(
        "autopilot.lease_secs",
        "Seconds a claim lasts without a sign of the daemon that holds it, 1 to 86400.",
    ),
    live(
        "autopilot.limit_resumes",
        "How often a task goes on by itself after a vendor's usage limit, 0 to 100; then a person \
         is asked.",
    ),
    live(
        "autopilot.tokens_per_day",
        "Tokens all agents of tasks may use in a day (UTC), without what came from a cache; 0 means \
         no budget.",
    ),
    live(
        "autopilot.engine_tokens_per_day",
        "The same for the agents of one engine.",
    ),
    live(
        "autopilot.quiet_hours",
        "Parts of the day in which no task is begun, by this machine's clock, for example \
         `[\"22:00-06:30\"]`.",
    ),
    live(
        "slot_idle_secs",
        "Slots that are not of the configuration and work for no task are ended when their program \
         has rested for so many seconds and nobody watches; 0 means never.",
    ),
    live(
        "mcp.toolsets",
        "Which operations MCP clients are shown as tools: `default`, `all`, or names of toolsets. \
         Empty means `default`.",
    ),
    live(
        "mcp.hub",
        "Which tools of other people's MCP servers MCP clients are shown too, for example \
         `[\"time\", \"files__read_*\"]`. Empty means none.",
    ),
    live(
        "mcp.agents",
        "Which tools of other people's MCP servers the agents in slots may use. Empty means none.",
    ),
    live(
        "mcp.clients",
        "What one client is shown instead: `[[mcp.clients]]` with `name`, as `mission init` gives \
         it, and `toolsets` or `hub`.",
    ),
    live(
        "slots",
        "Slots that are always there: `[[slots]]` with `name`, `engine` and, if wanted, \
         `tokens_per_day` and `tools`, which of other people's MCP tools its agents may use. A \
         task of the engine runs in a free one under its name.",
    ),
    restart(
        "knowledge.embedding",
        "What embeds entries: `embedded` (a model in the daemon), `ollama`, `openai` (any endpoint \
         with that interface) or `off`.",
    ),
    restart(
        "knowledge.model",
        "The name of the model. Empty means gte-small, with Ollama qwen3-embedding.",
    ),
    restart(
        "knowledge.url",
        "Where the endpoint is, for example `http://127.0.0.1:8080/v1`. Empty means Ollama on this \
         machine.",
    ),
    restart(
        "knowledge.api_key_env",
        "The environment variable of the daemon that holds the key of the endpoint. Empty means no \
         key.",
    ),
    restart(
        "knowledge.api_key_file",
        "A file that holds the key of the endpoint and that nobody else can read, instead of a \
         variable. Empty means none.",
    ),
    restart(
        "knowledge.timeout_secs",
        "How long one request to the endpoint may take, 1 to 600.",
    ),
    restart(
        "knowledge.accept_from",
        "Sources whose proposals become entries without a person, unless they contradict what is \
         known; a `*` at the end stands for anything, for example `[\"session *\"]`.",
    ),
    restart(
        "knowledge.code",
        "Whether the model reads code too, in the background, so that `mission code search` \
         compares meaning.",
    ),
    restart(
        "knowledge.search.page",
        "Hits on a page when nobody says otherwise, 1 to 50.",
    ),
    restart(
        "knowledge.search.fusion",
        "How words and meaning become one order: by `scores`, or by `ranks`.",
    ),
    restart(
        "knowledge.search.rank_keyword",
        "By ranks: what the place among words counts, 0 to 1.",
    ),
    restart(
        "knowledge.search.rank_vector",
        "By ranks: what the place by meaning counts, 0 to 1.",
    ),
    restart(
        "knowledge.search.rank_k",
        "By ranks: how little the first places stand out, 1 to 1000.",
    ),
    restart(
        "knowledge.search.keyword",
        "By scores: what words count beside meaning, 0 to 1.",
    ),
    restart(
        "knowledge.search.keyword_of_turns",
        "The same for turns of a conversation.",
    ),
    restart(
        "knowledge.search.k1",
        "How soon more occurrences of a word stop to matter, 0.1 to 10.",
    ),
    restart(
        "knowledge.search.b",
        "How much a long entry is held against it, 0 to 1.",
    ),
    restart(
        "knowledge.search.filler",
        "What a word such as `the` counts, 0 to 1.",
    ),
    restart(
        "knowledge.search.character",
        "What one character of Chinese, Japanese or Korean counts beside a pair of them, 0 to 1.",
    ),
    restart(
        "knowledge.search.keyword_candidates",
        "The most candidates that words bring up, 10 to 10000.",
    ),
    restart(
        "knowledge.search.vector_candidates",
        "The fewest candidates that meaning brings up, 10 to 10000.",
    ),
    restart(
        "knowledge.search.vector_per_hit",
        "Candidates that meaning brings up for each hit that is wanted, 1 to 100.",
    ),
    restart(
        "knowledge.search.similarity_floor",
        "Similarities below this bring up nothing, 0 to 1; what it means depends on the model.",
    ),
    restart(
        "knowledge.search.decay",
        "Whether entries count less as their category ages.",
    ),
    restart(
        "knowledge.search.half_life_days",
        "After how many days entries of a category count half where that is not as usual, for \
         example `[\"debug=7\", \"note=365\"]`; 0 never ages.",
    ),
    restart(
        "knowledge.search.drop_off",
        "Hits below this share of the best are dropped, 0 to 1.",
    ),
    restart(
        "knowledge.search.exact_first",
        "Whether entries that have an identifier or a quoted phrase of the query to the letter come \
         first and are never dropped.",
    ),
    restart(
        "knowledge.search.relevance",
        "With `--explore`: what relevance counts; unlikeness counts the rest, 0 to 1.",
    ),
    restart(
        "knowledge.search.before",
        "What the words of the turns one and two before lend a turn, each 0 to 1.",
    ),
    restart("knowledge.search.after", "The same for the turns after."),
    restart(
        "knowledge.search.vector_before",
        "What the vectors of the turns one and two before lend a turn, each 0 to 1.",
    ),
    restart(
        "knowledge.search.vector_after",
        "The same for the turns after.",
    ),
    restart(
        "knowledge.search.conversation",
        "What the best turns of a conversation lend its others, 0 to 1.",
    ),
    restart(
        "knowledge.search.said",
        "What the words of the day on which a turn was said count, 0 to 1.",
    ),
    restart(
        "knowledge.search.feedback",
        "How far the query moves towards its best documents before the second comparison, 0 to 1.",
    ),
    restart(
        "knowledge.search.feedback_hits",
        "How many documents that are, 1 to 50.",
    ),
    restart(
        "knowledge.search.snippet_tokens",
        "Words of a snippet, 5 to 200.",
    ),
    restart(
        "knowledge.search.detail_shown",
        "How many characters of the detail a hit of a category shows where that is not as usual, \
         for example `[\"policy=4000\"]`, the most there can be; 0 shows none.",
    ),
    live(
        "context.enabled",
        "Whether agents are told what is known beside their first prompt.",
    ),
    live(
        "context.tokens",
        "Tokens of what an agent is told beside its first prompt at most, 100 to 16000; estimated \
         on the safe side.",
    ),
    live(
        "context.deadline_ms",
        "Milliseconds the start of an agent waits for what there is to tell, 10 to 20000; a source \
         that takes longer is left out.",
    ),
    live(
        "context.keep_days",
        "Days for which it is kept what agents were told, 1 to 3650.",
    ),
    live(
        "context.environment",
        "Tell agents where they run, for which task, and who else works there.",
    ),
    live(
        "context.skills",
        "Tell agents of skills (SKILL.md) that fit what they are asked.",
    ),
    live(
        "context.entries",
        "Tell agents the entries of the knowledge base that fit what they are asked.",
    ),
    live(
        "context.history",
        "Tell agents what was said about it in earlier conversations in their project.",
    ),
    live(
        "context.map",
        "Tell agents what their repository defines; the first time, it is read for that.",
    ),
    live(
        "context.instructions",
        "Tell agents what stands in AGENTS.md, CLAUDE.md and their like, unless their CLI reads it \
         by itself.",
    ),
    live(
        "conversations.projects",
        "Folders in which your own conversations with agent CLIs are taken in from the CLIs' \
         transcripts, for example `[\"~/src/app\"]`. Empty means none; those of executions are \
         taken in always.",
    ),
    live(
        "conversations.keep_days",
        "Days after its last word that a conversation is forgotten, 1 to 36500; 0 means never.",
    ),
    live(
        "conversations.index_mb",
        "Memory that the words of conversations may take to be searched, 1 to 65536; what was said \
         first is left out then, and a search says from when on it has looked.",
    ),
    live(
        "usage.prices",
        "What tokens cost: `[[usage.prices]]` with `model` (its name in transcripts, or how it begins \
         with a `*` behind), `input`, `output` and, if they differ from `input`, `cache_read` and \
         `cache_write`, in US dollars for a million tokens. A model that is not here has no price.",
    ),
];
