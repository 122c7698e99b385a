//! Every key a manifest may have, by the mapping it stands in. `docs/reference/manifests.md`
//! says what each is for and is held against these lists.

pub(super) const TOP: &[&str] = &[
    "manifest",
    "engine",
    "description",
    "versions",
    "patterns",
    "regions",
    "fingerprints",
    "dialog",
    "permission",
    "tools",
    "input",
    "hold",
    "unknown_after_ms",
    "rules",
];

pub(super) const REGION: &[&str] = &[
    "within",
    "above",
    "below",
    "without",
    "from_last",
    "from_first",
    "after_last",
    "until",
    "through",
    "first",
    "last",
];

pub(super) const RULE: &[&str] = &[
    "id",
    "state",
    "priority",
    "confidence",
    "reason",
    "waiting_for",
    "when",
];

pub(super) const FINGERPRINT: &[&str] = &["in", "hash"];
pub(super) const DIALOG: &[&str] = &["in", "cursor", "tool", "buttons", "letters"];
pub(super) const TOOL_LINE: &[&str] = &["in", "running", "finished", "name"];
pub(super) const HOLD: &[&str] = &["from", "to", "ms", "when"];
pub(super) const CONDITION: &[&str] = &[
    "all",
    "any",
    "not",
    "in",
    "has",
    "first",
    "last",
    "says",
    "exists",
    "style",
    "title",
    "status",
    "progress",
    "alternate",
    "cursor_visible",
    "cursor_in",
    "paste",
    "changed",
    "was",
    "dialog",
    "tool",
    "fingerprint",
    "sent",
    "unanswered",
];
pub(super) const CHANGED: &[&str] = &["in", "within_ms"];
pub(super) const SENT: &[&str] = &["key", "within_ms"];
pub(super) const UNANSWERED: &[&str] = &["after_ms", "within_ms"];
pub(super) const PERMISSION: &[&str] = &["allow", "deny", "requests"];
pub(super) const REQUEST: &[&str] = &["in", "title", "only", "second", "question", "tool", "body"];
pub(super) const BODY: &[&str] = &["is", "from", "after", "until", "first", "mixed"];
pub(super) const INPUT: &[&str] = &[
    "prompt",
    "by_line",
    "pasted",
    "newline",
    "enter_pause_ms",
    "answer",
    "escaped",
    "interrupt",
];
pub(super) const PROMPT: &[&str] = &["in", "mark", "repeated", "placeholder"];
