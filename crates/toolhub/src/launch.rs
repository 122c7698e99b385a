//! Starting a server's program, with the environment it may have and nothing
//! more, and ending it with everything that came of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use missiond_os::environment::{Child as Kind, inherited, own_text};
use missiond_os::processes::{Signal, signal_each};
use missiond_os::programs::find_program;
use missiond_sandbox::{Place, Profile};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::config::{Transport, expand};

/// After its input was closed a server has this long to end.
const FAREWELL: Duration = Duration::from_secs(2);

/// After it was told to end, its keeper has this long for all of it.
const ENDING: Duration = Duration::from_secs(6);

/// Gives the place of a server, by its name, its network.
type OpenNetwork = dyn Fn(&str, &mut Place) -> Result<(), String> + Send + Sync;

/// What gives servers behind a wall their network.
#[derive(Clone)]
pub struct ServerNetwork(Arc<OpenNetwork>);

impl ServerNetwork {
    pub fn new(
        open: impl Fn(&str, &mut Place) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }
}

impl std::fmt::Debug for ServerNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerNetwork")
    }
}

/// The command that runs [`crate::keep`]. The number of this process, `--`, the
/// program and its arguments are put behind it.
#[derive(Debug, Clone)]
pub struct KeeperCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The wall around servers that say nothing of one; what it shows is shown behind
    /// every wall.
    pub place: Place,
    /// The network of servers behind a wall; that of `place` where there is nothing.
    pub network: Option<ServerNetwork>,
}

impl KeeperCommand {
    /// The program that runs now, whose command `mcp-keep` is the keeper.
    pub fn of_this_program() -> std::io::Result<Self> {
        Ok(Self {
            program: missiond_os::programs::own_program()?,
            arguments: vec!["mcp-keep".to_owned()],
            place: Place::elsewhere(Profile::Open),
            network: None,
        })
    }

    /// The same with a wall around the servers, and what gives them their network.
    #[must_use]
    pub fn behind(self, place: Place, network: Option<ServerNetwork>) -> Self {
        Self {
            place,
            network,
            ..self
        }
    }
}

/// A server's program, under its keeper.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

/// The ends of its pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

impl Process {
    /// Starts it. The error is a sentence for the person.
    pub(crate) fn start(
        server: &str,
        transport: &Transport,
        keeper: &KeeperCommand,
    ) -> Result<(Self, Pipes), String> {
        let Transport::Stdio {
            command,
            args,
            env,
            pass_env,
            cwd,
            wall,
        } = transport
        else {
            return Err("it has no program".to_owned());
        };
        let mut environment = environment(&own_text().collect(), env, pass_env)?;
        let program = resolve(
            command,
            environment.get("PATH").map(String::as_str),
            cwd.as_deref(),
        )?;
        let mut place = keeper.place.clone();
        place.profile = wall.profile.unwrap_or(place.profile);
        place.folder.clone_from(cwd);
        place.readable.extend(wall.read.iter().cloned());
        place.writable.extend(wall.write.iter().cloned());
        if let Some(ServerNetwork(open)) = &keeper.network
            && place.profile == Profile::Guarded
        {
            open(server, &mut place).map_err(|error| format!("no way out: {error}"))?;
        }
        let refused = |error: std::io::Error| format!("no sandbox: {error}");
        let file = PathBuf::from(&program);
        let walled = match place.wall(&file, &environment).map_err(refused)? {
            Some(wall) => Some(wall.command(&file).map_err(refused)?),
            None => None,
        };
        let argv = match walled {
            Some(walled) => {
                let (name, plan) = walled.variable;
                environment.insert(name.to_owned(), plan);
                [vec![walled.program.into_os_string()], walled.arguments].concat()
            }
            None => vec![program],
        };
        let mut started = Command::new(&keeper.program);
        started
            .args(&keeper.arguments)
            .arg(std::process::id().to_string())
            .arg("--")
            .args(argv)
            .args(args)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(false);
        if let Some(cwd) = cwd {
            started.current_dir(cwd);
        }
        let mut child = started
            .spawn()
            .map_err(|error| format!("it cannot be run: {error}"))?;
        let pipes = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Pipes {
                stdin,
                stdout,
                stderr,
            },
            _ => return Err("it has no pipes".to_owned()),
        };
        Ok((Self { child }, pipes))
    }

    /// Ends it; its input must be closed already. Returns when nothing of it is
    /// left, and in any case soon.
    pub(crate) async fn end(mut self) {
        if tokio::time::timeout(FAREWELL, self.child.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.signal_keeper();
        if tokio::time::timeout(ENDING, self.child.wait())
            .await
            .is_err()
        {
            let _ = self.child.kill().await;
        }
    }

    /// How it ended, once it has.
    pub(crate) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => match status.code() {
                Some(code) => format!("its program ended with status {code}"),
                None => "its keeper was killed".to_owned(),
            },
            Err(error) => format!("its program cannot be watched: {error}"),
        }
    }

    /// The process number of the keeper.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    fn signal_keeper(&self) {
        if let Some(pid) = self.child.id() {
            signal_each(&[pid], Signal::TERM);
        }
    }
}

