//! Values that are secret whatever they look like: the keys and tokens of the daemon itself
//! and what a person names. Each is looked for as it is and in the forms it takes on its
//! way: base64 in each of its alignments, hexadecimal, encoded for an address, escaped as JSON.

/// The shortest value that is looked for: shorter ones stand in any text.
pub const SHORTEST_KNOWN: usize = 6;
const LONGEST: usize = 512;

/// How many values are looked for: each makes the automaton larger, in every process that
/// masks.
pub const MOST_KNOWN: usize = 256;

/// A set of values with their forms.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Known {
    values: Vec<Vec<u8>>,
    forms: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known")
            .field("values", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl Known {
    /// Adds a value; one that is shorter than [`SHORTEST_KNOWN`], or of one character, is
    /// left out. Of a very long one its beginning is looked for. False when there is no room.
    pub fn add(&mut self, value: &[u8]) -> bool {
        let value = value.trim_ascii();
        let value = &value[..value.len().min(LONGEST)];
        let uniform = value.iter().all(|byte| Some(byte) == value.first());
        if value.len() < SHORTEST_KNOWN || uniform || self.values.iter().any(|known| known == value)
        {
            return true;
        }
        if self.values.len() >= MOST_KNOWN {
            return false;
        }
        self.values.push(value.to_vec());
        for form in forms(value) {
            if form.len() >= SHORTEST_KNOWN && !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        true
    }

    pub(crate) fn values(&self) -> &[Vec<u8>] {
        &self.values
    }

    /// How many values are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn forms(&self) -> impl Iterator<Item = &[u8]> {
        self.forms.iter().map(Vec::as_slice)
    }

    pub(crate) fn form(&self, number: usize) -> &[u8] {
        &self.forms[number]
    }

    /// How many of the last bytes of a text begin one of the values, which may go on.
    pub(crate) fn begins_at_end(&self, text: &[u8]) -> usize {
        let begins = |form: &[u8]| {
            let most = text.len().min(form.len() - 1);
            (1..=most).rev().find(|&length| {
                text[text.len() - length] == form[0]
                    && form.starts_with(&text[text.len() - length..])
            })
        };
        self.forms().filter_map(begins).max().unwrap_or(0)
    }
}

fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        value.to_vec(),
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
    ];
    for table in [STANDARD, URL] {
        for before in 0..3 {
            forms.push(base64_inside(value, before, table));
        }
    }
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    for digits in ["0123456789ABCDEF", "0123456789abcdef"] {
        let digits = digits.as_bytes();
        let mut encoded = Vec::new();
        for &byte in value {
            if plain(byte) {
                encoded.push(byte);
            } else {
                encoded.extend([
                    b'%',
                    digits[usize::from(byte >> 4)],
                    digits[usize::from(byte & 15)],
                ]);
            }
        }
        forms.push(encoded);
    }
    let mut escaped = Vec::new();
    for &byte in value {
        match byte {
            b'"' | b'\\' => escaped.extend([b'\\', byte]),
            b'\n' => escaped.extend(*b"\\n"),
            byte => escaped.push(byte),
        }
    }
    forms.push(escaped);
    forms
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters of base64 that depend on the value alone when `before` bytes stand before it
/// in its group of three.
fn base64_inside(value: &[u8], before: usize, table: &[u8; 64]) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::with_capacity(value.len() * 8);
    for byte in value {
        bits.extend((0..8).rev().map(|bit| byte >> bit & 1 == 1));
    }
    let skip = (6 - before * 8 % 6) % 6;
    bits.get(skip..)
        .unwrap_or_default()
        .chunks_exact(6)
        .map(|six| {
            let letter = six
                .iter()
                .fold(0, |letter, &bit| letter << 1 | usize::from(bit));
            table[letter]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_in_every_form() {
        let mut known = Known::default();
        known.add(b"corr\"ect horse/9");
        let forms: Vec<String> = known
            .forms()
            .map(|form| String::from_utf8_lossy(form).into_owned())
            .collect();
        for expected in [
            "corr\"ect horse/9",
            "636f7272226563742068 6f7273652f39"
                .replace(' ', "")
                .as_str(),
            "Y29yciJlY3QgaG9yc2UvO",
            "corr%22ect%20horse%2F9",
            "corr\\\"ect horse/9",
        ] {
            assert!(
                forms.iter().any(|form| form == expected),
                "{expected}: {forms:#?}"
            );
        }
    }

    #[test]
    fn what_stands_in_any_text_is_not_looked_for() {
        let mut known = Known::default();
        known.add(b"short");
        known.add(b"aaaaaaaaaaa");
        assert!(known.is_empty());
    }
}
