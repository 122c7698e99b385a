//! How much of what an agent is told has to do with its task: a repository with many
//! conversations whose subjects are known, and tasks of which it is known which
//! subjects have to do with them.
//!
//! The conversations are written as transcripts of an agent CLI and taken in by a
//! daemon, so that everything between a transcript and the text an agent is given is
//! the product's. A third of them begin as the autopilot begins them: with what it
//! says for itself, and with a background that quotes another subject. What is told is
//! asked for with and without the bar that relevance must pass.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use missiond_api::Client;
use missiond_api::operations::context::{ContextPreview, ContextPreviewParams, ContextView};
use missiond_api::operations::conversation::{ConversationList, ConversationListParams};
use missiond_console::failure::{Failure, parameter};
use missiond_console::output::{Output, Progress};
use missiond_context::{Candidate, Length, Request, Source, assemble, with_own_words};
use missiond_core::{AbsolutePath, CliEngine, ContextOutcome, ErrorCode, Limit, Text, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::Report;
use crate::temporary::{Mission, TemporaryDaemon};

const CORPUS: &str = include_str!("../../../data/context.json");

/// As the autopilot says it to every agent.
const OWN_WORDS: &str = "An earlier attempt left its work in this folder: look at it first, then \
    go on.\n\nDo it now. When it is done, report completed_claim and stop; it is then checked. If \
    you need an answer, ask with needs_input; if you cannot do it, report failed_claim with the \
    reason.";
/// Of these words nothing may be told.
const OWN_MARK: &str = "completed_claim";

/// Turns of earlier conversations that a briefing looks at.
const LOOKED_AT: usize = 8;
/// How long the daemon may take to take all of it in.
const INGESTED_WITHIN: Duration = Duration::from_secs(300);

#[derive(Debug, Deserialize)]
struct Corpus {
    topics: std::collections::BTreeMap<String, Topic>,
    tasks: Vec<Task>,
    /// What is said in conversations about anything, with what is answered.
    chatter: Vec<[String; 2]>,
}

#[derive(Debug, Deserialize)]
struct Topic {
    asks: Vec<String>,
    answers: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Task {
    title: String,
    description: String,
    /// The topics that have to do with it.
    related: Vec<String>,
}

/// What each turn of a conversation is about, by the first eight letters of its name.
type Labels = HashMap<String, Vec<Option<String>>>;

pub(super) fn run(
    conversations: usize,
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let _progress = Progress::start(output, "leading conversations");
    let corpus: Corpus = serde_json::from_str(CORPUS)
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("the corpus: {error}")))?;
    let daemon = TemporaryDaemon::new(mission)?;
    let person = daemon.path().join("person");
    let repository = daemon.path().join("shop");
    std::fs::create_dir_all(&repository)?;
    let repository = repository.canonicalize()?;
    let made = Command::new("git")
        .args(["init", "--quiet"])
        .arg(&repository)
        .status()?;
    if !made.success() {
        return Err(Failure::new(ErrorCode::Internal, "`git init` failed"));
    }
    let labels = write_transcripts(&corpus, conversations, &person, &repository)?;
    configure(&daemon, &repository, None)?;
    // Nothing of whoever measures is read.
    let claude = person.join(".claude");
    let places: [(&str, &OsStr); 5] = [
        ("HOME", person.as_os_str()),
        ("CLAUDE_CONFIG_DIR", claude.as_os_str()),
        ("CODEX_HOME", person.as_os_str()),
        ("GEMINI_CLI_HOME", person.as_os_str()),
        ("XDG_DATA_HOME", person.as_os_str()),
    ];
    daemon.run_with(&["daemon", "start"], &places)?;
    let mut client = Client::connect(&daemon.home())?;
    wait_until_ingested(&mut client, conversations)?;

    let mut report = Report::new("context");
    let told = preview_all(&mut client, &corpus, &repository)?;
    add_metrics(&mut report, "", &corpus, &labels, &told);
    configure(&daemon, &repository, Some(0))?;
    daemon.run_with(&["daemon", "reload"], &places)?;
    let told = preview_all(&mut client, &corpus, &repository)?;
    add_metrics(&mut report, "_without_bar", &corpus, &labels, &told);

    report.condition("conversations", conversations);
    let turns = labels.values().flatten();
    report.condition("turns", turns.clone().count());
    report.condition("turns_about_a_topic", turns.flatten().count());
    report.condition("topics", corpus.topics.len());
    report.condition("tasks", corpus.tasks.len());
    let alone = corpus.tasks.iter().filter(|task| task.related.is_empty());
    report.condition("tasks_without_related_turns", alone.count());
    report.condition("told", "turns of conversations; every other source is off");
    report.condition("without_bar", "the same with context.relevance = 0");
    report.condition("meaning", "none: conversations are found by words");
    Ok(report)
}

