//! What runs in a slot tries to speak to the hosts of slots, its own and another's, as only
//! their daemon may, and to be taken for one. Keys that arrived would be typed.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use missiond_pty::host::{Containment, containment};

use crate::attacks::{inside, quoted, said};
use crate::harness::{TestHome, binary, wait_for};
use crate::slots::{screen, spawn, text_of, wait_for_text};

/// Typed by whoever is let in.
const PUSHED: &str = "pushed by another";

/// A host that looks at who connects may be kept from its processor for a while.
const REFUSED_WITHIN: Duration = Duration::from_secs(60);

/// Ways to start the program that connects, which is `$0` with its arguments.
const WAYS: [(&str, &str); 8] = [
    ("as it is", r#""$0" "$@""#),
    (
        "without any variable",
        r#"env -i ATTACK="$ATTACK" ATTACK_HOSTS="$ATTACK_HOSTS" "$0" "$@""#,
    ),
    ("in a session of its own", r#"setsid -w "$0" "$@""#),
    (
        "forked twice",
        r#"rm -f twice; (sh -c '"$0" "$@"; echo $? > twice.new; mv twice.new twice' "$0" "$@" &); while ! test -f twice; do sleep 0.02; done; exit $(cat twice)"#,
    ),
    (
        "left behind in a session of its own",
        r#"rm -f left; setsid -f env -i ATTACK="$ATTACK" ATTACK_HOSTS="$ATTACK_HOSTS" PATH="$PATH" sh -c 'sleep 0.2; "$0" "$@"; echo $? > left.new; mv left.new left' "$0" "$@"; while ! test -f left; do sleep 0.02; done; exit $(cat left)"#,
    ),
    (
        "by the name of the daemon",
        r#"ln -sf "$0" ./mission; ./mission "$@""#,
    ),
    (
        "out of its control group",
        r#"echo $$ > /sys/fs/cgroup/cgroup.procs 2>/dev/null; "$0" "$@""#,
    ),
    (
        "by another name of the home",
        r#"ln -sfn "$ATTACK_HOSTS" elsewhere; ATTACK_HOSTS="$PWD/elsewhere" "$0" "$@""#,
    ),
];

/// A line that runs `attack_hosts::from_inside` for one attack.
fn line(home: &TestHome, attack: &str, way: &str) -> String {
    let own = std::env::current_exe().unwrap();
    format!(
        "ATTACK={attack} ATTACK_HOSTS={} sh -c {} {} --ignored --exact \
         attack_hosts::from_inside --nocapture > out 2>&1; \
         echo \"$?|$(grep -c '1 passed' out)|$(tr '\\n' ' ' < out)\"\n",
        quoted(&home.home().slots_dir().display().to_string()),
        quoted(way),
        quoted(&own.display().to_string()),
    )
}

fn assert_each_passed(said: &str, count: usize) {
    let lines: Vec<_> = said.lines().filter(|line| line.contains('|')).collect();
    assert_eq!(lines.len(), count, "{said}");
    for line in lines {
        assert!(line.starts_with("0|1|"), "{line}");
    }
}

/// The refusals that are on the timeline, oldest first.
fn refused(home: &TestHome) -> Vec<Value> {
    let events = home.events().into_iter();
    let refused = events.filter(|event| event["event"]["type"] == "authority_refused");
    refused.map(|event| event["event"].clone()).collect()
}

#[test]
fn a_terminal_is_spoken_to_by_its_daemon_alone() {
    let home = TestHome::started();
    spawn(&home, "sibling", "echo ready; cat");
    wait_for_text(&home, "sibling", "ready");
    let script: String = WAYS
        .iter()
        .map(|(_, way)| line(&home, "speak", way))
        .collect();
    inside(&home, "attacker", &script);
    assert_each_passed(&said(&home, "attacker"), WAYS.len());
    for slot in ["sibling", "attacker"] {
        let shown = text_of(&screen(&home, slot));
        assert!(!shown.contains(PUSHED), "{slot}: {shown}");
    }

    // It is on record as the agent's, on the timeline and in the audit.
    let slots = home.call("slot_list", &json!({}))["slots"].clone();
    let slots = slots.as_array().unwrap();
    let attacker = slots.iter().find(|slot| slot["name"] == "attacker");
    let attacker = &attacker.unwrap()["slot"];
    wait_for("an incident", || {
        let incidents = home.call("incident_list", &json!({}))["incidents"].to_string();
        incidents.contains("authority_refused")
    });
    let refused = refused(&home);
    assert!(!refused.is_empty());
    for event in &refused {
        assert_eq!(&event["slot"], attacker, "{event}");
        assert_eq!(event["operation"], "terminal of a slot", "{event}");
    }
    let reasons = json!(refused).to_string();
    assert!(reasons.contains("terminal of slot sibling"), "{reasons}");
    let audited = home.call("audit_list", &json!({ "kind": "refusal" }));
    let newest = &audited["records"][0];
    assert_eq!(newest["action"], "terminal of a slot", "{audited}");
    assert_eq!(newest["who"]["kind"], "agent", "{audited}");
}

#[test]
fn the_lock_of_a_dead_daemon_lets_nobody_of_a_slot_in_and_the_next_daemon_is_served() {
    let home = TestHome::started();
    spawn(&home, "sibling", "echo ready; cat");
    wait_for_text(&home, "sibling", "ready");
    let mission = quoted(&binary().display().to_string());
    let script = format!(
        "while ! test -f gone; do sleep 0.05; done\n{}\
         {mission} daemon start 2> start.err && echo started\n\
         {mission} daemon run 2> run.err && echo ran\n",
        line(&home, "hold-the-lock", r#""$0" "$@""#),
    );
    inside(&home, "attacker", &script);
    home.kill();
    std::fs::write(home.path().join("gone"), "").unwrap();
    let said = said(&home, "attacker");
    assert_each_passed(&said, 1);
    // Nor does a daemon begin there.
    assert!(!said.contains("started") && !said.contains("ran"), "{said}");
    for file in ["start.err", "run.err"] {
        let why = std::fs::read_to_string(home.path().join(file)).unwrap();
        assert!(why.contains("this is the slot attacker"), "{why}");
    }
    home.start();
    let shown = wait_for_text(&home, "sibling", "ready");
    assert!(!text_of(&shown).contains(PUSHED));
    home.json(&["slot", "send", "sibling", "from the person"]);
    wait_for_text(&home, "sibling", "from the person");
    // The host has kept it for the daemon that came.
    wait_for("the refusals to be on record", || {
        json!(refused(&home))
            .to_string()
            .contains("terminal of slot sibling")
    });
}

#[test]
fn a_socket_and_a_record_of_a_host_that_an_agent_made_are_not_believed() {
    let home = TestHome::started();
    let sibling = spawn(&home, "sibling", "echo ready; cat");
    wait_for_text(&home, "sibling", "ready");
    let mission = quoted(&binary().display().to_string());
    // It comes to be somebody whose host nobody knows of.
    let script = format!(
        "{}{mission} --no-start call permission_add \
         '{{\"effect\":\"allow\",\"subject\":{{\"tool\":\"Bash\"}}}}' 2> why; echo \"code $?\"\n",
        line(&home, "pose", r#""$0" "$@""#),
    );
    inside(&home, "attacker", &script);
    wait_for("the socket to be another", || {
        home.path().join("posing").exists()
    });
    home.kill();
    home.start();
    std::fs::write(home.path().join("restarted"), "").unwrap();
    // Its own slot has no record any more, but what it says is in its file.
    let said = said(&home, "attacker");
    assert_each_passed(&said, 1);
    assert!(!said.contains("code 0"), "{said}");
    let why = std::fs::read_to_string(home.path().join("why")).unwrap();
    assert!(why.contains("is for a person"), "{why}");
    let rules = home.call("permission_list", &json!({}))["rules"].to_string();
    assert!(!rules.contains("\"added\""), "{rules}");

    let names = home.call("slot_list", &json!({}))["slots"].to_string();
    assert!(!names.contains("invented"), "{names}");
    let reasons = json!(refused(&home)).to_string();
    let stood = "stood where the terminal of slot";
    for name in ["sibling", "invented"] {
        assert!(reasons.contains(&format!("{stood} {name}")), "{reasons}");
    }
    // Nobody could look after what ran there.
    let program = u32::try_from(sibling["program"]["pid"].as_u64().unwrap()).unwrap();
    wait_for("the sibling to be ended", || {
        !missiond_os::processes::process_exists(program)
    });
    let names = home.call("slot_list", &json!({}))["slots"].to_string();
    assert!(!names.contains("sibling"), "{names}");
}

/// Nothing is above it any more that tells where it comes from.
#[test]
fn what_has_killed_its_own_host_is_no_person_and_speaks_to_no_terminal() {
    let home = TestHome::started();
    spawn(&home, "sibling", "echo ready; cat");
    wait_for_text(&home, "sibling", "ready");
    let mission = quoted(&binary().display().to_string());
    let speaks = line(&home, "speak-to-the-sibling", r#""$0" "$@""#);
    let left = format!(
        "while kill -0 $HOST 2>/dev/null && ! grep -q '^State:.Z' /proc/$HOST/status; do sleep 0.05; done\n\
         sleep 0.5\n\
         {mission} --no-start call permission_add \
         '{{\"effect\":\"allow\",\"subject\":{{\"tool\":\"Bash\"}}}}' 2> why; echo \"code $?\" > said\n\
         {mission} --no-start call slot_list > looked 2>&1\n\
         {{ {} ; }} >> said\nmv said done\n",
        speaks.trim_end(),
    );
    std::fs::write(home.path().join("left.sh"), left).unwrap();
    let script = "export HOST=$(awk '/^PPid/ {print $2}' /proc/$PPID/status)\n\
                  setsid -f sh left.sh > /dev/null 2>&1\nsleep 0.5\nkill -9 $HOST\n";
    inside(&home, "attacker", script);
    if let Containment::Cgroup(_) = containment() {
        eprintln!("with control groups what is left behind ends with the host");
        return;
    }
    let done = home.path().join("done");
    wait_for("the one that was left behind", || done.exists());
    let said = std::fs::read_to_string(done).unwrap();
    assert!(!said.contains("code 0"), "{said}");
    let why = std::fs::read_to_string(home.path().join("why")).unwrap();
    assert!(why.contains("is for a person"), "{why}");
    let spoken: String = said.lines().skip(1).collect();
    assert_each_passed(&spoken, 1);
    let looked = std::fs::read_to_string(home.path().join("looked")).unwrap();
    assert!(looked.contains("sibling"), "it may look: {looked}");
    assert!(!text_of(&screen(&home, "sibling")).contains(PUSHED));
    let slots = home.call("slot_list", &json!({}))["slots"].to_string();
    assert!(!slots.contains("attacker"), "its host is gone: {slots}");
}

/// What the test before hangs on, where agents are not the root user.
#[test]
fn the_mark_of_a_slot_is_not_taken_off_by_a_plain_user() {
    use std::os::unix::process::CommandExt;
    let mut shell = std::process::Command::new("bash");
    let script = "ulimit -x 1000; ulimit -H -x unlimited 2> /dev/null; ulimit -H -x";
    shell.args(["-c", script]).current_dir("/");
    if rustix::process::geteuid().is_root() {
        shell.uid(65534);
    }
    let said = shell.output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap().trim(), "1000");
}

/// The attacks once more, with control groups where this machine has none for us, and without
/// where it has.
#[test]
fn it_is_the_same_with_control_groups_and_without() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only the root user can mount");
        return;
    }
    let (mount, then) = match containment() {
        Containment::Cgroup(_) => ("tmpfs", "without-control-groups"),
        Containment::ProcessGroup(_) => ("cgroup2", "with-control-groups"),
    };
    let script =
        format!("mount -t {mount} none /sys/fs/cgroup || exit 77; exec \"$0\" --exact \"$@\"");
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new("unshare")
            .args(["--mount", "sh", "-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args(arguments)
            .env("ATTACK", then)
            .env("ATTACK_HOSTS", "")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), format!("{said}{why}"))
    };
    let (code, said) = run(&["attack_hosts::from_inside", "--ignored"]);
    if code == Some(77) {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(said.contains("1 passed"), "{said}");
    for test in [
        "attack_hosts::a_terminal_is_spoken_to_by_its_daemon_alone",
        "attack_ways::no_way_out_of_a_slot_makes_a_person",
    ] {
        let (code, said) = run(&[test]);
        assert_eq!(code, Some(0), "{then}: {said}");
        assert!(said.contains("1 passed"), "{said}");
    }
}

/// What is run inside a slot; alone it tries nothing.
#[test]
#[ignore = "run by the other tests of this file, inside a slot"]
fn from_inside() {
    let Ok(attack) = std::env::var("ATTACK") else {
        return;
    };
    let hosts = PathBuf::from(std::env::var_os("ATTACK_HOSTS").unwrap());
    match attack.as_str() {
        "speak" => speak_to_each(&hosts, 2),
        "speak-to-the-sibling" => speak_to_each(&hosts, 1),
        "hold-the-lock" => {
            let lock = hosts.with_file_name("daemon.lock");
            let lock = std::fs::File::options()
                .read(true)
                .write(true)
                .open(lock)
                .unwrap();
            lock.try_lock().unwrap();
            speak_to_each(&hosts, 2);
        }
        "pose" => pose(&hosts),
        "with-control-groups" => assert!(matches!(containment(), Containment::Cgroup(_))),
        "without-control-groups" => {
            assert!(matches!(containment(), Containment::ProcessGroup(_)));
        }
        other => panic!("there is no attack {other}"),
    }
}

fn sockets(hosts: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(hosts).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "sock")
        })
        .collect()
}

