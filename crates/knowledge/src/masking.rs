//! Secrets out of text, for whoever stores it or tells it to an agent. One pass from
//! left to right over the words of a text: what has the shape of a known token,
//! stands after a name such as `password =`, in the credentials of an address or in a
//! block of a private key, is replaced by what kind of secret it was.
//!
//! What counts as a secret in a text is decided here and nowhere else. Five callers
//! mask:
//! - `memory/knowledge` every text of an entry, a candidate and a link, before it is
//!   stored;
//! - `memory/conversations` what it takes from transcripts, before it is stored (through
//!   `conversation::sanitize` and `conversation::masked_json`);
//! - `briefing` what an agent is told beside its first prompt, which is also what a
//!   snapshot of it keeps;
//! - `attention/permissions` what the timeline is told of a rule, which may name a whole
//!   command;
//! - `autopilot/pull_requests` what a pull request says, and what git and `gh` said of one.
//!
//! Nobody masks journals, other events of the timeline, questions and the dialogs they quote,
//! the evidence of checks, incidents, notes and tasks of the board, recordings of
//! terminals or the log.

/// The text without its secrets, and how many were taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    pub text: String,
    pub secrets: usize,
}

/// Takes the secrets out of a text.
#[must_use]
pub fn mask(text: &str) -> Masked {
    let mut out = String::with_capacity(text.len());
    let mut secrets = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if let Some(length) = private_key(rest) {
            out.push_str("[masked private key]");
            secrets += 1;
            at += length;
            continue;
        }
        let word = word_length(rest);
        if word == 0 {
            let c = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..c]);
            at += c;
            continue;
        }
        let (name, after) = rest.split_at(word);
        if let Some(kind) = token_kind(name) {
            out.push_str(kind);
            secrets += 1;
            at += word;
            continue;
        }
        out.push_str(name);
        at += word;
        if let Some((kept, value)) = secret_after(name, after) {
            out.push_str(&after[..kept]);
            out.push_str("[masked]");
            secrets += 1;
            at += kept + value;
        }
    }
    Masked { text: out, secrets }
}

/// Prefixes of tokens, how long such a token is at least, and what it is.
const TOKENS: &[(&str, usize, &str)] = &[
    ("sk-", 20, "[masked API key]"),
    ("ghp_", 20, "[masked GitHub token]"),
    ("gho_", 20, "[masked GitHub token]"),
    ("ghs_", 20, "[masked GitHub token]"),
    ("ghu_", 20, "[masked GitHub token]"),
    ("github_pat_", 24, "[masked GitHub token]"),
    ("glpat-", 20, "[masked GitLab token]"),
    ("xoxb-", 20, "[masked Slack token]"),
    ("xoxp-", 20, "[masked Slack token]"),
    ("AKIA", 20, "[masked AWS key]"),
    ("ASIA", 20, "[masked AWS key]"),
    ("AIza", 30, "[masked Google key]"),
    ("npm_", 30, "[masked npm token]"),
    ("hf_", 20, "[masked Hugging Face token]"),
    ("eyJ", 40, "[masked JWT]"),
    ("AGE-SECRET-KEY-", 30, "[masked age key]"),
];

fn token_kind(word: &str) -> Option<&'static str> {
    let fits = |&&(prefix, least, _): &&(&str, usize, &str)| {
        word.len() >= least
            && word.starts_with(prefix)
            && word.contains(|c: char| c.is_ascii_digit())
    };
    TOKENS.iter().find(fits).map(|token| token.2)
}

fn word_length(text: &str) -> usize {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let length = text.find(|c| !inside(c)).unwrap_or(text.len());
    text[..length]
        .trim_end_matches('.')
        .len()
        .max(usize::from(length > 0))
}

