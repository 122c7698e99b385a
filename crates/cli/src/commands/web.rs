//! `mission open` and `mission token …`: letting browsers and programs in.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use missiond_api::Home;
use missiond_api::operations::NoParams;
use missiond_api::operations::access::{
    AccessSummary, TokenCreate, TokenCreateParams, TokenList, TokenRevoke, TokenRevokeParams,
    WebLogin,
};
use missiond_core::{ErrorCode, List, Scope, Scopes};
use missiond_os::files;

use super::seconds::seconds;
use crate::args::{OpenArgs, TokenCommand};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{moment, printable};

pub(super) fn open(
    args: &OpenArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    open_at(None, args, reach, output)
}

/// Opens the page, at a path of its own if one is given.
pub(super) fn open_at(
    path: Option<&str>,
    args: &OpenArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut login = reach.client(output)?.call::<WebLogin>(&NoParams {})?;
    if let Some(path) = path {
        // The code stays the last: it is never sent to a server.
        let to = format!("?to={path}#");
        login.link = login.link.replacen('#', &to, 1);
    }
    if args.print || output.is_json() {
        output.result(&login, |output, login| output.line(&login.link));
        return Ok(ExitCode::SUCCESS);
    }
    match open_in_browser(&reach.home, &login.link) {
        Ok(()) => output.line("The web board opens in your browser."),
        Err(error) => {
            output.notice(&format!("No browser could be opened: {error}."));
            output.notice("Open this on the same machine within two minutes:");
            output.line(&login.link);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Every user of a machine can see the arguments of every process. So the
/// browser is given a private file that leads to the link, not the link.
pub(super) fn open_in_browser(home: &Home, link: &str) -> io::Result<()> {
    let page = home.run_dir().join("login.html");
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>mission</title>"
    );
    files::replace_private_unsynced(&page, text.as_bytes())?;
    open_with_desktop(&page)
}

fn open_with_desktop(page: &PathBuf) -> io::Result<()> {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let status = Command::new(opener)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| io::Error::new(error.kind(), format!("`{opener}`: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{opener}` ended with {status}")))
}

pub(super) fn token(
    command: TokenCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        TokenCommand::Create {
            name,
            scopes,
            expires,
        } => {
            let seconds = expires.map(|time| seconds("--expires", time));
            let seconds = seconds.transpose()?;
            let scopes = scopes
                .into_iter()
                .collect::<Scopes>()
                .iter()
                .collect::<Vec<_>>();
            let scopes = Some(List::try_from(scopes).map_err(|error| {
                Failure::new(ErrorCode::InvalidParams, format!("--scope: {error}"))
            })?);
            let params = TokenCreateParams {
                name,
                seconds,
                scopes,
            };
            let created = client.call::<TokenCreate>(&params)?;
            output.result(&created, |output, created| {
                output.notice(&format!(
                    "It lets a program {}. It is shown this once; keep it as you keep a password.",
                    lets(&created.access.scopes)
                ));
                output.line(&created.token);
            });
        }
        TokenCommand::List => {
            let page = client.call::<TokenList>(&NoParams {})?;
            output.result(&page, |output, page| {
                if page.access.is_empty() {
                    output.line("No browser is logged in and there is no token.");
                    return;
                }
                let rows: Vec<_> = page.access.iter().map(row).collect();
                output.table(
                    &["id", "kind", "name", "scopes", "made", "last used", "until"],
                    &rows,
                );
            });
        }
        TokenCommand::Revoke { access } => {
            let revoked = client.call::<TokenRevoke>(&TokenRevokeParams { access })?;
            output.result(&revoked, |output, revoked| {
                for access in &revoked.revoked {
                    let name = printable(&access.name);
                    output.line(format!("The {} `{name}` lets nobody in.", access.kind));
                }
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn names(scopes: &[Scope]) -> String {
    let names: Vec<_> = scopes.iter().map(|scope| scope.name()).collect();
    match names[..] {
        // A browser is a person's.
        [] => "all".to_owned(),
        _ => names.join(","),
    }
}

fn lets(scopes: &[Scope]) -> String {
    let said: Vec<_> = scopes
        .iter()
        .map(|scope| match scope {
            Scope::Read => "look at everything",
            Scope::Work => "put work on the board and run agents",
            Scope::Terminals => "write into terminals",
            Scope::Manage => "keep house",
        })
        .collect();
    said.join(", ")
}

fn row(access: &AccessSummary) -> Vec<String> {
    let time = |at: Option<missiond_core::Timestamp>, never: &str| {
        at.map_or_else(|| never.to_owned(), moment)
    };
    vec![
        access.id.to_string(),
        access.kind.to_string(),
        printable(&access.name),
        names(&access.scopes),
        moment(access.created_at),
        time(access.last_used_at, "never"),
        time(access.expires_at, "revoked"),
    ]
}
