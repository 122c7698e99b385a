//! A page for a terminal: paragraphs wrapped to its width, code as it is, tables in
//! columns, and behind a link the path by which `mission docs` shows where it leads.

use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use crate::links::{self, Target};
use crate::markdown;
use crate::pages::Page;
use crate::table;

/// Whether the terminal is asked for colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    On,
    Off,
}

/// Longer lines are hard to read.
const WIDEST: usize = 100;
/// In less there is no room for a word and what it is set in by.
const NARROWEST: usize = 30;
const CODE_INDENT: &str = "    ";

/// The page as lines of at most so many columns, where its words and code allow it.
#[must_use]
pub fn render_terminal(page: &Page, width: usize, colours: Colours) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut writer = Writer::new(page, width, colours);
    for event in markdown::events(&page.markdown) {
        writer.handle(event);
    }
    let mut text = writer.out.trim_end().to_owned();
    text.push('\n');
    text
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Code,
    Link,
    Faint,
}

/// A run of text that looks the same.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) look: Look,
}

#[derive(Debug)]
struct Writer<'p> {
    page: &'p Page,
    width: usize,
    colours: Colours,
    out: String,
    /// What is being read of a paragraph, an item or a cell.
    spans: Vec<Span>,
    /// How what is nested is set in: for the next line, and for those that follow.
    indents: Vec<String>,
    /// The mark of the item that has no line yet, and which of `indents` it stands for.
    bullet: Option<(usize, String)>,
    /// Of each open list the next number, if it has numbers.
    lists: Vec<Option<u64>>,
    looks: Vec<Look>,
    /// What stands behind each open link.
    links: Vec<String>,
    in_code: bool,
    table: Option<Vec<Vec<Vec<Span>>>>,
}

