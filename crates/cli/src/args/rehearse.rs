//! `mission rehearse`

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    /// A script file, or the name of a script that comes with the program.
    #[arg(required_unless_present_any = ["list", "show"])]
    pub(crate) script: Option<String>,
    /// A prompt to begin with.
    pub(crate) prompt: Option<String>,
    /// List the scripts that come with the program.
    #[arg(long, conflicts_with_all = ["script", "show"])]
    pub(crate) list: bool,
    /// Print a script that comes with the program, as a start for your own.
    #[arg(long, value_name = "NAME", conflicts_with = "script")]
    pub(crate) show: Option<String>,
    /// Speak the Agent Client Protocol over standard input and output, without a terminal.
    #[arg(long, conflicts_with_all = ["list", "show", "resume", "truth", "prompt"])]
    pub(crate) acp: bool,
    /// How many times faster than written, from 0.01 to 1000.
    #[arg(long, default_value = "1", value_parser = speed)]
    pub(crate) speed: missiond_rehearsal::Speed,
    /// Go on with a session, at the turn after the last one taken.
    #[arg(long, value_name = "SESSION_ID")]
    pub(crate) resume: Option<missiond_rehearsal::SessionId>,
    /// The id of the new session; made up when left out.
    #[arg(long, value_name = "SESSION_ID", conflicts_with = "resume")]
    pub(crate) session_id: Option<missiond_rehearsal::SessionId>,
    /// Where sessions are kept; below the data folder when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
    /// Where what is said goes, as JSON lines; beside the session when left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<PathBuf>,
    /// Write each state it truly is in, as JSON lines, to check those who watch it.
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// MCP servers to use, in the shape of `.mcp.json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) mcp_config: Option<PathBuf>,
}

fn speed(text: &str) -> Result<missiond_rehearsal::Speed, String> {
    let factor = text.parse().ok();
    factor
        .and_then(missiond_rehearsal::Speed::new)
        .ok_or_else(|| "a number from 0.01 to 1000".to_owned())
}
