//! A home of its own for each test, with the real binary in it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use missiond_api::Home;
use missiond_pty::host::HostFiles;
use serde_json::{Value, json};

/// Waiting longer than this for anything means that it does not come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether the long versions of the tests are asked for, as by
/// `cargo xtask test --long`.
pub(crate) fn long() -> bool {
    std::env::var_os("MISSION_TEST_LONG").is_some_and(|value| !value.is_empty())
}

/// How many rounds a test runs: what this variable says, else by the version
/// that is asked for.
pub(crate) fn rounds<N: std::str::FromStr>(variable: &str, short: N, at_length: N) -> N {
    let given = std::env::var(variable).ok();
    given
        .and_then(|text| text.parse().ok())
        .unwrap_or(if long() { at_length } else { short })
}

/// A home; whatever daemon runs in it ends with the test.
pub(crate) struct TestHome {
    folder: tempfile::TempDir,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::Builder::new()
                .prefix("mission-")
                .tempdir()
                .unwrap(),
        }
    }

    /// A home with this configuration file.
    pub(crate) fn with_config(config: &str) -> Self {
        let home = Self::new();
        home.write_config(config);
        home
    }

    /// A home with a running daemon.
    pub(crate) fn started() -> Self {
        let home = Self::new();
        home.start();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn home(&self) -> Home {
        Home::under(self.path())
    }

    pub(crate) fn write_config(&self, config: &str) {
        let file = self.home().config_file();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, config).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .env("MISSION_HOME", self.path())
            .env_remove("MISSION_NO_START")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn mission(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must succeed, with `--json`, and reads its result.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args = [&["--json"], args].concat();
        let output = self.command(&args).output().unwrap();
        assert!(
            output.status.success(),
            "mission {args:?}: {}",
            text(&output.stderr)
        );
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("mission {args:?}: {error}: {}", text(&output.stdout)))
    }

    /// Calls an operation by its name, as it is in the catalogue.
    pub(crate) fn call(&self, operation: &str, params: &Value) -> Value {
        self.json(&["call", operation, &params.to_string()])
    }

    /// Runs a command that must fail; its exit code and its sentence.
    pub(crate) fn failure(&self, args: &[&str]) -> (i32, String) {
        let output = self.mission(args);
        assert!(
            !output.status.success(),
            "mission {args:?} succeeded: {}",
            text(&output.stdout)
        );
        (output.status.code().unwrap_or(-1), text(&output.stderr))
    }

    pub(crate) fn start(&self) -> u32 {
        let started = self.json(&["daemon", "start"]);
        u32::try_from(started["pid"].as_u64().unwrap()).unwrap()
    }

    /// The daemon's process, by what its PID file says.
    pub(crate) fn pid(&self) -> u32 {
        missiond_daemon::PidRecord::read(&self.home())
            .expect("a daemon runs")
            .pid
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        if signal == rustix::process::Signal::STOP {
            // One of its threads has to be run before all of them stop.
            let status = format!("/proc/{}/status", self.pid());
            wait_for("it to stop", || {
                std::fs::read_to_string(&status).is_ok_and(|status| status.contains("State:\tT"))
            });
        }
    }

    /// SIGKILL, and waits until the kernel has let go of the lock.
    pub(crate) fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
        self.wait_until_gone();
    }

    pub(crate) fn wait_until_gone(&self) {
        wait_for("the daemon to be gone", || {
            !missiond_daemon::Instance::is_held(&self.home()).unwrap()
        });
    }

    /// The stored events, oldest first.
    pub(crate) fn events(&self) -> Vec<Value> {
        let mut events = Vec::new();
        let mut after = 0;
        loop {
            let params = json!({"after": after, "order": "oldest_first", "limit": 1000});
            let page = self.json(&["call", "timeline_query", &params.to_string()]);
            let found = page["events"].as_array().unwrap();
            let Some(last) = found.last() else {
                return events;
            };
            after = last["seq"].as_i64().unwrap();
            events.extend(found.iter().cloned());
        }
    }

    /// The kinds of the stored events, oldest first.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let kind = |event: &Value| event["event"]["type"].as_str().unwrap().to_owned();
        self.events().iter().map(kind).collect()
    }

    /// A connection with request 1 under way: a wait for what does not come.
    pub(crate) fn waiting(&self, milliseconds: u64) -> RawConnection {
        let mut connection = self.greeted();
        let params = json!({"timeout_ms": milliseconds, "kinds": ["task_created"]});
        connection.request(1, "timeline_wait", &params);
        // Answered after the wait was read, because a connection reads in order.
        let answer = connection.ask(2, "health", &json!({}));
        assert_eq!(answer["result"]["healthy"], true);
        connection
    }

    /// Programs in slots outlive the daemon; they must not outlive the test.
    pub(crate) fn end_slots(&self) {
        let records = HostFiles::records(&self.home().slots_dir()).unwrap_or_default();
        for record in records.iter().filter(|record| record.is_alive()) {
            let pid = |pid: u32| rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            let kill = rustix::process::Signal::KILL;
            let _ = rustix::process::kill_process_group(pid(record.program_pid), kill);
            let _ = rustix::process::kill_process(pid(record.host_pid), kill);
            // The host is nobody's to wait for here; it is gone within moments.
            while record.is_alive() {
                std::thread::yield_now();
            }
            record.end_leftovers();
        }
    }

    /// A connection for messages that our own client would never send.
    pub(crate) fn raw(&self) -> RawConnection {
        RawConnection::new(&self.home().socket())
    }

    /// A raw connection that has said hello.
    pub(crate) fn greeted(&self) -> RawConnection {
        let mut connection = self.raw();
        connection.send(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "hello",
            "params": {"protocol": 1, "client": "test"},
        }));
        assert_eq!(connection.receive()["result"]["protocol"], 1);
        connection
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        // Nothing here may panic: a test that failed is unwinding.
        let _ = self.command(&["daemon", "stop", "--force"]).output();
        self.end_slots();
    }
}

/// Lines to and from the socket, whatever they are.
pub(crate) struct RawConnection {
    reader: BufReader<UnixStream>,
}

impl RawConnection {
    pub(crate) fn new(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self {
            reader: BufReader::new(stream),
        }
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    /// Sends unless the other side has closed.
    pub(crate) fn try_send(&mut self, message: &Value) -> std::io::Result<()> {
        self.reader
            .get_mut()
            .write_all(format!("{message}\n").as_bytes())
    }

    pub(crate) fn request(&mut self, id: u64, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// The next message; panics when the connection ends first.
    pub(crate) fn receive(&mut self) -> Value {
        self.try_receive()
            .expect("the daemon closed the connection")
    }

    /// The next message, or `None` at the end of the connection.
    pub(crate) fn try_receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Asks and reads the answer; nothing else may come in between.
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.request(id, method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

/// The code an answer was refused with.
pub(crate) fn error_code(answer: &Value) -> &str {
    answer["error"]["data"]["code"]
        .as_str()
        .unwrap_or_else(|| panic!("no error: {answer}"))
}

pub(crate) fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_mission"))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Looks again and again until it is so.
pub(crate) fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a process that must end by itself.
pub(crate) fn wait_for_exit(child: &mut Child) -> std::process::ExitStatus {
    let mut status = None;
    wait_for("a process to end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}