/// Says hello to each host, and types; whoever may speak there would be answered.
fn speak_to_each(hosts: &Path, count: usize) {
    let sockets = sockets(hosts);
    assert_eq!(sockets.len(), count);
    for path in sockets {
        let mut stream = UnixStream::connect(&path).unwrap();
        let limit = Some(REFUSED_WITHIN);
        stream.set_read_timeout(limit).unwrap();
        let mut says = [&[9, 0, 0, 0, b'h'][..], &[0; 8]].concat();
        let length = u32::try_from(PUSHED.len() + 2).unwrap();
        says.extend(length.to_le_bytes());
        says.push(b'i');
        says.extend(PUSHED.as_bytes());
        says.push(b'\r');
        let _ = stream.write_all(&says);
        let heard = stream.read(&mut [0; 64]);
        let is_closed = match &heard {
            Ok(read) => *read == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        };
        assert!(is_closed, "{}: {heard:?}", path.display());
    }
}

/// Takes the place of the sibling's socket, makes its own record name itself and invents a
/// third host; then waits for whoever comes.
fn pose(hosts: &Path) {
    let record = |path: &Path| -> Value {
        let json = std::fs::read(path.with_extension("json")).unwrap();
        serde_json::from_slice(&json).unwrap()
    };
    let mut listeners = Vec::new();
    for path in sockets(hosts) {
        let mut record = record(&path);
        if record["name"] == "sibling" {
            std::fs::remove_file(&path).unwrap();
            listeners.push(UnixListener::bind(&path).unwrap());
            continue;
        }
        let own = std::process::id();
        let start = missiond_os::processes::process_start(own).unwrap();
        record["host_pid"] = json!(own);
        record["host_start_ticks"] = json!(start);
        std::fs::write(path.with_extension("json"), record.to_string()).unwrap();
        let invented = missiond_core::SlotId::generate();
        let path = hosts.join(format!("{invented}.sock"));
        record["slot"] = json!(invented);
        record["name"] = json!("invented");
        std::fs::write(path.with_extension("json"), record.to_string()).unwrap();
        listeners.push(UnixListener::bind(&path).unwrap());
    }
    assert_eq!(listeners.len(), 2);
    std::fs::write("posing", "").unwrap();
    let deadline = Instant::now() + 2 * REFUSED_WITHIN;
    let mut visitors = 0;
    let mut patience = None;
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
    }
    while patience.is_none_or(|end| Instant::now() < end) {
        let is_late = Instant::now() >= deadline;
        assert!(!is_late, "nobody came to the sibling's socket");
        for listener in &listeners {
            if let Ok((mut stream, _)) = listener.accept() {
                visitors += 1;
                stream.set_nonblocking(false).unwrap();
                let limit = Some(REFUSED_WITHIN);
                stream.set_read_timeout(limit).unwrap();
                let heard = stream.read(&mut [0; 64]);
                assert!(matches!(heard, Ok(0)), "it was spoken to: {heard:?}");
            }
        }
        // The daemon serves before it has been at every host.
        let is_restarted = visitors > 0 && Path::new("restarted").exists();
        if patience.is_none() && is_restarted {
            patience = Some(Instant::now() + Duration::from_secs(1));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