/// What of `after` is kept, and how long the secret behind it is, when the
/// word before it announces one.
fn secret_after(name: &str, after: &str) -> Option<(usize, usize)> {
    if name.ends_with("http") || name.ends_with("https") || after.starts_with("://") {
        return credentials(after);
    }
    let lower = name.to_ascii_lowercase();
    if lower == "bearer" || lower == "basic" {
        let value = after.strip_prefix(' ')?;
        let length = word_length(value);
        let meant = length >= 16 && value[..length].contains(|c: char| c.is_ascii_digit());
        return meant.then_some((1, length));
    }
    const NAMES: &[&str] = &[
        "password",
        "passwd",
        "secret",
        "token",
        "api_key",
        "api-key",
        "apikey",
        "access_key",
        "private_key",
        "pwd",
    ];
    if !NAMES.iter().any(|secret| lower.ends_with(secret)) {
        return None;
    }
    let mut kept = 0;
    let mut assigned = false;
    let mut quoted = None;
    for c in after.chars().take(8) {
        match c {
            '=' | ':' if !assigned => assigned = true,
            '"' | '\'' | '`' if assigned => {
                quoted = Some(c);
                kept += 1;
                break;
            }
            // The closing quote of a name, as in JSON.
            '"' | '\'' if !assigned => {}
            ' ' => {}
            _ => break,
        }
        kept += 1;
    }
    if !assigned {
        return None;
    }
    let value = &after[kept..];
    let ends = |c: char| match quoted {
        Some(quote) => c == quote || c == '\n',
        None => c.is_whitespace() || matches!(c, ',' | ';' | ')' | '}' | ']' | '"' | '\''),
    };
    let length = value.find(ends).unwrap_or(value.len());
    let value = &value[..length];
    let placeholder = value.starts_with(['$', '<', '*', '{', '[']) || value.starts_with("env.");
    let telling =
        quoted.is_some() || value.contains(|c: char| c.is_ascii_digit() || "!@#%^&+".contains(c));
    (length >= 6 && telling && !placeholder).then_some((kept, length))
}

/// `://user:password@host`: the password.
fn credentials(after: &str) -> Option<(usize, usize)> {
    let rest = after.strip_prefix("://")?;
    let end = rest
        .find(|c: char| c.is_whitespace() || c == '/')
        .unwrap_or(rest.len());
    let authority = &rest[..end];
    let at = authority.rfind('@')?;
    let colon = authority[..at].find(':')?;
    let length = at - colon - 1;
    (length > 0).then_some((3 + colon + 1, length))
}

/// The length of a private key in PEM that begins here.
fn private_key(text: &str) -> Option<usize> {
    const BEGIN: &str = "-----BEGIN ";
    if !text.starts_with(BEGIN) {
        return None;
    }
    let title = text[BEGIN.len()..].find("-----")? + BEGIN.len();
    if !text[..title].ends_with("PRIVATE KEY") {
        return None;
    }
    let body = title + 5;
    let end = text[body..].find("-----END ").map_or(text.len(), |end| {
        let end = body + end + 9;
        text[end..]
            .find("-----")
            .map_or(text.len(), |close| end + close + 5)
    });
    Some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_is_kept() {
        let cases = [
            (
                "use ghp_0123456789abcdefghij now",
                "use [masked GitHub token] now",
            ),
            (
                "key sk-ant-api03-abcdefghijk1234567",
                "key [masked API key]",
            ),
            ("password = hunter2!", "password = [masked]"),
            ("{\"api_key\": \"abcdefgh\"}", "{\"api_key\": \"[masked]\"}"),
            ("DB_PASSWORD=s3cr3tvalue;", "DB_PASSWORD=[masked];"),
            ("postgres://app:pa55@db/x", "postgres://app:[masked]@db/x"),
            (
                "Authorization: Bearer abcdef0123456789abcd",
                "Authorization: Bearer [masked]",
            ),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after",
                "[masked private key] after",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(mask(text).text, expected);
            assert_eq!(mask(text).secrets, 1, "{text}");
        }
    }

    #[test]
    fn what_only_speaks_of_secrets_is_kept() {
        let cases = [
            "the token: it is read from a file",
            "password=${DB_PASSWORD}",
            "sk-learn is a library",
            "https://example.com/path@1.0",
            "secret santa",
            "the access token expires after 3600 s",
        ];
        for text in cases {
            assert_eq!(
                mask(text),
                Masked {
                    text: text.into(),
                    secrets: 0
                }
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_masked_once_and_stays_so(text in any::<String>()) {
            let once = mask(&text);
            prop_assert_eq!(mask(&once.text).secrets, 0);
        }
    }
}
