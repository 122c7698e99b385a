//! `mission upgrade` and `mission uninstall`, from a folder of its own with the real
//! binary in it. A release of the same version is installed again; one that fails is a
//! small program that says it is newer.

mod fleet;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use minisign::KeyPair;
use missiond_pty::host::HostFiles;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::executions::{delivered, journal};
use crate::harness::{TestHome, binary, text, wait_for};

const ARCHIVE: &str = "mission-9.9.9-x86_64-linux.tar.gz";

/// Works until the file `go` is there, then reports and answers.
const TURNS: &str = r#"
  - steps:
      - run: {argv: [sh, -c, "until [ -e go ]; do sleep 0.05; done"], exit: 0}
      - signal: {type: progress, payload: {summary: Found it}}
      - say: There it is.
"#;

/// An installation: a prefix with the program, a person's folder, and a release
/// beside them.
struct Site {
    folder: tempfile::TempDir,
    home: TestHome,
    program: PathBuf,
    pair: KeyPair,
}

impl Site {
    fn new() -> Self {
        Self::at("prefix/bin/mission")
    }

    fn at(program: &str) -> Self {
        Self::of(&binary(), program)
    }

    /// With this program installed there.
    fn of(installed: &Path, program: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("site-").tempdir().unwrap();
        let program = folder.path().canonicalize().unwrap().join(program);
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        // A second name is as good as a copy: an upgrade replaces names.
        if std::fs::hard_link(installed, &program).is_err() {
            std::fs::copy(installed, &program).unwrap();
        }
        for name in ["release", "person"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            home: TestHome::new(),
            program,
            pair: KeyPair::generate_unencrypted_keypair().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn archive(&self) -> String {
        self.path("release").join(ARCHIVE).display().to_string()
    }

    /// The key as minisign writes it.
    fn key(&self) -> String {
        let file = self.path("release.pub");
        let key = self.pair.pk.to_box().unwrap().into_string();
        std::fs::write(&file, key).unwrap();
        file.display().to_string()
    }

    /// A release with this program, listed and signed.
    fn release(&self, program: &[u8]) {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::none()));
        for (path, content) in [
            ("mission-9.9.9-x86_64-linux/README.md", &b"read me"[..]),
            ("mission-9.9.9-x86_64-linux/bin/mission", program),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o755);
            tar.append_data(&mut header, path, content).unwrap();
        }
        let archive = tar.into_inner().unwrap().finish().unwrap();
        std::fs::write(self.archive(), &archive).unwrap();
        let sum = missiond_os::hex::encode(&Sha256::digest(&archive));
        let list = format!("{}  other.deb\n{sum}  {ARCHIVE}\n", "0".repeat(64));
        std::fs::write(self.path("release/SHA256SUMS"), &list).unwrap();
        self.sign(&list, &self.pair);
    }

    fn sign(&self, list: &str, pair: &KeyPair) {
        let signature = minisign::sign(None, &pair.sk, Cursor::new(list), None, None).unwrap();
        let file = self.path("release/SHA256SUMS.minisig");
        std::fs::write(file, signature.into_string()).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(&self.program)
            .args(args)
            .env("MISSION_HOME", self.home.path())
            .env("HOME", self.path("person"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("MISSION_NO_START")
            .output()
            .unwrap()
    }

    fn done(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["--json"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn refused(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.run(args);
        assert!(!output.status.success(), "{}", text(&output.stdout));
        (output.status.code(), text(&output.stderr))
    }

    fn inode(&self) -> u64 {
        std::fs::metadata(&self.program).unwrap().ino()
    }

    /// What is in the folder of the program.
    fn beside(&self) -> Vec<String> {
        names_in(self.program.parent().unwrap())
    }

    /// Agents at work until `go` is there, each with its execution.
    fn agents(&self, count: usize) -> Vec<Value> {
        let folder = self.path("work");
        std::fs::create_dir_all(&folder).unwrap();
        let script = format!("rehearsal: 1\nstartup: 0.1\nturns:{TURNS}");
        std::fs::write(folder.join("script.yaml"), script).unwrap();
        let cwd = folder.to_str().unwrap();
        (0..count)
            .map(|number| {
                let name = format!("agent-{number}");
                let mut run = vec!["run", "wait for it", "--engine", "rehearsal"];
                run.extend(["--cwd", cwd, "--name", &name]);
                run.extend(["--", "script.yaml", "--speed", "50"]);
                let started = self.home.json(&run);
                wait_for("the prompt to arrive", || {
                    delivered(&self.show(&started)) == 1
                });
                started
            })
            .collect()
    }

    fn show(&self, execution: &Value) -> Value {
        let id = execution["execution"].as_str().unwrap();
        self.home.json(&["execution", "show", id])
    }

    /// The processes of every slot: host and program, by the slot's name.
    fn processes(&self) -> BTreeMap<String, (u32, u32)> {
        let records = HostFiles::records(&self.home.home().slots_dir()).unwrap();
        let alive = records.into_iter().filter(|record| record.is_alive());
        alive
            .map(|record| (record.name, (record.host_pid, record.program_pid)))
            .collect()
    }

    /// Lets the agents go on, and sees each end its turn as it is written.
    fn finish(&self, agents: &[Value]) {
        std::fs::write(self.path("work/go"), "").unwrap();
        for agent in agents {
            wait_for("the turn to end", || {
                let details = self.show(agent);
                let said = journal(&details).iter().any(|record| {
                    record["data"]["observed"]["fact"]["payload"]["text"] == "There it is."
                });
                said && details["activity"] == "idle" && details["progress"] == "Found it"
            });
            let details = self.show(agent);
            assert_eq!(details["lifecycle"], "running", "{details}");
            assert_eq!(delivered(&details), 1, "{details}");
        }
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The file a process runs.
fn image(pid: u32) -> u64 {
    std::fs::metadata(format!("/proc/{pid}/exe")).unwrap().ino()
}

/// A program that says it is version 9.9.9, and does this when it is to be a daemon.
fn newer(daemon: &str) -> Vec<u8> {
    let version = r#"{"version": "9.9.9"}"#;
    format!(
        "#!/bin/sh\ncase \"$*\" in\n'--json version') echo '{version}';;\n*) {daemon};;\nesac\n"
    )
    .into_bytes()
}

#[test]
fn an_upgrade_changes_the_daemon_and_agents_at_work_do_not_notice() {
    let site = Site::new();
    let old_daemon = site.done(&["daemon", "start"])["pid"].clone();
    let agents = site.agents(3);
    let before = site.processes();
    assert_eq!(before.len(), 3);
    let old = site.inode();
    // Bytes behind the end of a program change its checksum and nothing else.
    let mut program = std::fs::read(binary()).unwrap();
    program.extend(b"the same again");
    site.release(&program);
    let (archive, key) = (site.archive(), site.key());
    let upgrade = ["upgrade", &archive, "--key", &key];
    let (code, why) = site.refused(&upgrade);
    assert_eq!(code, Some(5), "{why}");
    assert!(why.contains("is installed already"), "{why}");
    assert_eq!(site.inode(), old);

    let done = site.done(&[&upgrade[..], &["--yes"]].concat());
    assert_eq!(done["signed"], true);
    assert_eq!(done["agents"], 3);
    assert_ne!(done["daemon"], old_daemon);
    assert_ne!(site.inode(), old);
    assert!(std::fs::read(&site.program).unwrap() == program);
    assert_eq!(site.beside(), ["mission", "mission.before"]);
    let kept = std::fs::metadata(site.path("prefix/bin/mission.before")).unwrap();
    assert_eq!(kept.ino(), old);
    assert!(site.home.home().database_before().is_file());
    assert_eq!(image(site.home.pid()), site.inode(), "the new daemon");

    assert_eq!(site.processes(), before, "the same hosts and programs");
    for (host, _) in before.values() {
        assert_eq!(image(*host), old);
    }
    site.home
        .json(&["slot", "spawn", "--name", "late", "--", "sleep", "1000"]);
    assert_eq!(image(site.processes()["late"].0), site.inode());
    site.finish(&agents);
}

#[test]
fn a_daemon_whose_file_was_replaced_starts_agents_with_the_new_one() {
    let site = Site::new();
    site.done(&["daemon", "start"]);
    let new = site.path("prefix/bin/new");
    std::fs::copy(binary(), &new).unwrap();
    std::fs::rename(&new, &site.program).unwrap();
    let agents = site.agents(1);
    assert_eq!(site.processes().len(), 1);
    site.finish(&agents);
}

#[test]
fn a_release_that_is_not_what_its_makers_signed_is_refused() {
    let site = Site::new();
    let daemon = site.done(&["daemon", "start"])["pid"].clone();
    let old = site.inode();
    let (archive, key) = (site.archive(), site.key());
    let signed = ["upgrade", &archive, "--key", &key];
    let refused = |args: &[&str], expected: &str| {
        let (code, why) = site.refused(args);
        assert!(why.contains(expected), "{why}");
        assert_eq!(site.inode(), old, "{why}");
        assert_eq!(site.beside(), ["mission"], "{why}");
        code
    };
    assert_eq!(refused(&signed, "is not there"), Some(4));
    site.release(&newer("exit 1"));
    assert_eq!(
        refused(&["upgrade", &archive], "only the checksum can be verified"),
        Some(6)
    );

    let whole = std::fs::read(&archive).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&archive, &damaged).unwrap();
    assert_eq!(refused(&signed, "is damaged or another file"), Some(6));
    refused(&["upgrade", &archive, "--unsigned"], "is damaged");
    std::fs::write(&archive, &whole).unwrap();

    // Without `--key` the key of the configuration is used, as a file and as a text.
    let stranger = KeyPair::generate_unencrypted_keypair().unwrap();
    for (key, expected) in [
        (stranger.pk.to_base64(), "is not a signature of"),
        (site.path("none.pub").display().to_string(), "none.pub"),
        (site.pair.pk.to_base64(), "is damaged"),
        (key.clone(), "is damaged"),
    ] {
        site.home
            .write_config(&format!("[upgrade]\nkey = {}\n", serde_json::json!(key)));
        std::fs::write(&archive, &damaged).unwrap();
        refused(&["upgrade", &archive], expected);
        std::fs::write(&archive, &whole).unwrap();
    }
    site.home.write_config("");

    let list = std::fs::read_to_string(site.path("release/SHA256SUMS")).unwrap();
    site.sign(&list, &KeyPair::generate_unencrypted_keypair().unwrap());
    assert_eq!(refused(&signed, "is not a signature of"), Some(6));
    site.sign(&format!("{list}\n"), &site.pair);
    refused(&signed, "is not a signature of");
    std::fs::remove_file(site.path("release/SHA256SUMS.minisig")).unwrap();
    refused(&signed, "the signature of the release, is not there");
    std::fs::write(site.path("release/SHA256SUMS"), "").unwrap();
    refused(&["upgrade", &archive, "--unsigned"], "has no checksum of");

    for (program, expected) in [
        (&b"#!/bin/sh\nexit 1\n"[..], "does not work here"),
        (
            b"#!/bin/sh\necho '{\"version\": \"0.0.1\"}'\n",
            "is older than",
        ),
    ] {
        site.release(program);
        refused(&signed, expected);
    }
    assert_eq!(site.done(&["daemon", "start"])["pid"], daemon);
}

#[test]
fn a_version_that_does_not_come_up_is_taken_back_and_agents_do_not_notice() {
    let site = Site::new();
    site.done(&["daemon", "start"]);
    let agents = site.agents(3);
    let before = site.processes();
    let old = site.inode();
    let note = |text: &str| {
        let params = serde_json::json!({ "text": text });
        site.home.call("timeline_note", &params);
    };
    let notes = || {
        let events = site.home.events();
        let notes = events
            .iter()
            .filter(|event| event["event"]["type"] == "note_added");
        notes
            .map(|event| event["event"]["text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    note("before all");
    let migrated = site.path("migrated.db");
    rusqlite::Connection::open(&migrated)
        .unwrap()
        .execute_batch(
            "CREATE TABLE schema_migrations (version bigint, name text, checksum text, \
             applied_at bigint); INSERT INTO schema_migrations VALUES (9999, 'x', 'x', 1)",
        )
        .unwrap();
    let database = site.home.home().database();
    let migrate = format!(
        "cp '{}' '{}'; exit 1",
        migrated.display(),
        database.display()
    );
    let other = format!("exec '{}' \"$@\"", binary().display());
    let (archive, key) = (site.archive(), site.key());
    let own = env!("CARGO_PKG_VERSION");
    let back = format!("Version {own} is back in its place");
    let instead = format!("version {own} runs instead of 9.9.9");
    for (daemon, expected) in [
        ("exit 1", back.as_str()),
        (
            migrate.as_str(),
            "the database is as it was before the upgrade",
        ),
        (other.as_str(), instead.as_str()),
    ] {
        note(daemon);
        let noted = notes();
        assert_eq!(noted.last().map(String::as_str), Some(daemon));
        site.release(&newer(daemon));
        let (code, why) = site.refused(&["upgrade", &archive, "--key", &key]);
        assert_eq!(code, Some(1), "{why}");
        assert!(why.contains(expected), "{why}");
        assert_eq!(site.inode(), old, "{why}");
        assert_eq!(site.beside(), ["mission"], "{why}");
        assert!(!site.home.home().database_before().exists(), "{why}");
        assert_eq!(image(site.home.pid()), old, "the old daemon runs again");
        assert_eq!(notes(), noted, "{why}");
        assert_eq!(site.processes(), before, "{why}");
    }
    site.finish(&agents);
}

#[test]
fn a_release_comes_from_an_address_with_what_is_beside_it() {
    let site = Site::new();
    site.release(&newer("exit 1"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let release = site.path("release");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut asked).unwrap();
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {}
            let path = asked.split(' ').nth(1).unwrap();
            let answer = match path.strip_prefix("/moved/") {
                Some(name) => std::fs::read(release.join(name)).map_or_else(
                    |_| b"HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n".to_vec(),
                    |body| {
                        let head =
                            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                        [head.into_bytes(), body].concat()
                    },
                ),
                None if path == "/large" => {
                    b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n".to_vec()
                }
                None if path == "/loop" => {
                    b"HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n".to_vec()
                }
                None => format!(
                    "HTTP/1.1 302 Found\r\nLocation: /moved{path}\r\nContent-Length: 0\r\n\r\n"
                )
                .into_bytes(),
            };
            let _ = stream.write_all(&answer);
        }
    });
    let key = site.key();
    for (path, expected) in [
        ("none.tar.gz", "is not there"),
        ("large", "larger than"),
        ("loop", "redirections"),
    ] {
        let url = format!("http://{address}/{path}");
        let (_, why) = site.refused(&["upgrade", &url, "--key", &key]);
        assert!(why.contains(expected), "{why}");
    }
    let (_, why) = site.refused(&["upgrade", "http://example.com/m.tar.gz", "--key", &key]);
    assert!(why.contains("use https://"), "{why}");
    let done = site.done(&[
        "upgrade",
        &format!("http://{address}/{ARCHIVE}"),
        "--key",
        &key,
    ]);
    assert_eq!(done["to"], "9.9.9");
    assert_eq!(done["daemon"], Value::Null, "none ran, and none is started");
    assert_eq!(std::fs::read(&site.program).unwrap(), newer("exit 1"));
    let mode = std::fs::metadata(&site.program)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o500, 0o500);
}

#[test]
fn the_newest_release_for_this_machine_is_found_where_the_configuration_says() {
    let site = Site::new();
    let (code, why) = site.refused(&["upgrade"]);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("`upgrade.url`"), "{why}");
    site.release(&newer("exit 1"));
    let (folder, key) = (site.path("release"), site.pair.pk.to_base64());
    let config = serde_json::json!({"url": folder, "key": key});
    let [url, key] = [&config["url"], &config["key"]];
    site.home
        .write_config(&format!("[upgrade]\nurl = {url}\nkey = {key}\n"));
    if std::env::consts::ARCH == "x86_64" {
        assert_eq!(site.done(&["upgrade"])["to"], "9.9.9");
        assert_eq!(std::fs::read(&site.program).unwrap(), newer("exit 1"));
    }

    let site = Site::new();
    let own = env!("CARGO_PKG_VERSION");
    let list = format!(
        "{}  mission-{own}-{}-linux.tar.gz\n",
        "0".repeat(64),
        std::env::consts::ARCH
    );
    std::fs::write(site.path("release/SHA256SUMS"), list).unwrap();
    let folder = serde_json::json!(site.path("release"));
    site.home
        .write_config(&format!("[upgrade]\nurl = {folder}\n"));
    let done = site.done(&["upgrade"]);
    assert_eq!((&done["from"], &done["to"]), (&own.into(), &own.into()));
    assert_eq!(site.beside(), ["mission"]);
    std::fs::write(site.path("release/SHA256SUMS"), "").unwrap();
    let (code, why) = site.refused(&["upgrade"]);
    assert_eq!(code, Some(4), "{why}");
}

#[test]
fn what_a_package_manager_installed_is_left_to_it() {
    let site = Site::at("lib/node_modules/missiond/bin/mission");
    site.release(&newer("exit 1"));
    let (archive, key) = (site.archive(), site.key());
    let (code, why) = site.refused(&["upgrade", &archive, "--key", &key]);
    assert_eq!(code, Some(5), "{why}");
    assert!(
        why.contains("npm install --global ./missiond-VERSION.tgz"),
        "{why}"
    );
    let done = site.done(&["uninstall", "--yes"]);
    assert_eq!(done["package_command"], "npm uninstall --global missiond");
    assert!(site.program.exists());
}

/// Every file below a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                files_in(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn an_uninstall_shows_what_it_would_remove_and_then_leaves_nothing() {
    let site = Site::new();
    let person = site.path("person");
    let claude = person.join(".claude.json");
    std::fs::write(&claude, "{\n  \"numStartups\": 7\n}\n").unwrap();
    site.done(&["init", "claude"]);
    site.done(&["policy", "init"]);
    site.done(&["daemon", "install"]);
    for (shell, place) in [
        ("zsh", "person/.zfunc/_mission"),
        ("bash", "prefix/share/bash-completion/completions/mission"),
    ] {
        let place = site.path(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, site.run(&["completions", shell]).stdout).unwrap();
    }
    let others = person.join(".config/fish/completions/mission.fish");
    std::fs::create_dir_all(others.parent().unwrap()).unwrap();
    std::fs::write(&others, "# somebody else's\n").unwrap();
    site.done(&["daemon", "start"]);
    site.agents(2);
    let repository = site.path("repository");
    let worktree = site.home.home().worktrees_dir().join("repository/T-1");
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .arg("-C")
            .arg(&repository)
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    std::fs::create_dir(&repository).unwrap();
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&["worktree", "add", "-q", worktree.to_str().unwrap()]);
    assert_eq!(git(&["worktree", "list"]).lines().count(), 2);

    let before = files_in(site.folder.path()).len();
    let output = site.run(&["uninstall"]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for line in [
        "Would end the daemon",
        "Would end the agent agent-1 (rehearsal)",
        ".config/systemd/user/missiond.service",
        "what `mission init` wrote into",
        "This holds 1 worktree of agents",
        "Nothing was done: --yes does it.",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("mission.fish"), "{shown}");
    assert_eq!(files_in(site.folder.path()).len(), before);
    let processes = site.processes();
    assert_eq!(processes.len(), 2);
    let daemon = site.home.pid();

    site.done(&["uninstall", "--yes"]);
    assert!(!site.home.path().exists());
    let alive = |pid: u32| missiond_os::processes::process_exists(pid);
    assert!(!alive(daemon));
    for (host, program) in processes.into_values() {
        assert!(!alive(host) && !alive(program));
    }
    assert_eq!(files_in(&site.path("prefix")), Vec::<PathBuf>::new());
    assert_eq!(
        names_in(&site.path("prefix")),
        Vec::<String>::new(),
        "no folder"
    );
    let mut left = files_in(&person);
    left.sort();
    assert_eq!(left, [claude.clone(), others]);
    assert_eq!(names_in(&person), [".claude.json", ".config"]);
    assert_eq!(names_in(&person.join(".config")), ["fish"]);
    let restored = std::fs::read_to_string(&claude).unwrap();
    assert_eq!(restored, "{\n  \"numStartups\": 7\n}\n");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn an_uninstall_removes_no_folder_that_is_not_missionds_alone() {
    let site = Site::new();
    site.done(&["daemon", "start"]);
    site.done(&["daemon", "stop"]);
    let (config, data) = (
        site.home.path().join("config"),
        site.home.path().join("data"),
    );
    let refused = |expected: &str| {
        for args in [&["uninstall"][..], &["uninstall", "--yes"]] {
            let (code, why) = site.refused(args);
            assert_eq!(code, Some(5), "{why}");
            assert!(why.contains("nothing was removed"), "{why}");
            assert!(why.contains(expected), "{why}");
        }
        assert!(site.program.exists() && data.join("mission.db").exists());
    };
    // As when MISSION_HOME names a project that has such a folder itself.
    std::fs::create_dir_all(&config).unwrap();
    let thesis = config.join("thesis.tex");
    std::fs::write(&thesis, "years of work").unwrap();
    refused("has `thesis.tex` in it, which is not missiond's");
    assert_eq!(std::fs::read_to_string(&thesis).unwrap(), "years of work");
    std::fs::remove_dir_all(&config).unwrap();

    let elsewhere = site.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &config).unwrap();
    refused("is a link to another place");
    std::fs::remove_file(&config).unwrap();

    let person = data.join("logs");
    let output = Command::new(&site.program)
        .args(["uninstall", "--yes"])
        .env("MISSION_HOME", site.home.path())
        .env("HOME", &person)
        .output()
        .unwrap();
    let why = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{why}");
    assert!(why.contains("holds your home folder"), "{why}");

    let log = site.path("log");
    site.home
        .write_config(&format!("[log]\ndirectory = {}\n", serde_json::json!(log)));
    site.done(&["daemon", "start"]);
    std::fs::write(log.join("notes.txt"), "mine").unwrap();
    site.done(&["uninstall", "--yes"]);
    assert!(!site.home.path().exists() && !site.program.exists());
    assert_eq!(
        names_in(&log),
        ["notes.txt"],
        "the log is gone, the folder is the person's"
    );
}

#[test]
fn an_uninstall_that_keeps_the_data_can_be_taken_up_again() {
    let site = Site::new();
    site.done(&["daemon", "start"]);
    site.home.json(&["task", "add", "go on with it"]);
    site.done(&["uninstall", "--yes", "--keep-data"]);
    assert!(!site.program.exists());
    assert!(!missiond_daemon::Instance::is_held(&site.home.home()).unwrap());
    site.home.start();
    let tasks = site.home.json(&["task", "list"]);
    assert!(tasks.to_string().contains("go on with it"), "{tasks}");
}
