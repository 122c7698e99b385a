//! Pictures for sizes, names and colours.

use missiond_api::operations::overview::OverviewReport;
use serde_json::json;

use super::*;

fn overview(title: &str) -> OverviewReport {
    let line = |kind: &str, title: &str| {
        json!({
            "kind": kind, "title": title, "task": "T-10",
            "repository": {"name": "calc", "path": "/src/calc"},
            "slot": "t-10", "engine": "claude", "activity": "Edits src/a.py",
            "started_at": "2026-01-04T12:00:00Z", "since": "2026-01-04T12:00:00Z",
            "holds_place": true,
            "tokens": {"input": 31000, "output": 0, "cache_read": 0, "cache_write": 0,
                       "counted": 31000},
            "cost": {},
        })
    };
    let mut asks = line("asks", title);
    asks["activity"] = json!("Asks: May it run pip install numpy?");
    asks["question"] = json!({
        "number": 3, "question": "Do you want to proceed?",
        "headline": "May it run pip install numpy?", "options": ["Allow", "Deny"],
    });
    let report = json!({
        "at": "2026-01-04T12:04:00Z", "autopilot": "running", "agents": 2, "max_agents": 4,
        "ready": 1, "waiting": 0, "needs_you": [asks],
        "working": [line("works", title), line("checks", "Another task")],
        "idle": [line("idle", title)], "finished": [], "incidents": [], "terminals": [], "left_out": 0,
        "tokens_today": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0,
                         "counted": 0},
        "cost_today": {},
    });
    serde_json::from_value(report).unwrap()
}

fn picture(overview: &OverviewReport, columns: u16, rows: u16, selected: usize) -> Vec<String> {
    let view = View {
        overview: Some(overview),
        trouble: "",
        now: overview.at,
        selected: Some(selected),
        mode: Mode::List,
        notice: None,
    };
    draw(&view, Size { columns, rows }, Paint::plain())
}

#[test]
fn every_size_and_name_fits() {
    for title in [
        "Square roots",
        "平方根を計算する関数を追加して、テストも書く",
        "👩‍💻 emoji 🎉 in a title that is much longer than any narrow terminal is wide",
        "e\u{301}tude",
    ] {
        let overview = overview(title);
        for columns in [2, 10, 40, 75, 76, 120, 300] {
            for rows in [1, 2, 3, 10, 50] {
                let picture = picture(&overview, columns, rows, 1);
                assert_eq!(picture.len(), usize::from(rows));
                for row in picture {
                    assert!(row.width() <= usize::from(columns), "{columns}: {row}");
                }
            }
        }
    }
}

#[test]
fn a_wide_picture_has_a_row_for_each_and_the_options_of_a_question() {
    let overview = overview("Square roots");
    let picture = picture(&overview, 120, 20, 0);
    let text = picture.join("\n");
    assert!(
        text.contains("› T-10 Square roots (calc, claude)"),
        "{text}"
    );
    assert!(text.contains("    1 Allow · 2 Deny"), "{text}");
    assert!(text.contains("Needs you (1)") && text.contains("Working (2)"));
    assert!(text.contains("waits 4 min · 31 k tokens"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours were asked for");
}

#[test]
fn what_is_selected_is_always_seen() {
    let overview = overview("Square roots");
    for selected in 0..3 {
        let text = picture(&overview, 40, 5, selected).join("\n");
        assert!(text.contains('›'), "{selected}: {text}");
    }
}
