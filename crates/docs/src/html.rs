//! A page as HTML, to be put into another page: no tag that the Markdown itself did
//! not make, links to other pages as `/docs/…`, an id at each heading.

use pulldown_cmark::{CowStr, Event, Tag, TagEnd, html};

use crate::links::{self, Target};
use crate::markdown;
use crate::pages::Page;

/// The page as HTML. Names of operations and keys in backticks lead to their pages.
#[must_use]
pub fn render_html(page: &Page) -> String {
    let mut ids = page.headings().into_iter().map(|heading| heading.anchor);
    let mut out: Vec<Event<'_>> = Vec::new();
    // Of each open link, whether it leads anywhere.
    let mut open_links: Vec<bool> = Vec::new();
    let (mut in_heading, mut in_picture) = (false, false);
    for event in markdown::events(&page.markdown) {
        match event {
            Event::Html(text) | Event::InlineHtml(text) => out.push(Event::Text(text)),
            Event::Start(Tag::Heading { level, .. }) => {
                in_heading = true;
                out.push(Event::Start(Tag::Heading {
                    level,
                    id: ids.next().map(CowStr::from),
                    classes: Vec::new(),
                    attrs: Vec::new(),
                }));
            }
            Event::End(TagEnd::Heading(level)) => {
                in_heading = false;
                out.push(Event::End(TagEnd::Heading(level)));
            }
            Event::Start(Tag::Link {
                dest_url, title, ..
            }) => {
                let address = address(page, &dest_url);
                open_links.push(address.is_some());
                out.extend(address.map(|address| start_of_link(address, title)));
            }
            Event::End(TagEnd::Link) => {
                if open_links.pop() == Some(true) {
                    out.push(Event::End(TagEnd::Link));
                }
            }
            // Pictures are not in the program: what they show is said instead.
            Event::Start(Tag::Image { .. }) => in_picture = true,
            Event::End(TagEnd::Image) => in_picture = false,
            Event::Code(code) => {
                let named = links::named(&code).filter(|other| other.path != page.path);
                match named {
                    Some(other) if open_links.is_empty() && !in_heading && !in_picture => {
                        out.push(start_of_link(links::address(other, None), "".into()));
                        out.push(Event::Code(code));
                        out.push(Event::End(TagEnd::Link));
                    }
                    _ => out.push(Event::Code(code)),
                }
            }
            other => out.push(other),
        }
    }
    let mut text = String::with_capacity(page.markdown.len() * 2);
    html::push_html(&mut text, out.into_iter());
    text
}

fn start_of_link(address: String, title: CowStr<'_>) -> Event<'_> {
    Event::Start(Tag::Link {
        link_type: pulldown_cmark::LinkType::Inline,
        dest_url: address.into(),
        title,
        id: "".into(),
    })
}

fn address(page: &Page, link: &str) -> Option<String> {
    match links::resolve(&page.file, link) {
        Target::Address(address) => Some(address),
        Target::File { file, anchor } => {
            let other = links::page_of(&file)?;
            Some(links::address(other, anchor.as_deref()))
        }
        Target::Nowhere => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        render_html(&Page::of_guide(markdown))
    }

    #[test]
    fn links_lead_to_pages_and_headings_have_ids() {
        let text = html(
            "# T\n\n## Of it\n\n[a](../how/board.md#x) [b](#of-it) [c](../../LICENSE-MIT) \
             [d](https://a.example) `board_add` `search` ![e](e.png)\n",
        );
        for expected in [
            "<h2 id=\"of-it\">Of it</h2>",
            "<a href=\"/docs/how/board#x\">a</a>",
            "<a href=\"https://a.example\">d</a>",
            "<a href=\"/docs/operation/board_add\"><code>board_add</code></a>",
            "<code>search</code> e",
            " c ",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(
            !text.contains("LICENSE") && !text.contains("<img"),
            "{text}"
        );
    }

    #[test]
    fn html_and_addresses_that_do_something_are_only_shown() {
        let text = html(
            "# T\n\n<script>alert(1)</script>\n\nx <img src=x onerror=y> [z](javascript:alert) \
             [q](https://a.example/\"onclick=\"x)\n",
        );
        for forbidden in ["<script", "<img", "javascript:", "\"onclick"] {
            assert!(!text.contains(forbidden), "{forbidden}: {text}");
        }
        assert!(
            text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
            "{text}"
        );
    }
}
