//! Secrets of a limit that a vendor tells, and of a file of passwords.

use missiond_secrets::{Detector, corpus};
use serde_json::json;

use super::{Canary, assert_none_is_held};
use crate::autopilot::Field;

/// What a vendor says of its limit, which its task is parked with, and a line of `.pgpass`
/// among other words.
#[test]
fn no_secret_of_a_limit_or_a_password_file_is_in_any_file() {
    let detector = Detector::current();
    let short = corpus::samples(2_032, 400)
        .into_iter()
        .filter_map(|sample| {
            let secret = sample.text[sample.secret?].to_owned();
            let text = sample.text.trim_end().to_owned();
            let fits = text.len() <= 50
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !b"\"'{}\\#".contains(&byte));
            let said = format!("Claude usage limit reached for {text}, resets in 2 s");
            let found = detector.scan(said.as_bytes());
            (fits && secret.len() >= 10 && found.len() == 1).then_some(Canary { text, secret })
        });
    let mut canaries: Vec<Canary> = short.take(2).collect();
    assert_eq!(canaries.len(), 2);
    let field = Field::with_config("[autopilot]\nsettle_ms = 200\n");
    let sessions = field.home.home().data_dir().join("rehearsals");
    for (number, canary) in canaries.iter().enumerate() {
        let said = format!(
            "Claude usage limit reached for {}, resets in 2 s",
            canary.text
        );
        let message = json!({
            "id": "m1", "role": "assistant", "content": [{"type": "text", "text": said}],
        });
        let notice = field.file(&format!("notice-{number}"));
        let line = json!({"type": "assistant", "message": message});
        std::fs::write(&notice, format!("{line}\n")).unwrap();
        let command = format!(
            "cat '{}' >> '{}'/{{{{session}}}}.jsonl",
            notice.display(),
            sessions.display()
        );
        let turns = format!(
            "  - steps:\n      - run: {{argv: [sh, -c, {}]}}\n  - when: {{contains: go on}}\n    \
             steps:\n      - write: {{file: {number}.txt, text: \"x\\n\"}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
            json!(command)
        );
        let task = field.task(&format!("limited {number}"), &turns, json!({}));
        field.wait_status(&task, "done");
    }
    assert_eq!(field.events("usage_limit_reached").len(), canaries.len());
    let line = Canary {
        text: "db.example.net:5432:app:me:k3Xq9Lw2Rt7".to_owned(),
        secret: "k3Xq9Lw2Rt7".to_owned(),
    };
    let home = &field.home;
    let sentence = format!("Put {} into the file.", line.text);
    home.json(&["kb", "remember", &sentence]);
    home.json(&["timeline", "note", &sentence]);
    home.json(&["task", "add", "a task", "--description", &sentence]);
    canaries.push(line);
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}