impl Drop for Process {
    /// A keeper ends its server when it is told, also when nobody waits.
    fn drop(&mut self) {
        self.signal_keeper();
    }
}

/// What the server has: what every tool server inherits, what the list passes on
/// by name, and what it sets.
fn environment(
    own: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, String>,
    passed: &[String],
) -> Result<BTreeMap<String, String>, String> {
    let mut environment = inherited(Kind::ToolServer, own.clone());
    for name in passed {
        if let Some(value) = own.get(name) {
            environment.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in wanted {
        let value =
            expand(value, |name| own.get(name).cloned()).map_err(|variable| missing(&variable))?;
        environment.insert(name.clone(), value);
    }
    Ok(environment)
}

pub(crate) fn missing(variable: &str) -> String {
    format!(
        "it needs the variable `{variable}`, which is not in the environment it is started from"
    )
}

/// The file a command means.
fn resolve(command: &str, path: Option<&str>, cwd: Option<&Path>) -> Result<OsString, String> {
    if command.contains('/') {
        let file = cwd.map_or_else(|| PathBuf::from(command), |cwd| cwd.join(command));
        return if file.is_file() {
            Ok(file.into_os_string())
        } else {
            Err(format!("there is no file {}", file.display()))
        };
    }
    let found = find_program(command, path.unwrap_or_default());
    found.map(PathBuf::into_os_string).ok_or_else(|| {
        format!("`{command}` is not in the PATH: install it, or give its whole path")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_what_it_was_given_and_no_secret_beside() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = BTreeMap::from([
            pair("PATH", "/bin"),
            pair("LC_ALL", "C"),
            pair("API_KEY", "secret"),
            pair("SSH_AUTH_SOCK", "/run/agent"),
            pair("TOKEN", "t"),
        ]);
        let wanted = BTreeMap::from([pair("PATH", "/opt:${PATH}"), pair("KEY", "${API_KEY}")]);
        let given = environment(&own, &wanted, &["TOKEN".to_owned()]).unwrap();
        let expected = BTreeMap::from([
            pair("KEY", "secret"),
            pair("LC_ALL", "C"),
            pair("PATH", "/opt:/bin"),
            pair("TOKEN", "t"),
        ]);
        assert_eq!(given, expected);
        let lacking = BTreeMap::from([pair("A", "${NOT_THERE}")]);
        let error = environment(&own, &lacking, &[]).unwrap_err();
        assert!(error.contains("`NOT_THERE`"), "{error}");
    }

    #[test]
    fn a_program_is_found_as_a_shell_would() {
        assert_eq!(
            resolve("sh", Some("/nowhere:/bin:/usr/bin"), None).unwrap(),
            OsString::from("/bin/sh")
        );
        let error = resolve("no-such-server", Some("/bin"), None).unwrap_err();
        assert!(error.contains("is not in the PATH"), "{error}");
        assert!(resolve("/no/such/file", None, None).is_err());
    }
}
