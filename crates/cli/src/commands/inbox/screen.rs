//! The picture of the inbox: the questions, and below them all of the one that is marked.
//! Nothing here knows a terminal.

use missiond_core::{Question, QuestionNumber, QuestionOrigin, Timestamp, one_line};
use missiond_semantic::Size;

use crate::commands::status::screen::wrapped;
use crate::output::fitted;
use crate::term::{Paint, Style, duration, printable};

/// What is shown.
pub(super) struct View<'a> {
    pub(super) questions: Option<&'a [Question]>,
    /// What is said when there are none to show.
    pub(super) trouble: &'a str,
    pub(super) now: Timestamp,
    pub(super) marked: Option<QuestionNumber>,
    /// The answer that is being typed.
    pub(super) typing: Option<&'a str>,
    pub(super) help: bool,
    pub(super) notice: Option<&'a str>,
}

const HELP: [&str; 12] = [
    "j k, arrows   mark another question",
    "a             allow it, this once",
    "h             allow this very thing for an hour",
    "d             deny it",
    "1 to 9        choose that option",
    "e, Enter      write an answer; Enter sends it, Esc does not",
    "x             dismiss; who asked goes on waiting",
    "Space, b      scroll what is asked, and back",
    "g G           first, last",
    "q, Ctrl-C     leave",
    "",
    "Any key closes this.",
];

const KEYS: &str = "a allow once · h 1 hour · d deny · 1-9 option · e write · x dismiss · ? help";

type Row = (Option<Style>, String);

/// Exactly as many rows as there is room for, none wider than the room. What is scrolled
/// too far comes back.
pub(super) fn draw(view: &View<'_>, scrolled: &mut usize, size: Size, paint: Paint) -> Vec<String> {
    let (columns, rows) = (usize::from(size.columns), usize::from(size.rows));
    let body = rows.saturating_sub(2);
    let questions = view.questions.unwrap_or_default();
    let header = match view.questions {
        None => view.trouble.to_owned(),
        Some([]) => "Nobody waits for you.".to_owned(),
        Some([_]) => "One question waits for you.".to_owned(),
        Some(all) => format!("{} questions wait for you.", all.len()),
    };
    let mut content: Vec<Row> = Vec::new();
    let mut hint = None;
    if view.help {
        content.extend(HELP.map(|line| (None, line.to_owned())));
    } else {
        let at = questions
            .iter()
            .position(|one| Some(one.number) == view.marked);
        // A third for the list, and more where little is asked.
        let room = questions.len().min((body / 3).max(3)).min(body);
        let first = at.map_or(0, |at| (at + 1).saturating_sub(room));
        for question in questions.iter().skip(first).take(room) {
            let is_marked = Some(question.number) == view.marked;
            let mark = if is_marked { "› " } else { "  " };
            let age = duration(view.now.since(question.asked_at).as_secs());
            let line = format!("{mark}{}  {age:<6} {}", question.number, who(question));
            content.push((is_marked.then_some(Style::Bold), line));
        }
        if let Some(question) = at.map(|at| &questions[at]) {
            content.push((Some(Style::Dim), "─".repeat(columns)));
            let details = details(question, columns);
            let left = body.saturating_sub(content.len());
            *scrolled = (*scrolled).min(details.len().saturating_sub(left));
            let more = details.len().saturating_sub(*scrolled + left);
            hint = (more > 0).then(|| format!("{more} more rows: Space · {KEYS}"));
            content.extend(details.into_iter().skip(*scrolled).take(left));
        }
    }
    let mut picture = Vec::with_capacity(rows);
    picture.push(paint.apply(Style::Bold, &fitted(&header, columns)));
    for (style, text) in content.into_iter().take(body) {
        let text = fitted(&text, columns);
        picture.push(match style {
            Some(style) => paint.apply(style, &text),
            None => text,
        });
    }
    picture.resize(rows.saturating_sub(1).max(1), String::new());
    if rows > 1 {
        let (style, footer) = match (view.typing, view.notice, &hint) {
            (Some(typing), ..) => (
                Style::Bold,
                end_of(&format!("Answer: {}_", printable(typing)), columns),
            ),
            (None, Some(notice), _) => (Style::Yellow, notice.to_owned()),
            (None, None, Some(hint)) => (Style::Yellow, hint.clone()),
            (None, None, None) => (Style::Dim, KEYS.to_owned()),
        };
        picture.push(paint.apply(style, &fitted(&footer, columns)));
    }
    picture.truncate(rows);
    picture
}

/// The end of a line, where it is typed.
fn end_of(line: &str, columns: usize) -> String {
    let length = line.chars().count();
    line.chars()
        .skip((length + 1).saturating_sub(columns))
        .collect()
}

/// Who asks, and what in short.
fn who(question: &Question) -> String {
    let asks = match (&question.task, &question.origin) {
        (Some(task), _) => task.to_string(),
        (None, QuestionOrigin::Dialog { slot_name, .. }) => slot_name.clone(),
        (None, _) => String::new(),
    };
    let headline = one_line(&question.headline);
    let said = if asks.is_empty() {
        headline
    } else {
        format!("{asks}: {headline}")
    };
    printable(&said)
}

