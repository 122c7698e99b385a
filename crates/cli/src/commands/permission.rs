//! `mission permission …`

mod batch;

use std::process::ExitCode;

use missiond_api::operations::attention::permission::{
    PermissionAdd, PermissionList, PermissionRemove, PermissionTest,
};
use missiond_api::operations::attention::{
    PermissionAddParams, PermissionDecision, PermissionEffect, PermissionListParams,
    PermissionPage, PermissionRemoveParams, PermissionRule, PermissionSubject,
    PermissionTestParams,
};
use missiond_core::one_line;

use super::seconds::seconds;
use crate::args::{PermissionAddArgs, PermissionCommand, PermissionTestArgs};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, moment, printable};

pub(super) fn run(
    command: PermissionCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if let PermissionCommand::Test(PermissionTestArgs {
        batch: Some(file), ..
    }) = &command
    {
        return batch::run(file, output);
    }
    let mut client = reach.client(output)?;
    match command {
        PermissionCommand::List { decisions } => {
            let page = client.call::<PermissionList>(&PermissionListParams { decisions })?;
            output.result(&page, list);
        }
        PermissionCommand::Add(args) => {
            let added = client.call::<PermissionAdd>(&add_params(*args)?)?;
            output.result(&added, |output, added| {
                output.line(format!("{} is in force.", added.name));
            });
        }
        PermissionCommand::Remove { rule } => {
            let params = PermissionRemoveParams { rule };
            let removed = client.call::<PermissionRemove>(&params)?;
            output.result(&removed, |output, removed| {
                output.line(format!("{} is removed.", printable(&removed.name)));
            });
        }
        PermissionCommand::Test(args) => {
            let verdict = client.call::<PermissionTest>(&test_params(args))?;
            output.result(&verdict, |output, verdict| {
                let (word, style) = word(verdict.effect);
                let word = output.paint.apply(style, word);
                output.line(format!("{word}: {}", printable(&verdict.reason)));
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn add_params(args: PermissionAddArgs) -> Result<PermissionAddParams, Failure> {
    let seconds = args.for_time.map(|time| seconds("--for", time));
    Ok(PermissionAddParams {
        effect: args.effect.into(),
        subject: PermissionSubject {
            tool: args.tool,
            argument: args.argument,
            path: args.path,
            server: args.server,
            engine: args.engine,
            slot: args.slot,
            execution: args.execution,
            task: args.task,
            by_sight: args.by_sight,
        },
        seconds: seconds.transpose()?,
        uses: args.uses,
        by: None,
    })
}

fn test_params(args: PermissionTestArgs) -> PermissionTestParams {
    let folder = std::env::current_dir().ok();
    PermissionTestParams {
        tool: args.tool.unwrap_or_default(),
        argument: args.argument,
        path: args.path,
        server: args.server,
        engine: args.engine,
        slot: args.slot,
        folder: folder.map(|folder| folder.display().to_string()),
    }
}

const fn word(effect: PermissionEffect) -> (&'static str, Style) {
    match effect {
        PermissionEffect::Allow => ("allow", Style::Green),
        PermissionEffect::Ask => ("ask", Style::Yellow),
        PermissionEffect::Deny => ("deny", Style::Red),
    }
}

fn list(output: &mut Output, page: &PermissionPage) {
    let rows: Vec<_> = page.rules.iter().map(row).collect();
    let header = [
        "RULE", "EFFECT", "TOOL", "ARGUMENT", "PATH", "SERVER", "FOR", "UNTIL",
    ];
    output.table(&header, &rows);
    for decision in &page.decisions {
        output.line(decision_line(decision));
    }
}

fn row(rule: &PermissionRule) -> Vec<String> {
    let subject = &rule.subject;
    let shown = |text: Option<String>| text.map_or_else(|| "-".to_owned(), |text| printable(&text));
    let whom = [
        subject.engine.as_ref().map(ToString::to_string),
        subject.slot.clone(),
        subject.execution.map(|id| id.to_string()),
        subject.task.map(|id| id.to_string()),
        subject.by_sight.then(|| "by sight".to_owned()),
    ];
    let whom: Vec<_> = whom.into_iter().flatten().collect();
    let until = match (rule.in_force, rule.expires_at, rule.uses_left) {
        (false, _, Some(0)) => Some("used up".to_owned()),
        (false, _, _) => Some("expired".to_owned()),
        (true, Some(at), None) => Some(moment(at)),
        (true, Some(at), Some(uses)) => Some(format!("{}, {}", moment(at), times(uses))),
        (true, None, Some(uses)) => Some(times(uses)),
        (true, None, None) => None,
    };
    vec![
        printable(&rule.name),
        word(rule.effect).0.to_owned(),
        shown(subject.tool.clone()),
        shown(subject.argument.clone()),
        shown(subject.path.clone()),
        shown(subject.server.clone()),
        shown((!whom.is_empty()).then(|| whom.join(" "))),
        shown(until),
    ]
}

fn times(uses: u32) -> String {
    counted(uses.into(), "use", "uses")
}

fn decision_line(decision: &PermissionDecision) -> String {
    let asked = &decision.asked;
    let tool = asked.tool.as_deref().unwrap_or("something");
    let what = [&asked.command, &asked.path, &asked.argument];
    let what = what.into_iter().flatten().next().map_or("", String::as_str);
    let what = one_line(what);
    let outcome = decision.outcome.as_deref().unwrap_or("not known");
    printable(&format!(
        "{}  {} {tool} {what} by {} ({outcome})",
        moment(decision.decided_at),
        decision.effect,
        decision.decided_by
    ))
}
