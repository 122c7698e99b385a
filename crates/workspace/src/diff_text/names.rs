//! The names of files in a patch.

/// The name behind `---` or `+++`; none where the file is not.
pub(super) fn side_name(name: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    // Git puts a tab behind a name with spaces in it.
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    if name == b"/dev/null" {
        return None;
    }
    let name = unquoted(name);
    Some(name.strip_prefix(prefix).unwrap_or(&name).to_vec())
}

/// Both names of `a/old b/new`. Unquoted ones are told apart only where they are
/// the same, which they are wherever no later line names them.
pub(super) fn both_names(names: &[u8]) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let name = |name: &[u8], prefix: &[u8]| {
        let name = unquoted(name);
        Some(name.strip_prefix(prefix).unwrap_or(&name).to_vec())
    };
    if let Some(length) = quoted_length(names) {
        let new = names.get(length + 1..).unwrap_or_default();
        return (name(&names[..length], b"a/"), name(new, b"b/"));
    }
    let middle = names.len() / 2;
    let (old, new) = names.split_at(middle);
    let new = new.strip_prefix(b" ").unwrap_or(new);
    if old.get(2..).is_some() && old.get(2..) == new.get(2..) {
        return (name(old, b"a/"), name(new, b"b/"));
    }
    (None, None)
}

/// How long the quoted name is that a text begins with.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let inside = text.strip_prefix(b"\"")?;
    for (place, byte) in inside.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(place + 2),
            _ => {}
        }
    }
    None
}

/// A name as it is: git writes one with quotes, backslashes or control characters
/// as C would.
pub(super) fn unquoted(name: &[u8]) -> Vec<u8> {
    let inside = name
        .strip_prefix(b"\"")
        .and_then(|name| name.strip_suffix(b"\""));
    let Some(inside) = inside else {
        return name.to_vec();
    };
    let mut plain = Vec::with_capacity(inside.len());
    let mut rest = inside.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'a') => plain.push(7),
            Some(b'b') => plain.push(8),
            Some(b't') => plain.push(b'\t'),
            Some(b'n') => plain.push(b'\n'),
            Some(b'v') => plain.push(11),
            Some(b'f') => plain.push(12),
            Some(b'r') => plain.push(b'\r'),
            Some(first @ b'0'..=b'7') => {
                let mut digits = std::iter::once(first).chain(rest.by_ref().take(2));
                let value = digits.try_fold(0_u32, |value, digit| {
                    let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
                    Some(value * 8 + u32::from(digit))
                });
                plain.push(
                    value
                        .and_then(|value| u8::try_from(value).ok())
                        .unwrap_or(b'?'),
                );
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}
