//! What a value says about itself: whether it is random enough for a token, made of words,
//! an expression of a program, or a placeholder that stands for a secret.

/// What of a long value is looked at: it tells enough, and bounds the time.
fn beginning(value: &[u8]) -> &[u8] {
    &value[..value.len().min(128)]
}

/// Whether these bytes could be random: they are not one or two repeated, not the word
/// of an example, and have a digit or change between small and large letters as words
/// do not.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let value = beginning(value);
    let mut seen = [false; 256];
    let mut distinct = 0;
    let mut digits = 0;
    for &byte in value {
        if !seen[usize::from(byte)] {
            seen[usize::from(byte)] = true;
            distinct += 1;
        }
        digits += usize::from(byte.is_ascii_digit());
    }
    let least = if value.len() >= 12 { 6 } else { 4 };
    distinct >= least && (digits > 0 || rises(value) * 6 > value.len()) && !is_example(value)
}

/// How often a large letter follows a small one, as it does at most once in a word.
fn rises(value: &[u8]) -> usize {
    value
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count()
}

fn is_example(value: &[u8]) -> bool {
    contains(value, b"example") || contains(value, b"xxxxx") || contains(value, b"placeholder")
}

/// Whether the value holds this word, in letters of any size.
pub(crate) fn contains(value: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else {
        return true;
    };
    let (small, large) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    memchr::memchr2_iter(small, large, value).any(|at| {
        value
            .get(at..at + word.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}

/// Whether the value reads as words or a name of a program: each part between `-`, `_`, `.`
/// and the like is a word, a word with a short number, or a short number.
pub(crate) fn is_words(value: &[u8]) -> bool {
    let value = beginning(value);
    let separator = |byte: &u8| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b' ' | b'=');
    value.split(separator).all(is_word)
}

/// Whether letters of both sizes are words that were put together.
pub(crate) fn is_camel(value: &[u8]) -> bool {
    let mut humps = value.chunk_by(|_, next| !next.is_ascii_uppercase());
    humps.all(|hump| hump.len() >= 3)
}

fn is_word(part: &[u8]) -> bool {
    let digits = part
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let letters = &part[..part.len() - digits];
    if letters.is_empty() {
        return digits <= 4;
    }
    digits <= 3
        && letters.len() <= 24
        && letters.iter().all(u8::is_ascii_alphabetic)
        && (rises(letters) * 6 <= letters.len() || digits == 0 && is_camel(letters))
}

/// Bits that each byte of the value tells, after Shannon.
pub(crate) fn entropy(value: &[u8]) -> f64 {
    let value = beginning(value);
    let mut counts = [0_u16; 256];
    for &byte in value {
        counts[usize::from(byte)] = counts[usize::from(byte)].saturating_add(1);
    }
    let all = value.len().max(1) as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / all;
            -share * share.log2()
        })
        .sum()
}

/// Whether the value only stands for one: `${NAME}`, `<token>`, `***`, `changeme`, or the
/// mark of what was masked before.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let value = &value[..value.len().min(64)];
    const WORDS: [&[u8]; 14] = [
        b"example",
        b"placeholder",
        b"changeme",
        b"change-me",
        b"change_me",
        b"redacted",
        b"your-",
        b"your_",
        b"xxxx",
        b"dummy",
        b"insert",
        b"process.env",
        b"os.environ",
        b"getenv",
    ];
    const EXACT: [&[u8]; 12] = [
        b"null",
        b"none",
        b"nil",
        b"true",
        b"false",
        b"undefined",
        b"string",
        b"required",
        b"optional",
        b"default",
        b"hidden",
        b"unknown",
    ];
    let starts = |prefix: &[u8]| value.starts_with(prefix);
    starts(b"${")
        || starts(b"$(")
        || starts(b"{{")
        || starts(b"<")
        || starts(b"%(")
        || starts(b"%s")
        || starts(b"[masked")
        || starts(b"{")
        || starts(b"env.")
        || starts(b"secrets.")
        || starts(b"vault:")
        || starts(b"@")
        || starts(b"...")
        || is_variable(value)
        || value.iter().all(|byte| {
            matches!(
                byte,
                b'*' | b'.' | b'x' | b'X' | b'-' | b'_' | b'#' | b'?' | b'0'
            )
        })
        || WORDS.iter().any(|word| contains(value, word))
        || EXACT.iter().any(|word| value.eq_ignore_ascii_case(word))
        || starts("•".as_bytes())
        || starts("…".as_bytes())
}

/// `$NAME` of a shell, `%NAME%` of another: all of the value is a name.
fn is_variable(value: &[u8]) -> bool {
    let name = match value {
        [b'$', name @ ..] | [b'%', name @ .., b'%'] => name,
        _ => return false,
    };
    let capitals = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_' || byte.is_ascii_digit();
    let small = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'.' | b':');
    name.is_empty()
        || name.iter().all(capitals) && name[0].is_ascii_uppercase()
        || name.iter().all(small)
}

/// Whether the value, without quotes, is an expression of a program and not the secret
/// itself: a path of names, a call, an index.
pub(crate) fn is_expression(value: &[u8], next: Option<u8>) -> bool {
    let value = beginning(value);
    if next == Some(b'(') || value.iter().any(|byte| matches!(byte, b'(' | b'{' | b'[')) {
        return true;
    }
    if contains(value, b"::") || contains(value, b"->") {
        return true;
    }
    // `*const u8`, `&str`
    if matches!(value.first(), Some(b'*' | b'&')) && value[1..].iter().all(u8::is_ascii_alphabetic)
    {
        return true;
    }
    let name = |part: &[u8]| {
        !part.is_empty()
            && !part[0].is_ascii_digit()
            && part.iter().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'?' | b'!' | b'&' | b'*')
            })
    };
    let parts = value.split(|&byte| byte == b'.').count();
    parts > 1 && value.split(|&byte| byte == b'.').all(name) && is_words(value)
}

/// Whether the text of letters only is a word that describes a field and no password.
pub(crate) fn describes(value: &[u8]) -> bool {
    let value = &value[..value.len().min(64)];
    const WORDS: [&[u8]; 22] = [
        b"pass",
        b"secret",
        b"token",
        b"credential",
        b"field",
        b"string",
        b"input",
        b"text",
        b"invalid",
        b"missing",
        b"require",
        b"encrypt",
        b"confirm",
        b"forgot",
        b"login",
        b"value",
        b"error",
        b"admin_",
        b"button",
        b"label",
        b"number",
        b"object",
    ];
    WORDS.iter().any(|word| contains(value, word))
}
