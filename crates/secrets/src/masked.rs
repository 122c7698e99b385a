//! Text that may be stored.

use std::borrow::Cow;
use std::fmt;

use crate::detector::{Detector, Finding};

/// A text without its secrets. There is no way to one but through [`mask`], so what takes
/// a `Masked` can neither store nor tell a secret that is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Masked {
    text: String,
    secrets: usize,
}

impl Masked {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }

    /// How many secrets were taken out.
    #[must_use]
    pub fn secrets(&self) -> usize {
        self.secrets
    }
}

impl fmt::Display for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for Masked {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl From<Masked> for String {
    fn from(masked: Masked) -> Self {
        masked.text
    }
}

/// Takes the secrets out of a text; in the place of each stands what kind it was.
#[must_use]
pub fn mask<'a>(text: impl Into<Cow<'a, str>>) -> Masked {
    let text = text.into();
    // What is masked can bring two pieces together that say more than each: a second
    // pass finds nothing nearly always.
    let mut masked = Masked::default();
    let detector = Detector::current();
    let mut current = text;
    for _ in 0..4 {
        let findings = detector.scan(current.as_bytes());
        if findings.is_empty() {
            break;
        }
        masked.secrets += findings.len();
        current = Cow::Owned(replace(&current, &findings));
    }
    masked.text = current.into_owned();
    masked
}

/// Takes the secrets out of a text that has to fit where the text did: it never becomes
/// longer. Where a mark has no room, a secret becomes as many `*`.
#[must_use]
pub fn mask_within(text: &str) -> Masked {
    let findings = Detector::current().scan(text.as_bytes());
    Masked {
        secrets: findings.len(),
        text: if findings.is_empty() {
            text.to_owned()
        } else {
            replace_within(text, &findings)
        },
    }
}

pub(crate) fn replace_within(text: &str, findings: &[Finding]) -> String {
    let masked = replace(text, findings);
    if masked.len() <= text.len() {
        return masked;
    }
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for found in findings {
        let start = text.floor_char_boundary(found.start).max(at);
        let end = text.ceil_char_boundary(found.end).max(start);
        masked.push_str(&text[at..start]);
        masked.extend(std::iter::repeat_n('*', end - start));
        at = end;
    }
    masked.push_str(&text[at..]);
    masked
}

/// Takes the secrets out of bytes that are text for the most part.
#[must_use]
pub fn mask_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let findings = Detector::current().scan(bytes);
    if findings.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for finding in findings {
        out.extend_from_slice(&bytes[at..finding.start.max(at)]);
        out.extend_from_slice(finding.mark().as_bytes());
        at = finding.end;
    }
    out.extend_from_slice(&bytes[at..]);
    Cow::Owned(out)
}

pub(crate) fn replace(text: &str, findings: &[Finding]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for finding in findings {
        let start = text.floor_char_boundary(finding.start).max(at);
        let end = text.ceil_char_boundary(finding.end).max(start);
        out.push_str(&text[at..start]);
        out.push_str(&finding.mark());
        at = end + closing_line(&text[end..]);
    }
    out.push_str(&text[at..]);
    out
}

/// How long the last line of a block is that ended here.
fn closing_line(rest: &str) -> usize {
    let Some(title) = rest.strip_prefix("-----END ") else {
        return 0;
    };
    title
        .find("-----")
        .filter(|&length| length < 48)
        .map_or(0, |length| 9 + length + 5)
}
