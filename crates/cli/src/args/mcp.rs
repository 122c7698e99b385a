//! `mission mcp …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Ask the daemon, and start it if it does not run.
    #[arg(long, global = true, conflicts_with = "no_daemon")]
    pub(crate) daemon: bool,
    /// Ask no daemon: start the server, ask it, stop it.
    #[arg(long, global = true)]
    pub(crate) no_daemon: bool,
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Call a tool by its name, `server__tool`.
    #[command(after_help = "\
Examples:
  mission mcp call-tool time__get_current_time '{\"timezone\": \"Europe/Berlin\"}'
  mission mcp call-tool everything__echo '{\"message\": \"hi\"}' --no-daemon
  echo '{\"path\": \"/tmp\"}' | mission mcp call-tool files__list_directory -

Ends with 1 when the tool itself says that it failed.")]
    CallTool {
        /// `server__tool`.
        tool: String,
        /// The arguments, a JSON object; `-` reads them from standard input.
        #[arg(default_value = "{}")]
        arguments: String,
        /// Seconds to wait; the server's own limit may be shorter.
        #[arg(long)]
        timeout: Option<u64>,
    },
    /// Be the MCP server of your own agent: missiond's operations as tools.
    #[command(after_help = "\
`mission init` tells the agents on this machine to start it.

Examples:
  mission mcp serve
  mission mcp serve --toolset board,slots
  mission mcp serve --toolset all --hub time,files__read_*")]
    Serve(McpServeArgs),
    /// List the servers and how they are.
    ListServers,
    /// List the tools of all servers, or of one.
    ListTools {
        server: Option<String>,
        /// Also what each tool takes.
        #[arg(long)]
        schema: bool,
    },
    /// List the prompts of all servers, or of one.
    ListPrompts { server: Option<String> },
    /// Print a prompt, filled in.
    #[command(after_help = "\
Example:
  mission mcp get-prompt everything__args-prompt '{\"city\": \"Berlin\"}'")]
    GetPrompt {
        /// `server__prompt`.
        prompt: String,
        /// The arguments, a JSON object of texts.
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// Add a server to the list.
    #[command(after_help = "\
Examples:
  mission mcp add files -- npx -y @modelcontextprotocol/server-filesystem /home/me/work
  mission mcp add issues --url https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'

${NAME} is replaced by the variable of that name when the server is started, so
that no secret need be in the file.")]
    Add(McpAddArgs),
    /// Take a server off the list, and forget what was accepted of it.
    Remove { server: String },
    /// Allow a server to be started.
    Enable { server: String },
    /// Keep a server on the list and never start it.
    Disable { server: String },
    /// Accept the tools of a server as they are now.
    ///
    /// A tool that is not what was first seen is held and cannot be called until
    /// it is accepted here.
    Pin {
        server: String,
        /// Only this tool.
        tool: Option<String>,
    },
    /// Add the servers that other clients on this machine know.
    #[command(after_help = "\
Examples:
  mission mcp import --dry-run
  mission mcp import claude codex")]
    Import {
        /// Which clients; all when left out.
        #[arg(value_enum)]
        clients: Vec<ImportFrom>,
        /// The project whose files are read too; this folder when left out.
        #[arg(long)]
        project: Option<PathBuf>,
        /// Say what would be added, and add nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Ask servers for a sign of life, and start those that do not run.
    Health {
        /// Only this one.
        server: Option<String>,
        /// End it first, and forget how often it failed.
        #[arg(long, requires = "server")]
        restart: bool,
        /// End it; the next call starts it again.
        #[arg(long, requires = "server", conflicts_with = "restart")]
        stop: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// Which operations are shown: default, all, or names of toolsets.
    #[arg(long = "toolset", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) toolsets: Vec<String>,
    /// Show tools of other people's servers too: all, or those of these names, in
    /// which * stands for anything.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 0..=1,
          default_missing_value = "*", require_equals = false)]
    pub(crate) hub: Vec<String>,
    /// The client that starts it; the configuration may have settings for it.
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct McpAddArgs {
    /// Letters, digits, `.`, `_` and `-`.
    pub(crate) name: String,
    /// The address of a server behind HTTP.
    #[arg(long, conflicts_with_all = ["command", "env", "pass_env", "cwd"])]
    pub(crate) url: Option<String>,
    /// A header for it, `Name: value`.
    #[arg(long = "header", value_name = "HEADER", value_parser = header, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,
    /// A variable for the program, `NAME=value`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    /// A variable of the environment the program is given as it is.
    #[arg(long, value_name = "NAME")]
    pub(crate) pass_env: Vec<String>,
    /// The folder the program is run in.
    #[arg(long)]
    pub(crate) cwd: Option<PathBuf>,
    /// Seconds a call may take.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Seconds without a call after which it is stopped; 0 keeps it.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle: Option<u64>,
    /// The program and its arguments.
    #[arg(last = true, required_unless_present = "url")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFrom {
    Claude,
    Gemini,
    Codex,
    Opencode,
    Cursor,
    Vscode,
}

/// `mission init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Which clients; those that are used on this machine when left out.
    #[arg(value_enum)]
    pub(crate) clients: Vec<ImportFrom>,
    /// Make every file what it was before.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --undo: take our server out of files that were changed since, too.
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
}

/// What the keeper of a server is told.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// The process with which this one ends.
    pub(crate) parent: u32,
    #[arg(last = true, required = true)]
    pub(crate) argv: Vec<String>,
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("it must be `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be `NAME=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}
