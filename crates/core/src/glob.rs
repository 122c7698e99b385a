//! Names and texts matched with wildcards.

/// `*` for any characters, `?` for one. In time proportional to the product of
/// both lengths at worst: a text of an agent must not cost more.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Where the last star stands, and up to where it has consumed the text.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&c) if c == '?' || c == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star_at, consumed)) = star else {
                    return false;
                };
                star = Some((star_at, consumed + 1));
                at = star_at + 1;
                read = consumed + 1;
            }
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}
