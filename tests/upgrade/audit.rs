//! The audit and an upgrade that is taken back with its database.

use serde_json::{Value, json};

use super::{Site, newer};
use crate::harness::{binary, text};

/// A new version that came up, put things on record, changed the schema and then was none: what
/// it left in the audit is no sign that somebody has been at the database.
#[test]
fn the_audit_is_intact_after_a_version_that_migrated_is_taken_back() {
    let site = Site::new();
    site.done(&["daemon", "start"]);
    site.done(&["permission", "add", "deny", "--tool", "Before"]);
    let database = site.home.home().database();
    let examples = binary().parent().unwrap().join("examples");
    let daemon = format!(
        "'{mission}' daemon run > /dev/null 2>&1 & \
         until '{mission}' --no-start permission add deny --tool New > /dev/null 2>&1; do sleep 0.1; done; \
         '{mission}' timeline note 'of the new one' > /dev/null; \
         '{mission}' daemon stop > /dev/null; wait; \
         '{older}' '{database}' newer; exit 1",
        mission = binary().display(),
        older = examples.join("older_database").display(),
        database = database.display(),
    );
    site.release(&newer(&daemon));
    let (archive, key) = (site.archive(), site.key());
    let (code, why) = site.refused(&["upgrade", &archive, "--key", &key]);
    assert_eq!(code, Some(1), "{why}");
    assert!(
        why.contains("the database is as it was before the upgrade"),
        "{why}"
    );
    assert!(!why.contains("could not be put on record"), "{why}");
    let rules = site.done(&["permission", "list"]).to_string();
    assert!(
        rules.contains("Before") && !rules.contains("\"New\""),
        "{rules}"
    );

    let intact = |when: &str| {
        let output = site.run(&["--json", "audit", "verify"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["findings"], json!([]), "{when}");
    };
    intact("with the old version running again");
    let listed = text(
        &site
            .run(&["--json", "audit", "list", "--limit", "1000"])
            .stdout,
    );
    assert!(listed.contains("put back database"), "{listed}");
    assert!(
        listed.contains("New"),
        "what it did stays on record: {listed}"
    );
    // Goes on from there: another rule, another event and a stop, which puts both on record.
    site.done(&["permission", "add", "deny", "--tool", "After"]);
    site.done(&["daemon", "stop"]);
    intact("after it stopped");
    let saved = site.path("saved.db");
    std::fs::copy(&database, &saved).unwrap();
    site.done(&["daemon", "start"]);
    site.done(&["permission", "add", "deny", "--tool", "Later"]);
    site.done(&["daemon", "stop"]);
    intact("after another start");
    // Whoever puts a database back themselves is found out as before.
    std::fs::copy(&saved, &database).unwrap();
    let output = site.run(&["--json", "audit", "verify"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.to_string().contains("set_back"), "{report}");
}
