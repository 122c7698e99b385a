//! What a text holds in another form: base64, hexadecimal, percent signs, character
//! references, escapes, tag characters. Each piece is decoded once, and is of interest only
//! if what comes out reads as words.

/// A piece that was decoded, and where it stood.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// Shorter ones cannot say enough.
const SHORTEST_BASE64: usize = 24;
const SHORTEST_HEX: usize = 32;
const FEWEST_ESCAPES: usize = 8;
/// So much of one piece is decoded.
const LONGEST: usize = 16 * 1024;

pub(super) fn decode(text: &str) -> Vec<Decoded> {
    let mut found = Vec::new();
    runs(text, &mut found);
    escapes(text, &mut found);
    tags(text, &mut found);
    found
}

/// Rows of characters of base64, which are those of hexadecimal too.
fn runs(text: &str, found: &mut Vec<Decoded>) {
    let bytes = text.as_bytes();
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let (mut line, mut letters) = (0, 0);
        while at < bytes.len() {
            if is_part(bytes[at]) {
                line += 1;
                letters += 1;
            } else if bytes[at] == b'\n'
                && line >= 40
                && bytes.get(at + 1).copied().is_some_and(is_part)
            {
                line = 0;
            } else {
                break;
            }
            at += 1;
        }
        if letters < SHORTEST_BASE64 {
            continue;
        }
        let run = &bytes[start..at.min(start + LONGEST)];
        let is_hex =
            letters >= SHORTEST_HEX && run.iter().all(|b| b.is_ascii_hexdigit() || *b == b'\n');
        let decoded = if is_hex {
            from_hex(run)
        } else {
            from_base64(run)
        };
        if let Some(text) = readable(&decoded) {
            found.push(Decoded {
                start,
                end: at,
                text,
            });
        }
    }
}

fn from_hex(run: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = run
        .iter()
        .filter_map(|b| char::from(*b).to_digit(16))
        .map(|d| d as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Of either alphabet of base64; what is left over at the end is left out.
fn from_base64(run: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(run.len() * 3 / 4);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in run {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xff) as u8);
        }
    }
    out
}

/// The text, if nearly all of it are letters and blanks.
fn readable(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let is_plain = |c: &char| c.is_alphanumeric() || c.is_ascii_punctuation() || c.is_whitespace();
    let all = text.chars().count();
    let plain = text.chars().filter(is_plain).count();
    let blanks = text.chars().filter(|c| *c == ' ').count();
    (all >= 12 && plain * 20 >= all * 19 && blanks >= 2).then(|| text.into_owned())
}

/// `%69`, `&#105;`, `&#x69;`, `\u0069`, `\x69`: many in one place.
fn escapes(text: &str, found: &mut Vec<Decoded>) {
    let mut at = 0;
    let (mut run, mut count) = (String::new(), 0);
    let mut begin = 0;
    // Plain letters between two escapes belong to the run, as long as there are few.
    let mut plain = 0;
    let bytes = text.as_bytes();
    while at <= bytes.len() {
        let escape = escape(&bytes[at..]);
        if let Some((c, length)) = escape {
            if count == 0 {
                begin = at;
                run.clear();
            }
            run.push(c);
            (count, plain) = (count + 1, 0);
            at += length;
            continue;
        }
        let next = bytes.get(at).copied();
        let goes_on = next.is_some_and(|b| b.is_ascii_graphic() || b == b' ') && plain < 12;
        if count > 0 && goes_on && run.len() < LONGEST {
            run.extend(next.map(char::from));
            plain += 1;
        } else {
            if count >= FEWEST_ESCAPES {
                found.push(Decoded {
                    start: begin,
                    end: at.min(text.len()),
                    text: run.clone(),
                });
            }
            (count, plain) = (0, 0);
        }
        at += 1;
    }
}

fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let digits = |from: usize, most: usize, radix: u32| {
        let mut value = 0_u32;
        let mut length = 0;
        for byte in bytes.get(from..)?.iter().take(most) {
            let Some(digit) = char::from(*byte).to_digit(radix) else {
                break;
            };
            value = value * radix + digit;
            length += 1;
        }
        (length > 0).then_some((value, from + length))
    };
    let whole =
        |length: usize, found: Option<(u32, usize)>| found.filter(|(_, end)| *end == length);
    let (value, end) = match bytes {
        [b'%', ..] => whole(3, digits(1, 2, 16))?,
        [b'\\', b'u', ..] => whole(6, digits(2, 4, 16))?,
        [b'\\', b'x', ..] => whole(4, digits(2, 2, 16))?,
        [b'&', b'#', b'x' | b'X', ..] => reference(bytes, digits(3, 6, 16))?,
        [b'&', b'#', ..] => reference(bytes, digits(2, 7, 10))?,
        _ => return None,
    };
    Some((char::from_u32(value)?, end))
}

fn reference(bytes: &[u8], found: Option<(u32, usize)>) -> Option<(u32, usize)> {
    let (value, end) = found?;
    Some((value, end + usize::from(bytes.get(end) == Some(&b';'))))
}

/// Tag characters say the letters of ASCII; behind a black flag they are a flag.
fn tags(text: &str, found: &mut Vec<Decoded>) {
    let mut run = String::new();
    let (mut begin, mut end, mut flag) = (0, 0, false);
    let mut finish = |run: &mut String, begin, end| {
        if run.len() >= 4 {
            found.push(Decoded {
                start: begin,
                end,
                text: std::mem::take(run),
            });
        }
        run.clear();
    };
    for (at, c) in text.char_indices() {
        match u32::from(c) {
            code @ 0xe_0020..=0xe_007e => {
                if run.is_empty() {
                    begin = at;
                }
                if !flag && run.len() < LONGEST {
                    run.extend(char::from_u32(code - 0xe_0000));
                }
                end = at + c.len_utf8();
            }
            _ => {
                finish(&mut run, begin, end);
                flag = c == '\u{1f3f4}';
            }
        }
    }
    finish(&mut run, begin, end);
}