fn configure(
    daemon: &TemporaryDaemon,
    repository: &Path,
    relevance: Option<u32>,
) -> Result<(), Failure> {
    let file = daemon.home().config_file();
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bar = relevance.map_or_else(String::new, |bar| format!("relevance = {bar}\n"));
    let config = format!(
        "[conversations]\nprojects = [{}]\n[context]\ndeadline_ms = 20000\nenvironment = false\n\
         skills = false\nentries = false\nmap = false\ninstructions = false\n{bar}",
        json!(repository)
    );
    Ok(std::fs::write(file, config)?)
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        // The multiplier and the increment of Knuth's MMIX.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }

    fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A sentence with its blanks filled in.
    fn filled(&mut self, sentence: &str) -> String {
        const FOLDERS: [&str; 6] = ["app", "lib", "services", "web", "jobs", "core"];
        const FILES: [&str; 8] = [
            "handler", "views", "store", "client", "helpers", "model", "runner", "index",
        ];
        let file = format!(
            "{}/{}_{}.py",
            self.one_of(&FOLDERS),
            self.one_of(&FILES),
            self.below(40)
        );
        let number = (self.below(90) + 2).to_string();
        sentence.replace("{f}", &file).replace("{n}", &number)
    }
}

/// Writes so many transcripts of Claude Code; what their turns are about.
fn write_transcripts(
    corpus: &Corpus,
    count: usize,
    person: &Path,
    repository: &Path,
) -> Result<Labels, Failure> {
    let folder = person.join(".claude/projects/-shop");
    std::fs::create_dir_all(&folder)?;
    let names: Vec<&String> = corpus.topics.keys().collect();
    let mut dice = Dice(17);
    let mut labels = Labels::new();
    for number in 0..count {
        let session = format!("{:08x}-0000-4000-8000-{number:012x}", 0x1000_0000 + number);
        let mut turns: Vec<(String, String, Option<String>)> = Vec::new();
        // A third is about nothing in particular; of the topics some come up all the
        // time and some once.
        if dice.below(3) > 0 {
            let upto = dice.below(names.len()) + 1;
            let name = names[dice.below(upto)];
            let topic = &corpus.topics[name];
            for _ in 0..=dice.below(2) {
                let ask = dice.one_of(&topic.asks).clone();
                let answer = dice.one_of(&topic.answers).clone();
                let aside = dice.one_of(&corpus.chatter)[1].clone();
                let answer = dice.filled(&format!("{answer} {aside}"));
                turns.push((dice.filled(&ask), answer, Some(name.clone())));
            }
        }
        for _ in 0..dice.below(3) + usize::from(turns.is_empty()) {
            let [ask, answer] = dice.one_of(&corpus.chatter).clone();
            turns.push((dice.filled(&ask), dice.filled(&answer), None));
        }
        if dice.below(3) == 0 {
            let other = &corpus.topics[*dice.one_of(&names)];
            let quoted = format!(
                "Asked: {}\nAnswered: {}",
                dice.filled(&other.asks[0]),
                dice.filled(&other.answers[0])
            );
            turns[0].0 = as_the_autopilot_says_it(number, &turns[0].0, quoted);
        }
        let mut lines = String::new();
        for (place, (ask, answer, _)) in turns.iter().enumerate() {
            let answer = json!([{"type": "text", "text": answer}]);
            for (role, said) in [("user", json!(ask)), ("assistant", answer)] {
                let at = Timestamp::from_micros(
                    1_767_500_000_000_000 + (number * 60 + place) as i64 * 1_000_000,
                );
                let line = json!({
                    "type": role, "uuid": format!("{session}-{place}-{role}"), "cwd": repository,
                    "sessionId": session, "timestamp": at,
                    "message": {"role": role, "content": said},
                });
                lines.push_str(&format!("{line}\n"));
            }
        }
        std::fs::write(folder.join(format!("{session}.jsonl")), lines)?;
        let about = turns.into_iter().map(|(.., about)| about).collect();
        labels.insert(session[..8].to_owned(), about);
    }
    Ok(labels)
}

