//! What a structured agent says it has changed in files is in the journal of its run.

use serde_json::json;

use crate::harness::{TestHome, text};

const SCRIPT: &str = r#"
rehearsal: 1
turns:
  - uses: always
    steps:
      - write: {file: note.txt, text: "one\ntwo\n"}
      - edit: {file: note.txt, replace: two, with: "three\nfour"}
"#;

#[test]
fn a_changed_file_is_on_record_with_its_lines_and_without_its_text() {
    let home = TestHome::started();
    let folder = home.path().join("project");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("script.yaml"), SCRIPT).unwrap();
    let mut run = home.command(&[
        "run",
        "go",
        "--engine",
        "rehearsal",
        "--control",
        "structured",
        "--name",
        "work",
        "--wait",
        "--json",
        "--",
        "script.yaml",
        "--speed",
        "50",
    ]);
    let run = run.current_dir(&folder).output().unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
    let params = json!({"execution": "work", "limit": 500, "data": true});
    let page = home.call("execution_journal", &params);
    let changes = page["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|record| {
            let fact = &record["data"]["observed"]["fact"];
            (fact["type"] == "file_change").then(|| fact["payload"].clone())
        });
    let changes: Vec<_> = changes.collect();
    let path = folder.canonicalize().unwrap().join("note.txt");
    let lines: Vec<_> = changes
        .iter()
        .map(|change| {
            assert_eq!(change["path"], json!(path), "{changes:?}");
            assert_eq!(change["digest"].as_str().unwrap().len(), 64);
            (change["added"].as_u64(), change["removed"].as_u64())
        })
        .collect();
    assert_eq!(lines, [(Some(2), Some(0)), (Some(2), Some(1))]);
    let told = json!(changes).to_string();
    assert!(!told.contains("three"), "{told}");
    let shown = home.json(&["execution", "show", "work"]);
    let shown = shown["timeline"].as_array().unwrap().iter();
    let shown = shown.filter(|item| item["title"] == "file changed");
    assert_eq!(shown.count(), 2);
}
