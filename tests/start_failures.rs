//! A daemon that cannot come up says why, in one sentence, and leaves things as
//! they were.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::TestHome;

#[test]
fn a_typo_in_the_configuration_is_named_with_its_line() {
    let home = TestHome::with_config("# mine\n[ipc]\nmax_conections = 5\n");
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 7);
    let file = home.home().config_file();
    assert_eq!(
        message,
        format!(
            "error: the daemon did not start: {}, line 3: unknown key `ipc.max_conections`; did \
             you mean `ipc.max_connections`?\nhint: `ipc.max_conections` stands in {}: `mission \
             config unset ipc.max_conections` takes it out",
            file.display(),
            file.display()
        )
    );
    let (code, message) = home.failure(&["config", "check"]);
    assert_eq!(code, 7);
    assert!(message.contains("line 3"), "{message}");
    let (code, message) = home.failure(&["timeline", "query"]);
    assert_eq!((code, message.contains("line 3")), (7, true), "{message}");
    let unset = home.json(&["config", "unset", "ipc.max_conections"]);
    assert_eq!(unset["effect"], "restart", "{unset}");
    home.start();
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let home = TestHome::new();
    let database = home.home().database();
    std::fs::create_dir_all(database.parent().unwrap()).unwrap();
    let garbage = b"these are my holiday notes, not a database. ".repeat(100);
    std::fs::write(&database, &garbage).unwrap();
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 8, "{message}");
    assert!(
        message.contains(&database.display().to_string()),
        "{message}"
    );
    assert_eq!(std::fs::read(&database).unwrap(), garbage);
}

#[test]
fn a_damaged_database_is_reported_and_left_alone() {
    let home = TestHome::started();
    for number in 0..50 {
        home.json(&["timeline", "note", &format!("note {number}")]);
    }
    home.json(&["daemon", "stop"]);
    let database = home.home().database();
    let mut bytes = std::fs::read(&database).unwrap();
    // Everything after the first page: the header still looks right.
    for byte in &mut bytes[4096..] {
        *byte = 0xA5;
    }
    std::fs::write(&database, &bytes).unwrap();
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 8, "{message}");
    assert!(
        message.contains(&database.display().to_string()),
        "{message}"
    );
    assert!(message.contains("damaged"), "{message}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = TestHome::new();
    let output = home
        .command(&["daemon", "start"])
        .env("MISSION_HOME", "/proc/mission-test")
        .output()
        .unwrap();
    let message = crate::harness::text(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{message}");
    assert!(
        message.contains("cannot create the folder /proc/mission-test/data"),
        "{message}"
    );

    std::fs::write(home.path().join("data"), "in the way").unwrap();
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 8, "{message}");
    assert!(message.contains("/data: "), "{message}");
    says_why_it_cannot_start(&home, "data folder", "is not a folder: move it away");
}

/// Where no daemon can start, `mission`, `mission status` and `mission doctor` say why, and
/// none of them says that it could.
fn says_why_it_cannot_start(home: &TestHome, check: &str, why: &str) {
    let printed = |args: &[&str]| {
        let output = home.mission(args);
        (output.status.code(), crate::harness::text(&output.stdout))
    };
    let (code, status) = printed(&["status"]);
    assert_eq!(code, Some(3), "{status}");
    assert!(status.contains("it cannot start:"), "{status}");
    let (code, doctor) = printed(&["doctor"]);
    assert_eq!(code, Some(1), "{doctor}");
    assert!(
        doctor.contains(&format!("it cannot start: see `{check}`")),
        "{doctor}"
    );
    let (_, bare) = printed(&[]);
    for said in [&status, &doctor, &bare] {
        assert!(said.contains(why), "{said}");
        assert!(!said.contains("`mission up` starts it"), "{said}");
    }
    let stopped = home.mission(&["--json", "status"]);
    let stopped: serde_json::Value = serde_json::from_slice(&stopped.stdout).unwrap();
    assert_eq!(stopped["cannot_start"]["check"], check);
}

#[test]
fn whatever_keeps_a_daemon_from_starting_is_said_without_starting_one() {
    let home = TestHome::with_config("[http]\nlistn = \"127.0.0.1:0\"\n");
    says_why_it_cannot_start(&home, "configuration", "`http.listn`");

    let folder = home.path().join("open");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let place = folder.display().to_string();
    home.write_config(&format!("[log]\ndirectory = \"{place}\"\n"));
    says_why_it_cannot_start(&home, "log", "other users may write there");
    home.write_config(&format!("[ipc]\nsocket_path = \"{place}/socket\"\n"));
    says_why_it_cannot_start(&home, "socket", "other users may enter it");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(folder.join("socket"), "in the way").unwrap();
    says_why_it_cannot_start(&home, "socket", "is not a socket");

    home.write_config("");
    let database = home.home().database();
    std::fs::create_dir_all(database.parent().unwrap()).unwrap();
    std::fs::write(&database, "some other file, and not a short one").unwrap();
    says_why_it_cannot_start(&home, "database", "is not a mission database");
    std::fs::remove_file(&database).unwrap();

    home.write_config("[daemon]\nenabled = false\n");
    let status = crate::harness::text(&home.mission(&["status"]).stdout);
    assert!(status.contains("`daemon.enabled` is false"), "{status}");
    let doctor = home.mission(&["doctor"]);
    let said = crate::harness::text(&doctor.stdout);
    assert!(said.contains("warn  configuration"), "{said}");
    assert!(said.contains("warn  daemon"), "{said}");
}

#[test]
fn a_link_to_nowhere_in_place_of_the_database_is_refused() {
    let home = TestHome::new();
    let database = home.home().database();
    std::fs::create_dir_all(database.parent().unwrap()).unwrap();
    symlink("/nonexistent/folder/elsewhere.db", &database).unwrap();
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 8, "{message}");
}

#[test]
fn a_port_in_use_is_named_with_the_key_to_change() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let home = TestHome::with_config(&format!("[http]\nlisten = \"{address}\"\n"));
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 7, "{message}");
    assert!(
        message.contains(&format!("cannot listen on {address}")),
        "{message}"
    );
    assert!(message.contains("`http.listen`"), "{message}");
    says_why_it_cannot_start(&home, "HTTP port", &address.to_string());
    assert!(!home.home().socket().exists());
    home.write_config("[http]\nenabled = false\n");
    home.start();
    assert_eq!(home.json(&["status"])["http"], serde_json::json!(null));
}

#[test]
fn a_home_that_is_too_deep_for_a_socket_is_named() {
    let home = TestHome::new();
    let deep = home.path().join("d".repeat(100));
    let output = home
        .command(&["daemon", "start"])
        .env("MISSION_HOME", deep)
        .output()
        .unwrap();
    let message = crate::harness::text(&output.stderr);
    assert!(!output.status.success());
    assert!(
        message.contains("set `ipc.socket_path`, MISSION_HOME or XDG_RUNTIME_DIR"),
        "{message}"
    );
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let home = TestHome::started();
    home.json(&["daemon", "stop"]);
    let database = rusqlite::Connection::open(home.home().database()).unwrap();
    database
        .execute(
            "INSERT INTO schema_migrations (version, name, checksum, applied_at) \
             VALUES (9999, 'future', 'x', 0)",
            [],
        )
        .unwrap();
    drop(database);
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 3, "{message}");
    assert!(message.contains("9999"), "{message}");
}