/// Everything that is decided on, whole.
fn details(question: &Question, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |style: Option<Style>, text: &str| {
        for line in text.lines() {
            let line = line.replace('\t', "    ");
            rows.extend(
                wrapped_hard(&line, columns)
                    .into_iter()
                    .map(|row| (style, row)),
            );
        }
    };
    add(Some(Style::Yellow), &question.question);
    if let QuestionOrigin::Dialog {
        permission: Some(asked),
        ..
    } = &question.origin
    {
        for (name, value) in [
            ("tool", &asked.tool),
            ("server", &asked.server),
            ("command", &asked.command),
            ("argument", &asked.argument),
            ("file", &asked.path),
        ] {
            if let Some(value) = value {
                add(Some(Style::Bold), &format!("{name:<9} {value}"));
            }
        }
        if asked.shown_in_part {
            add(
                Some(Style::Red),
                "The agent's screen shows only a part of it.",
            );
        }
    }
    if let Some(context) = &question.context {
        for line in context.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => Some(Style::Green),
                Some(b'-') => Some(Style::Red),
                Some(b'@') => Some(Style::Cyan),
                _ => Some(Style::Dim),
            };
            add(style, if line.is_empty() { " " } else { line });
        }
    }
    for (at, option) in question.options.iter().enumerate() {
        add(None, &format!("  {} {}", at + 1, one_line(option)));
    }
    rows
}

/// As [`wrapped`], and a word that is wider than the room is cut too: a command is seen to
/// its end.
fn wrapped_hard(line: &str, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for row in wrapped(line, columns) {
        let mut part = String::new();
        let mut width = 0;
        // The blank a row was cut at is not seen.
        for c in row.trim_end().chars() {
            let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if width + wide > columns.max(2) {
                rows.push(std::mem::take(&mut part));
                width = 0;
            }
            part.push(c);
            width += wide;
        }
        rows.push(part);
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(number: u32, command: &str, context: &str) -> Question {
        serde_json::from_value(json!({
            "id": missiond_core::QuestionId::generate(), "number": number,
            "origin": {
                "kind": "dialog", "slot": missiond_core::SlotId::generate(), "slot_name": "calm-fox",
                "dialog": "x", "allows": "Yes", "denies": "No",
                "permission": { "tool": "Bash", "command": command, "shown_in_part": false },
            },
            "question": "Do you want to proceed?", "headline": format!("May it run {command}?"),
            "context": context, "options": ["Yes", "No"], "blocks": 0,
            "asked_at": "2026-01-04T12:00:00Z", "status": "pending",
        }))
        .unwrap()
    }

    fn picture(questions: &[Question], scrolled: &mut usize, size: (u16, u16)) -> Vec<String> {
        let view = View {
            questions: Some(questions),
            trouble: "",
            now: questions[0].asked_at,
            marked: Some(questions[0].number),
            typing: None,
            help: false,
            notice: None,
        };
        let size = Size {
            columns: size.0,
            rows: size.1,
        };
        draw(&view, scrolled, size, Paint::plain())
    }

    #[test]
    fn the_command_is_seen_whole_at_every_size() {
        let command = format!("curl https://example.net/{} -o out", "a".repeat(150));
        let questions = [
            question(7, &command, "@@ line 1 @@\n-old\n+new"),
            question(8, "ls", ""),
        ];
        for size in [(80, 24), (40, 12), (20, 10)] {
            let mut seen = String::new();
            let mut scrolled = 0;
            loop {
                let rows = picture(&questions, &mut scrolled, size);
                assert_eq!(rows.len(), usize::from(size.1));
                for row in &rows {
                    let width = unicode_width::UnicodeWidthStr::width(row.as_str());
                    assert!(width <= usize::from(size.0), "{row}");
                    seen.push_str(row.trim_end());
                }
                let before = scrolled;
                scrolled += 1;
                picture(&questions, &mut scrolled, size);
                if scrolled == before {
                    break;
                }
            }
            let seen: String = seen.chars().filter(|c| !c.is_whitespace()).collect();
            let address = "a".repeat(usize::from(size.0) / 2);
            for part in [
                "Doyou", &address, "-oout", "+new", "-old", "1Yes", "2No", "Q-8",
            ] {
                assert!(seen.contains(part), "{part} at {size:?}: {seen}");
            }
        }
    }

    #[test]
    fn what_an_agent_wrote_moves_no_cursor() {
        let questions = [question(
            1,
            "echo \u{1b}[2J\u{202e}x",
            "\u{1b}]0;title\u{7}",
        )];
        let rows = picture(&questions, &mut 0, (80, 24)).join("\n");
        assert!(
            !rows.contains('\u{1b}') && !rows.contains('\u{202e}'),
            "{rows:?}"
        );
    }
}