impl<'p> Writer<'p> {
    fn new(page: &'p Page, width: usize, colours: Colours) -> Self {
        Self {
            page,
            width,
            colours,
            out: String::new(),
            spans: Vec::new(),
            indents: Vec::new(),
            bullet: None,
            lists: Vec::new(),
            looks: Vec::new(),
            links: Vec::new(),
            in_code: false,
            table: None,
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code_lines(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.push(&text, None);
            }
            Event::Code(text) => self.push(&text, Some(Look::Code)),
            Event::SoftBreak | Event::HardBreak => self.push(" ", None),
            Event::Rule => {
                self.gap();
                let line = "─".repeat(self.width / 2);
                self.line(&paint(self.colours, Look::Faint, &line));
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph if self.bullet.is_none() => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.looks.push(Look::Strong);
            }
            Tag::CodeBlock(_) => {
                self.gap();
                self.in_code = true;
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.indents.push("│ ".to_owned());
            }
            Tag::List(first) => {
                // The text of the item that holds this list comes first.
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let bullet = format!("{number}. ");
                        *number += 1;
                        bullet
                    }
                    _ => "- ".to_owned(),
                };
                self.bullet = Some((self.indents.len(), bullet.clone()));
                self.indents.push(" ".repeat(bullet.len()));
            }
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(rows) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Emphasis | Tag::Strong => self.looks.push(Look::Strong),
            Tag::Link { dest_url, .. } => {
                self.looks.push(Look::Link);
                let behind = self.behind(&dest_url);
                self.links.push(behind);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(level) => {
                self.looks.pop();
                let width = spans_width(&self.spans);
                self.flush();
                if level == HeadingLevel::H1 {
                    let line = "═".repeat(width.min(self.width));
                    self.line(&paint(self.colours, Look::Faint, &line));
                }
            }
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::BlockQuote(_) => {
                self.indents.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.flush();
                self.indents.pop();
                self.bullet = None;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(rows) = self.table.take() {
                    let room = self.width.saturating_sub(self.indent().width());
                    for line in table::lines(&rows, room, self.colours) {
                        self.line(&line);
                    }
                }
            }
            TagEnd::Emphasis | TagEnd::Strong => {
                self.looks.pop();
            }
            TagEnd::Link => {
                self.looks.pop();
                if let Some(behind) = self.links.pop().filter(|behind| !behind.is_empty()) {
                    self.push(&format!(" ({behind})"), Some(Look::Faint));
                }
            }
            _ => {}
        }
    }

    /// What a reader on a terminal is told of a link: the page, or the address.
    fn behind(&self, link: &str) -> String {
        match links::resolve(&self.page.file, link) {
            Target::Address(address) => address,
            Target::File { file, .. } => {
                let other = links::page_of(&file).filter(|page| page.path != self.page.path);
                other.map(|page| page.path.clone()).unwrap_or_default()
            }
            Target::Nowhere => String::new(),
        }
    }

    fn push(&mut self, text: &str, look: Option<Look>) {
        let look = look.or(self.looks.last().copied()).unwrap_or(Look::Plain);
        let text = text.to_owned();
        self.spans.push(Span { text, look });
    }

    fn indent(&self) -> String {
        self.indents.concat()
    }

    /// Writes what was read as a paragraph.
    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.is_empty() {
            return;
        }
        let indent = self.indent();
        let room = self.width.saturating_sub(indent.width());
        for line in wrap(&spans, room, self.colours) {
            self.line(&line);
        }
    }

    fn code_lines(&mut self, text: &str) {
        for line in text.lines() {
            let line = paint(self.colours, Look::Code, line);
            self.line(&format!("{CODE_INDENT}{line}"));
        }
    }

    fn line(&mut self, text: &str) {
        let mut indents = self.indents.clone();
        // The first line of an item begins with its mark.
        if let Some((place, mark)) = self.bullet.take()
            && let Some(indent) = indents.get_mut(place)
        {
            *indent = mark;
        }
        let line = format!("{}{text}", indents.concat());
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// An empty line between what stands apart.
    fn gap(&mut self) {
        // What stands before this comes first.
        self.flush();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

pub(crate) fn paint(colours: Colours, look: Look, text: &str) -> String {
    let code = match look {
        _ if colours == Colours::Off || text.is_empty() => return text.to_owned(),
        Look::Plain => return text.to_owned(),
        Look::Strong => "1",
        Look::Code => "36",
        Look::Link => "4",
        Look::Faint => "2",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

pub(crate) fn spans_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| span.text.width()).sum()
}

/// Lines of at most so many columns, broken between words; a word that is longer has a
/// line of its own.
pub(crate) fn wrap(spans: &[Span], room: usize, colours: Colours) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for word in words(spans) {
        let width = spans_width(&word);
        if used > 0 && used + 1 + width > room {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        for span in &word {
            line.push_str(&paint(colours, span.look, &span.text));
        }
        used += width;
    }
    if used > 0 {
        lines.push(line);
    }
    lines
}

/// Text cut at white space; a word may have several looks.
pub(crate) fn words(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut words: Vec<Vec<Span>> = Vec::new();
    let mut open = false;
    for span in spans {
        for (number, piece) in span.text.split(char::is_whitespace).enumerate() {
            open &= number == 0;
            if piece.is_empty() {
                continue;
            }
            let part = Span {
                text: piece.to_owned(),
                look: span.look,
            };
            match words.last_mut() {
                Some(word) if open => word.push(part),
                _ => words.push(vec![part]),
            }
            open = true;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str, colours: Colours) -> String {
        render_terminal(&Page::of_guide(markdown), 40, colours)
    }

    #[test]
    fn what_stands_in_an_item_comes_after_its_words() {
        let text = shown("- a\n  ```\n  b\n  ```\n- > quoted\n", Colours::Off);
        assert_eq!(text, "- a\n\n      b\n\n- │ quoted\n");
        let text = shown("<i>x</i>\n\n## Next\n", Colours::Off);
        assert!(text.contains("\n\nNext\n"), "{text}");
    }

    #[test]
    fn a_page_is_readable_without_colours() {
        let text = shown(
            "# The title\n\nSome words of a paragraph, with `code` in it\nand [a link](board.md#x).\n\n\
             - one\n- two goes on and on until it is longer\n  than a line\n  1. inner\n\n```sh\nmission up   # as it is, however long the line of code may be\n```\n\n> quoted\n",
            Colours::Off,
        );
        assert_eq!(
            text,
            "The title\n═════════\n\nSome words of a paragraph, with code in\nit and a link (guides/board).\n\n\
             - one\n- two goes on and on until it is longer\n  than a line\n  1. inner\n\n    mission up   # as it is, however long the line of code may be\n\n│ quoted\n"
        );
    }

    #[test]
    fn colours_are_there_only_when_they_are_asked_for() {
        assert!(!shown("# T\n\n`x` **y**\n", Colours::Off).contains('\x1b'));
        let text = shown("# T\n\n`x` **y**\n", Colours::On);
        assert!(
            text.contains("\x1b[36mx\x1b[0m \x1b[1my\x1b[0m"),
            "{text:?}"
        );
    }

    #[test]
    fn a_table_keeps_its_columns_and_breaks_its_cells() {
        let text = shown(
            "| key | meaning |\n|---|---|\n| `a` | short |\n| `longer` | so many words that they need lines |\n",
            Colours::Off,
        );
        assert_eq!(
            text,
            "key     meaning\n──────  ────────────────────────────────\na       short\nlonger  so many words that they need\n        lines\n"
        );
    }
}
