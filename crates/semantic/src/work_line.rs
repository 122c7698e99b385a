//! The last line of an agent's work on its screen: what stands above the prompt,
//! without what draws the screen.

use crate::manifest::Manifest;
use crate::region::{Regions, unframed};
use crate::screen::Screen;

/// More than this is cut.
const LONGEST: usize = 200;

/// What a row begins with that shows what a person said.
const SAID_BY_PERSON: [char; 5] = ['❯', '›', '▸', '>', '$'];

pub(crate) fn find_work_line(
    manifest: &Manifest,
    screen: &Screen,
    regions: &Regions,
) -> Option<String> {
    let prompts = manifest.input.prompts.iter();
    let prompt = prompts.filter_map(|rule| regions.rows(rule.region)).next();
    let used = screen.last_used_row()? + 1;
    let end = prompt.map_or(used, |rows| rows.start.min(used));
    let rows = screen.rows[..end].iter().rev();
    rows.map(|row| row.text.as_str()).find_map(work)
}

/// What a row says of the work, if it does.
fn work(row: &str) -> Option<String> {
    let text = unframed(row);
    if text.starts_with(SAID_BY_PERSON) || text.contains("to interrupt") {
        return None;
    }
    // A spinner: a word in the making and three dots.
    let turning = |c: char| !c.is_ascii() && !c.is_alphanumeric();
    if text.ends_with('…') && text.starts_with(turning) && text.split_whitespace().count() <= 3 {
        return None;
    }
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || turning(c));
    if text.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
        return None;
    }
    Some(text.chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::screen::Size;

    fn line(engine: &str, lines: &[&str]) -> Option<String> {
        let size = Size {
            columns: 60,
            rows: 12,
        };
        let screen = Screen::from_lines(size, lines.iter().copied());
        let manifest = Catalogue::shipped().unwrap();
        let manifest = manifest.get(engine).unwrap();
        let regions = Regions::find(&manifest.regions, &screen);
        find_work_line(manifest, &screen, &regions)
    }

    #[test]
    fn what_draws_the_screen_is_no_work() {
        let shown = line(
            "rehearsal",
            &[
                "▸ fix it",
                "  I will look at it.",
                "◈ Edit(src/a.py)",
                "",
                "⠋ Thinking… (3s · esc to interrupt)",
                "━━━━━━━━━━━━",
                "❯ a draft",
                "━━━━━━━━━━━━",
                "  ? for help",
            ],
        );
        assert_eq!(shown.as_deref(), Some("Edit(src/a.py)"));
        let nothing = line("rehearsal", &["▸ fix it", "━━━━━━", "❯", "━━━━━━"]);
        assert_eq!(nothing, None);
    }

    #[test]
    fn a_program_without_a_known_prompt_shows_its_last_row() {
        let shown = line("generic", &["│ 漢字 を 書く │", "╰────────────╯"]);
        assert_eq!(shown.as_deref(), Some("漢字 を 書く"));
    }
}
