//! The list of commands in `mission help`, in groups, and where people look for a
//! command that has another name here.

use std::fmt::Write;

use clap::Command;

/// Every command a person may want, under what they want. A command that is in none
/// of these is found by the test, and stands under the last heading meanwhile.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    (
        "Look",
        &[
            "status",
            "inbox",
            "open",
            "search",
            "docs",
            "review",
            "timeline",
            "usage",
            "conversation",
            "logs",
        ],
    ),
    ("Have work done", &["run", "task", "autopilot", "demo"]),
    (
        "Answer and allow",
        &[
            "answer",
            "dismiss",
            "permission",
            "policy",
            "trust",
            "audit",
            "guard",
            "sandbox",
        ],
    ),
    (
        "Agents at work",
        &[
            "execution",
            "slot",
            "worktree",
            "journal",
            "context",
            "skill",
        ],
    ),
    ("What is known", &["kb", "code"]),
    (
        "Set up",
        &[
            "up",
            "down",
            "init",
            "doctor",
            "config",
            "engine",
            "mcp",
            "acp",
            "llm",
            "model",
            "token",
            "daemon",
            "upgrade",
            "uninstall",
        ],
    ),
    (
        "For authors and programs",
        &[
            "call",
            "hook",
            "incident",
            "rehearse",
            "semantic",
            "bench",
            "completions",
            "man",
            "version",
        ],
    ),
];

/// What is said to somebody who types the name another program has for it.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "board",
        "`mission open` shows the board, `mission task list` lists its tasks",
    ),
    ("ui", "`mission open` opens the board in your browser"),
    ("web", "`mission open` opens the board in your browser"),
    (
        "dashboard",
        "`mission open` opens the board, `mission status --watch` fills this terminal",
    ),
    ("top", "`mission status --watch` shows who works on what"),
    ("watch", "`mission status --watch` shows who works on what"),
    (
        "agents",
        "`mission status` lists the agents, `mission execution list` their runs",
    ),
    (
        "ps",
        "`mission status` lists the agents, `mission execution list` their runs",
    ),
    (
        "ls",
        "`mission status` lists what runs, `mission task list` the tasks",
    ),
    (
        "list",
        "`mission status` lists what runs, `mission task list` the tasks",
    ),
    (
        "start",
        "`mission up` starts the daemon, `mission run` an agent, `mission autopilot resume` the work on the board",
    ),
    (
        "stop",
        "`mission down` stops the daemon, `mission execution cancel` an agent, `mission autopilot stop` all agents of tasks",
    ),
    (
        "update",
        "`mission upgrade FILE` installs another version of missiond",
    ),
    ("restart", "`mission daemon restart` starts the daemon anew"),
    (
        "new",
        "`mission task add` adds a task, `mission run` starts an agent",
    ),
    (
        "add",
        "`mission task add` adds a task, `mission kb remember` an entry",
    ),
    (
        "attach",
        "`mission slot attach NAME` opens the terminal of an agent",
    ),
    (
        "diff",
        "`mission review T-12` shows what the agent of a task changed",
    ),
    (
        "merge",
        "`mission worktree finish T-12` merges the work of a task",
    ),
    (
        "cost",
        "`mission usage` says what was used and what it cost",
    ),
];

/// The command with its subcommands listed in groups.
pub(super) fn grouped(command: Command) -> Command {
    let list = list(&command);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

fn list(command: &Command) -> String {
    let visible: Vec<_> = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .collect();
    let widest = visible.iter().map(|one| one.get_name().len()).max();
    let widest = widest.unwrap_or(0);
    let mut text = String::new();
    let mut group = |heading: &str, commands: Vec<&&Command>| {
        if commands.is_empty() {
            return;
        }
        let _ = writeln!(text, "{heading}:");
        for one in commands {
            let about = one.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default().replace(['{', '}'], "");
            let about = about.trim_end_matches('.');
            let _ = writeln!(text, "  {:<widest$}  {about}", one.get_name());
        }
        text.push('\n');
    };
    for (heading, names) in GROUPS {
        let named = names.iter();
        let found = named.filter_map(|name| visible.iter().find(|one| one.get_name() == *name));
        group(heading, found.collect());
    }
    let is_in_a_group = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = visible.iter().filter(|one| !is_in_a_group(one.get_name()));
    group("Others", others.collect());
    text
}

/// Which command does what somebody meant by a name that is none.
pub(super) fn meant_by(name: &str) -> Option<&'static str> {
    let found = ELSEWHERE.iter().find(|(known, _)| *known == name);
    found.map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn help() -> String {
        crate::args::command().render_help().to_string()
    }

    #[test]
    fn every_command_stands_in_exactly_one_group_of_the_help() {
        let help = help();
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let times = GROUPS.iter().flat_map(|(_, names)| names.iter());
            let times = times.filter(|known| **known == name).count();
            let wanted = usize::from(!command.is_hide_set());
            assert_eq!(times, wanted, "`{name}` in the groups");
            let listed = help
                .lines()
                .any(|line| line.starts_with(&format!("  {name} ")));
            assert_eq!(listed, !command.is_hide_set(), "`{name}` in the help");
        }
        assert!(!help.contains("Others:"), "{help}");
        assert!(
            help.contains("--json") && help.contains("Exit codes:"),
            "{help}"
        );
    }

    #[test]
    fn a_group_names_only_commands_there_are() {
        let mut command = Cli::command();
        command.build();
        let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(names.contains(name), "`{name}`");
        }
        for (name, _) in ELSEWHERE {
            assert!(!names.contains(name), "`{name}` is a command by now");
        }
    }
}
