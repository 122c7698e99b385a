//! Reading Markdown: events, headings with their anchors, sections, plain words.

use std::collections::HashMap;

use missiond_core::DocHeading;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What stands under one heading, without markup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// Of level 1 for what stands before the first other heading.
    pub(crate) heading: DocHeading,
    pub(crate) text: String,
}

pub(crate) fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The headings in order.
pub(crate) fn headings(text: &str) -> Vec<DocHeading> {
    sections(text)
        .into_iter()
        .map(|section| section.heading)
        .collect()
}

/// The text of the first heading.
pub(crate) fn title(text: &str) -> String {
    let first = sections(text).into_iter().next();
    first
        .map(|section| section.heading.text)
        .unwrap_or_default()
}

/// The first sentence of the first paragraph.
pub(crate) fn first_sentence(text: &str) -> String {
    let mut words = String::new();
    let mut in_paragraph = false;
    for event in events(text) {
        match event {
            Event::Start(Tag::Paragraph) => in_paragraph = true,
            Event::End(TagEnd::Paragraph) => break,
            Event::Text(text) | Event::Code(text) if in_paragraph => words.push_str(&text),
            Event::SoftBreak | Event::HardBreak if in_paragraph => words.push(' '),
            _ => {}
        }
    }
    match words.find(". ") {
        Some(end) => words[..=end].to_owned(),
        None => words,
    }
}

/// The page cut at its headings. What stands before the first heading is left out.
pub(crate) fn sections(text: &str) -> Vec<Section> {
    let mut anchors = Anchors::default();
    let mut sections: Vec<Section> = Vec::new();
    let mut heading: Option<DocHeading> = None;
    for event in events(text) {
        let (words, space) = match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some(DocHeading {
                    level: level as u8,
                    text: String::new(),
                    anchor: String::new(),
                });
                continue;
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(mut heading) = heading.take() {
                    heading.anchor = anchors.of(&heading.text);
                    let text = String::new();
                    sections.push(Section { heading, text });
                }
                continue;
            }
            Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                (Some(text), false)
            }
            Event::SoftBreak | Event::HardBreak | Event::Rule => (None, true),
            // Words of two cells or two paragraphs are not one word.
            Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::CodeBlock,
            ) => (None, true),
            _ => (None, false),
        };
        let into = match (&mut heading, sections.last_mut()) {
            (Some(heading), _) => &mut heading.text,
            (None, Some(section)) => &mut section.text,
            (None, None) => continue,
        };
        if let Some(words) = words {
            into.push_str(&words);
        }
        if space && !into.ends_with(char::is_whitespace) {
            into.push(' ');
        }
    }
    sections
}

/// Anchors as GitHub makes them: small letters, hyphens for spaces, no punctuation, and
/// a number behind what there was before.
#[derive(Debug, Default)]
pub(crate) struct Anchors(HashMap<String, usize>);

impl Anchors {
    pub(crate) fn of(&mut self, heading: &str) -> String {
        let kept = heading.trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter => letter.is_alphanumeric().then_some(letter),
        });
        let anchor: String = kept.flat_map(char::to_lowercase).collect();
        let times = self.0.entry(anchor.clone()).or_default();
        *times += 1;
        match *times {
            1 => anchor,
            more => format!("{anchor}-{}", more - 1),
        }
    }
}

/// A text within a cell of a table: on one line, with nothing that would end the cell.
pub(crate) fn in_cell(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_get_the_anchors_of_github() {
        let text = "# The `mission` page: A & B\n\n## Again\n\nx\n\n## Again\n\n## snake_case, é\n";
        let anchors: Vec<_> = headings(text)
            .into_iter()
            .map(|heading| (heading.level, heading.anchor))
            .collect();
        let expected = [
            (1, "the-mission-page-a--b"),
            (2, "again"),
            (2, "again-1"),
            (2, "snake_case-é"),
        ];
        assert_eq!(
            anchors,
            expected.map(|(level, anchor)| (level, anchor.to_owned()))
        );
    }

    #[test]
    fn a_section_has_the_words_below_its_heading_without_markup() {
        let text =
            "# Top\n\nOne *two*\n`three`.\n\n## Table\n\n| a | b |\n|---|---|\n| c | [d](x.md) |\n";
        let sections = sections(text);
        let words: Vec<_> = sections
            .iter()
            .map(|section| section.text.as_str())
            .collect();
        assert_eq!(words, ["One two three. ", "a b c d "]);
        assert_eq!(first_sentence("# T\n\nOne. Two."), "One.");
    }
}
