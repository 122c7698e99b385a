//! `mission conversation …`

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use missiond_api::Client;
use missiond_api::operations::board::{BoardShow, BoardTaskParams};
use missiond_api::operations::conversation::{
    Conversation, ConversationHit, ConversationItem, ConversationList, ConversationListParams,
    ConversationListResult, ConversationSearch, ConversationSearchParams, ConversationSearchResult,
    ConversationShow, ConversationShowParams, ConversationShowResult, ConversationTurns,
    ConversationTurnsParams, ConversationTurnsResult, SaidBy, ToolOutcome,
};
use missiond_api::operations::execution::{ExecutionList, ExecutionListParams};
use missiond_core::{AbsolutePath, BoardTaskId, ExecutionId, Limit, TaskNumber, TaskRef, Text};

use crate::args::{ConversationCommand, WithinArgs};
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::folder;
use crate::output::Output;
use crate::term::{Style, counted, moment, printable};

pub(super) fn run(
    command: ConversationCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        ConversationCommand::List {
            within,
            execution,
            limit,
            after,
        } => {
            let params = ConversationListParams {
                project: project(&within)?,
                engine: within.engine,
                task: within.task,
                execution,
                since: within.since,
                until: within.until,
                limit,
                after,
            };
            let listed = client.call::<ConversationList>(&params)?;
            let names = Names::of(&mut client, &listed.conversations);
            output.result(&listed, |output, listed| list(output, listed, &names));
        }
        ConversationCommand::Show {
            conversation,
            turn,
            after,
            newest,
            limit,
            all,
        } => {
            let params = ConversationShowParams {
                conversation,
                after,
                turn,
                limit,
                newest,
            };
            let shown = client.call::<ConversationShow>(&params)?;
            let names = Names::of(&mut client, std::slice::from_ref(&shown.conversation));
            output.result(&shown, |output, shown| show(output, shown, all, &names));
        }
        ConversationCommand::Search {
            query,
            within,
            limit,
            offset,
        } => {
            let params = ConversationSearchParams {
                query: parameter("the query", Text::new(query.join(" ")))?,
                project: project(&within)?,
                engine: within.engine,
                task: within.task,
                since: within.since,
                until: within.until,
                limit,
                offset,
            };
            let found = client.call::<ConversationSearch>(&params)?;
            output.result(&found, search);
        }
        ConversationCommand::Turns {
            query,
            project,
            limit,
        } => {
            let params = ConversationTurnsParams {
                project: folder::past(&project)?,
                query: Some(parameter("the query", Text::new(query.join(" ")))?)
                    .filter(|query| !query.is_empty()),
                limit,
            };
            let found = client.call::<ConversationTurns>(&params)?;
            output.result(&found, turns);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(output: &mut Output, listed: &ConversationListResult, names: &Names) {
    if listed.conversations.is_empty() {
        output.line(
            "No conversations. Those of executions are taken in by themselves; your own, when \
             `conversations.projects` names their folder.",
        );
        return;
    }
    let rows: Vec<_> = listed
        .conversations
        .iter()
        .map(|one| {
            vec![
                short(&one.session),
                one.engine.to_string(),
                moment(one.last_at),
                one.turns.to_string(),
                names.whose(one),
                printable(&one.title),
            ]
        })
        .collect();
    let header = ["SESSION", "ENGINE", "LAST", "TURNS", "WHOSE", "TITLE"];
    output.table(&header, &rows);
    if let Some(next) = &listed.next {
        output.notice(&format!("There are more: --after {next}"));
    }
}

fn show(output: &mut Output, shown: &ConversationShowResult, all: bool, names: &Names) {
    let one = &shown.conversation;
    let head = format!("{} {} in {}", one.engine, one.session, one.cwd);
    let head = output.paint.apply(Style::Bold, &printable(&head));
    output.line(head);
    output.line(format!(
        "{}, {}, {}, {} tokens in and {} out, {}, {}",
        counted(one.turns, "turn", "turns"),
        counted(one.messages, "message", "messages"),
        counted(one.tool_calls, "tool call", "tool calls"),
        one.tokens.input + one.tokens.cache_read + one.tokens.cache_write,
        one.tokens.output,
        super::usage::cost(&one.cost),
        names.whose(one)
    ));
    if let Some(diagnostic) = &one.diagnostic {
        output.notice(&format!(
            "{} of its transcript skipped; the last: {}",
            counted(one.skipped, "line", "lines"),
            printable(diagnostic)
        ));
    }
    let mut turn = 0;
    for item in &shown.items {
        if item.turn() != turn {
            turn = item.turn();
            let line = output.paint.apply(Style::Dim, &format!("── turn {turn}"));
            output.line(line);
        }
        describe(output, item, all);
    }
    if let Some(next) = shown.next {
        output.notice(&format!("It goes on: --after {next}"));
    }
}

fn describe(output: &mut Output, item: &ConversationItem, all: bool) {
    match item {
        ConversationItem::Message { noise: Some(_), .. } if !all => {}
        ConversationItem::Message {
            role, text, noise, ..
        } => {
            let who = match role {
                SaidBy::Person => "person",
                SaidBy::Agent => "agent",
            };
            let who = match noise {
                Some(noise) => format!("{who} ({noise})"),
                None => who.to_owned(),
            };
            let who = output.paint.apply(Style::Cyan, &who);
            output.line(who);
            indented(output, text);
        }
        ConversationItem::ToolCall {
            tool,
            input,
            outcome,
            output: told,
            ..
        } => {
            let how = match outcome {
                None => " (under way)",
                Some(ToolOutcome::Succeeded) => "",
                Some(ToolOutcome::Failed) => " (failed)",
                Some(ToolOutcome::Denied) => " (denied)",
            };
            let first: String = input.lines().next().unwrap_or_default().to_owned();
            let call = format!("{tool}{how} {first}");
            output.line(format!("  ▸ {}", printable(&call)));
            if all {
                indented(output, told);
            }
        }
        ConversationItem::Event { event, .. } => match event.as_str() {
            "turn_ended" => {}
            event => output.line(format!("  ({})", printable(event))),
        },
    }
}

fn search(output: &mut Output, found: &ConversationSearchResult) {
    for hit in &found.hits {
        describe_hit(output, hit);
    }
    if found.hits.is_empty() {
        output.line(format!(
            "Nothing found in {} messages and tool calls.",
            found.searched
        ));
    }
    if let Some(since) = found.searched_since {
        output.notice(&format!(
            "What was said before {since} was not searched; `conversations.index_mb` says how \
             much is."
        ));
    }
    if found.more {
        output.notice("There are more: --offset goes on.");
    }
}

fn turns(output: &mut Output, found: &ConversationTurnsResult) {
    for turn in &found.turns {
        let at = moment(turn.at);
        let head = format!("{} · {at}", printable(&turn.source));
        let head = output.paint.apply(Style::Bold, &head);
        output.line(head);
        for (who, text) in [("person", &turn.prompt), ("agent", &turn.answer)] {
            if let Some(first) = text.lines().next() {
                output.line(format!("    {who}: {}", printable(first)));
            }
        }
    }
    if found.turns.is_empty() {
        output.line("No turns in this project.");
    }
}

fn describe_hit(output: &mut Output, hit: &ConversationHit) {
    let who = match (&hit.tool, hit.role) {
        (Some(tool), _) => format!("agent to {}", printable(tool)),
        (None, SaidBy::Person) => "person".to_owned(),
        (None, SaidBy::Agent) => "agent".to_owned(),
    };
    let head = format!(
        "{} {} turn {} · {who} · {} · {}",
        hit.engine,
        short(&hit.session),
        hit.turn,
        moment(hit.at),
        printable(&hit.title)
    );
    let head = output.paint.apply(Style::Bold, &head);
    output.line(head);
    for line in hit.snippet.lines() {
        output.line(format!("    {}", printable(line)));
    }
}

fn indented(output: &mut Output, text: &str) {
    for line in text.lines() {
        output.line(format!("    {}", printable(&line.replace('\t', "    "))));
    }
}

/// What people call the tasks and runs that conversations belong to.
struct Names {
    tasks: BTreeMap<BoardTaskId, TaskNumber>,
    /// By the slots they run in, which are called something while they are open.
    runs: BTreeMap<ExecutionId, String>,
}

impl Names {
    /// Without a name the id is shown, so nothing is said of what cannot be read.
    fn of(client: &mut Client, conversations: &[Conversation]) -> Self {
        let ids: BTreeSet<_> = conversations.iter().filter_map(|one| one.task).collect();
        let numbered = ids.into_iter().filter_map(|id| {
            let task = TaskRef::Id(id);
            let shown = client.call::<BoardShow>(&BoardTaskParams { task }).ok()?;
            Some((id, shown.task.number))
        });
        let tasks = numbered.collect();
        let mut runs = BTreeMap::new();
        if conversations
            .iter()
            .any(|one| one.execution.is_some() && one.task.is_none())
        {
            let params = ExecutionListParams {
                all: true,
                limit: Limit::of::<1000>(),
            };
            let listed = client.call::<ExecutionList>(&params);
            for run in listed.into_iter().flat_map(|page| page.executions) {
                runs.extend(run.slot_name.map(|name| (run.execution, name)));
            }
        }
        Self { tasks, runs }
    }

    fn whose(&self, one: &Conversation) -> String {
        match (one.task, one.execution) {
            (Some(task), _) => match self.tasks.get(&task) {
                Some(number) => number.to_string(),
                None => format!("task {task}"),
            },
            (None, Some(execution)) => match self.runs.get(&execution) {
                Some(slot) => format!("slot {}", printable(slot)),
                None => format!("execution {execution}"),
            },
            (None, None) => "own".to_owned(),
        }
    }
}

/// Enough of the CLI's own name to find it again. Names that begin with the time
/// differ at their end.
fn short(session: &str) -> String {
    printable(&session.chars().take(13).collect::<String>())
}

fn project(within: &WithinArgs) -> Result<Option<AbsolutePath>, Failure> {
    within.project.as_deref().map(folder::past).transpose()
}
