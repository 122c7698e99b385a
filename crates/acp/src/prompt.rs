//! What an editor sends as a prompt, as the text that an agent is given.
//!
//! Files are named by their path, relative to the session's folder where they lie in
//! it, because the agent reads them itself. What the editor quotes stands behind the
//! words of the prompt, each with where it is from.

use std::path::Path;

use crate::message::Refusal;
use crate::protocol::ContentBlock;

/// The text of these blocks, or why they cannot be passed on.
pub(crate) fn text_of(blocks: &[ContentBlock], cwd: &Path) -> Result<String, Refusal> {
    let mut words = String::new();
    let mut quoted = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text { text } => words.push_str(text),
            ContentBlock::ResourceLink { uri } => words.push_str(&place(uri, cwd)),
            ContentBlock::Resource { resource } => {
                let Some(text) = &resource.text else {
                    return Err(unfit("a file that is no text"));
                };
                let place = place(&resource.uri, cwd);
                words.push_str(&place);
                let fence = fence_around(text);
                quoted.push_str(&format!(
                    "\n\n{place}:\n{fence}\n{}\n{fence}",
                    text.trim_end()
                ));
            }
            ContentBlock::Image {} => return Err(unfit("an image")),
            ContentBlock::Audio {} => return Err(unfit("a sound")),
            ContentBlock::Unknown => return Err(unfit("content of a kind that is not known here")),
        }
    }
    words.push_str(&quoted);
    if words.trim().is_empty() {
        return Err(Refusal::invalid_params("the prompt is empty"));
    }
    Ok(words)
}

fn unfit(what: &str) -> Refusal {
    Refusal::invalid_params(format!(
        "{what} cannot be passed on to the agent: save it to a file and name the file"
    ))
}

/// A fence that the text itself does not close.
fn fence_around(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}

/// A file by its path, anything else by its address.
fn place(uri: &str, cwd: &Path) -> String {
    let Some(path) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let path = decoded(path);
    let shown = Path::new(&path)
        .strip_prefix(cwd)
        .ok()
        .and_then(Path::to_str)
        .filter(|inside| !inside.is_empty())
        .unwrap_or(&path);
    if fragment.is_empty() {
        shown.to_owned()
    } else {
        format!("{shown}#{fragment}")
    }
}

/// Without the `%20` of an address. What is no text then is left as it is.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let byte = match after {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        if let Some((high, low)) = byte {
            bytes.push(high * 16 + low);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn text(blocks: Value) -> Result<String, Refusal> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        text_of(&blocks, Path::new("/work/app"))
    }

    #[test]
    fn words_and_files_stand_in_their_order() {
        let prompt = text(json!([
            { "type": "text", "text": "Explain " },
            { "type": "resource_link", "name": "a", "uri": "file:///work/app/src/a%20b.rs#L3" },
            { "type": "text", "text": " and " },
            { "type": "resource_link", "name": "x", "uri": "https://example.org/x" },
            { "type": "resource_link", "name": "y", "uri": "file:///etc/hosts" },
        ]));
        assert_eq!(
            prompt.unwrap(),
            "Explain src/a b.rs#L3 and https://example.org/x/etc/hosts"
        );
    }

    #[test]
    fn what_is_quoted_stands_behind_the_words_in_a_fence_it_cannot_close() {
        let prompt = text(json!([
            { "type": "text", "text": "Look at " },
            { "type": "resource", "resource": { "uri": "file:///work/app/a.md", "text": "```\nx\n```\n" } },
            { "type": "text", "text": ", please." },
        ]));
        assert_eq!(
            prompt.unwrap(),
            "Look at a.md, please.\n\na.md:\n````\n```\nx\n```\n````"
        );
    }

    #[test]
    fn what_cannot_be_passed_on_is_refused_with_a_sentence() {
        for (blocks, says) in [
            (json!([]), "the prompt is empty"),
            (
                json!([{ "type": "text", "text": " \n" }]),
                "the prompt is empty",
            ),
            (
                json!([{ "type": "image", "data": "", "mimeType": "image/png" }]),
                "an image cannot be passed on",
            ),
            (
                json!([{ "type": "resource", "resource": { "uri": "file:///x", "blob": "" } }]),
                "a file that is no text",
            ),
            (json!([{ "type": "hologram" }]), "not known here"),
        ] {
            let refusal = text(blocks).unwrap_err().to_string();
            assert!(refusal.contains(says), "{refusal}");
        }
    }

    #[test]
    fn a_percent_sign_that_begins_no_byte_stays() {
        for (written, read) in [
            ("a%2", "a%2"),
            ("%zz", "%zz"),
            ("%41%", "A%"),
            ("%ff", "%ff"),
        ] {
            assert_eq!(decoded(written), read);
        }
    }
}