/// A first prompt with all that missiond adds to it.
fn as_the_autopilot_says_it(number: usize, ask: &str, quoted: String) -> String {
    let background = assemble(
        vec![Candidate {
            source: Source::History,
            id: None,
            title: "something else".to_owned(),
            origin: "claude conversation 0badcafe, turn 1".to_owned(),
            at: None,
            relevance: 1.0,
            text: quoted,
            length: Length::Whole,
            known: None,
        }],
        Request {
            budget: 4000,
            now: Timestamp::from_micros(0),
            least_relevance: 0.0,
        },
    );
    let request = with_own_words(&format!("T-{}: {ask}", number + 1), OWN_WORDS);
    format!("{request}\n{}", background.text)
}

fn wait_until_ingested(client: &mut Client, expected: usize) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let mut found = 0;
        let mut params = ConversationListParams {
            limit: Limit::of::<200>(),
            ..ConversationListParams::default()
        };
        loop {
            let page = client.call::<ConversationList>(&params)?;
            found += page.conversations.len();
            match page.next {
                Some(next) => params.after = Some(parameter("after", Text::new(next))?),
                None => break,
            }
        }
        if found >= expected {
            return Ok(());
        }
        if began.elapsed() > INGESTED_WITHIN {
            let message = format!("{found} of {expected} conversations were taken in");
            return Err(Failure::new(ErrorCode::Internal, message));
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

fn preview_all(
    client: &mut Client,
    corpus: &Corpus,
    repository: &Path,
) -> Result<Vec<ContextView>, Failure> {
    let mut views = Vec::new();
    for task in &corpus.tasks {
        let prompt = format!("{}\n{}", task.title, task.description);
        let cwd = parameter("path", AbsolutePath::new(repository.display().to_string()))?;
        let params = ContextPreviewParams {
            prompt: Some(parameter("the prompt", Text::new(prompt))?),
            cwd: Some(cwd),
            engine: Some(CliEngine::Claude),
            ..ContextPreviewParams::default()
        };
        views.push(client.call::<ContextPreview>(&params)?);
    }
    Ok(views)
}

/// What the turn that an item comes from is about.
fn topic_of<'l>(labels: &'l Labels, origin: &str) -> Option<&'l String> {
    let (_, rest) = origin.split_once("conversation ")?;
    let (session, turn) = rest.split_once(", turn ")?;
    let turn: usize = turn.parse().ok()?;
    labels.get(session)?.get(turn.checked_sub(1)?)?.as_ref()
}

fn add_metrics(
    report: &mut Report,
    name: &str,
    corpus: &Corpus,
    labels: &Labels,
    told: &[ContextView],
) {
    let (mut all, mut related, mut context, mut own) = (0_u32, 0_u32, 0_u32, 0_usize);
    let (mut recall, mut with_related) = (0.0, 0_u32);
    let (mut silent, mut without_related) = (0_u32, 0_u32);
    for (task, view) in corpus.tasks.iter().zip(told) {
        let is_related = |origin: &str| {
            topic_of(labels, origin).is_some_and(|topic| task.related.contains(topic))
        };
        let given = view.items.iter().filter_map(|item| match item.outcome {
            ContextOutcome::Given { tokens } | ContextOutcome::Shortened { tokens, .. } => {
                Some((tokens, is_related(&item.origin)))
            }
            ContextOutcome::Cut { .. } => None,
        });
        let given: Vec<(u32, bool)> = given.collect();
        all += given.iter().map(|(tokens, _)| tokens).sum::<u32>();
        let hits = given.iter().filter(|(_, related)| *related);
        related += hits.clone().map(|(tokens, _)| tokens).sum::<u32>();
        context += view.used;
        own += view.text.matches(OWN_MARK).count();
        let there = labels.values().flatten().flatten();
        let there = there.filter(|topic| task.related.contains(topic)).count();
        if there > 0 {
            with_related += 1;
            recall += hits.count() as f64 / there.min(LOOKED_AT) as f64;
        } else {
            without_related += 1;
            silent += u32::from(given.is_empty());
        }
    }
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let tasks = told.len() as f64;
    let mut metric = |metric: &str, value: f64| report.metric(format!("{metric}{name}"), value);
    metric("related_share", share(related.into(), all.into()));
    metric("tokens", share(all.into(), tasks));
    metric("context_tokens", share(context.into(), tasks));
    metric("recall_at_8", share(recall, with_related.into()));
    metric("silent_share", share(silent.into(), without_related.into()));
    metric("own_words_told", own as f64);
}
